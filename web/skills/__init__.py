"""The page of skills: their descriptions, the findings of the scan, and their state.

Not here: the skills themselves (`hub/skills`).
"""
