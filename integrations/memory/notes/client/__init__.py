"""The hub's side of the index: its process, its answers, and the schedule of updates.

Not here: the process itself (`notes/worker`); the two share `notes/job.py` and the frames of the pipe.
"""
