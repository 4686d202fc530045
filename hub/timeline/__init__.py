"""The timeline: one list of what happened and what did not, and why, read from the records of the other parts.

It stores nothing itself: each source's own retention limits how far back it reaches.
"""
