"""Forgetting: what is meant by it in files and in conversations, and how it is taken out of both for good.

What the index and its cache hold of it is dropped by the worker, which is told by `notes/memory.py`.
"""
