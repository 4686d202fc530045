"""Updates of Homarus itself: found, prepared beside the running version, tried, and taken back when they are worse.

Not here: updates of blueprints, skills and devices, which belong to their parts.
"""
