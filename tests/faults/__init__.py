"""Faults: real processes that are killed in the middle of what they do, and what the next start makes of it."""
