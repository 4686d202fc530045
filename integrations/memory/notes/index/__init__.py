"""The index of memory files, by word and by meaning. It runs in a separate process.

Nothing here is a truth: all of it can be rebuilt from the files. The hub's side of the pipe is `notes/worker`.
"""
