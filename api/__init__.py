"""Ways in for programs: an HTTP API and a server of the Model Context Protocol, with the answers of the command line."""
