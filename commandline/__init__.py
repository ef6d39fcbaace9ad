"""What every command line of the product has in common: exit codes, problems, output, files, arguments."""
