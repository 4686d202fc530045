"""How accepted messages wait, and which of them a turn answers.

Not here: the lanes in which turns run (`hub.core.lanes`).
"""
