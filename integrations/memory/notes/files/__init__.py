"""The files of a memory: read, changed together, kept in a history, and undone.

What lies beside the workspace is read here too, and never written. Nothing here asks an index.
"""
