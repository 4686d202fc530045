"""Conditions: one module for each kind, with its schema, its check and its description.

Not here: what happens when one does not hold; that is up to the caller.
"""
