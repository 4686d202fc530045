"""Families with an announcement format of their own, translated into discovery.

Not here: the entities (`discovery/`).
"""
