"""Traces of runs, and what runs spend: stored, listed, bounded.

Not here: the run itself (`running/`).
"""
