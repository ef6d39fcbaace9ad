"""What all command lines have in common: exit codes, problems, output, arguments, files and what others wrote there."""
