"""The command line: as a person types it, in this process or as one of its own."""
