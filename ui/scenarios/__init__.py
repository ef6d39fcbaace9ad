"""The Scenarios page: what the library keeps."""
