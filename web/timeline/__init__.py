"""The timeline: one list of what happened and what did not, and one happening whole.

Not here: what a row and its details are made of (`hub/timeline`), and who may see them.
"""
