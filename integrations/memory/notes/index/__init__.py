"""The index over memory files: what is found where, by word and by meaning. It runs in a process of its own.

Nothing here is a truth: all of it can be rebuilt from the files. The hub's side of the pipe is `notes/worker`.
"""
