"""The hub's side of the index: the worker process, what it answers, and when it is asked to look at the files again.

What goes on in that process is `notes/index`; the two share `notes/worker_job.py` and the frames of the pipe.
"""
