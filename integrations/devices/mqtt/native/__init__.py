"""Families that announce themselves in a way of their own, translated into what discovery understands.

Not here: the entities (`discovery/`).
"""
