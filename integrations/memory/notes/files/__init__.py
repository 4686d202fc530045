"""The texts of a memory: how the files of a workspace are read, changed together, kept in a history and taken back.

What lies beside the workspace is read here too, and never written. Nothing here asks an index.
"""
