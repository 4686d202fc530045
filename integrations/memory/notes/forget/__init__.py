"""Forgetting: plans deletions from files and conversations, and carries them out.

Not here: the content of the index and its cache; the worker drops that when `notes/memory.py` asks.
"""
