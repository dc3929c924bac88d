"""One family a file. Every module here is imported and registers what it has: a new file is enough."""
