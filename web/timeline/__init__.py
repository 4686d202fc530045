"""The timeline: one list of what happened and what did not, and one happening whole.

Not here: the making of rows and details (`hub/timeline`), and who may see them.
"""
