"""The timeline: one list of what happened and what did not, and why, read from what the other parts keep.

It keeps nothing itself: each source's own retention says how far back it goes.
"""
