"""Ways in for programs: an HTTP API and a Model Context Protocol server, with the answers of the command line."""
