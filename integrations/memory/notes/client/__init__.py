"""The hub's side of the index: the process it starts, what that answers, and when the files are looked at again.

Not here: the process itself (`notes/worker`); the two share `notes/job.py` and the frames of the pipe.
"""
