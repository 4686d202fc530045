"""The queue of accepted messages, and the choice of those that a turn answers.

Not here: the lanes in which turns run (`hub.core.lanes`).
"""
