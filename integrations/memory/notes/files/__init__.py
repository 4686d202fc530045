"""The files of a memory: read, changed together, kept in a history, and undone.

Files beside the workspace are read here too, and never written. Nothing here queries an index.
"""
