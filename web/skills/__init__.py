"""The page of skills: what agents know how to do, what the scan finds in it, and what is enabled.

Not here: the skills themselves (`hub/skills`).
"""
