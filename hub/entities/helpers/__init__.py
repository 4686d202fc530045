"""Helpers: entities of the home's own, which the configuration names. Each kind is a row of `table.py`.

What integrations bring is in `hub/entities`; a helper is one of those entities, with what it holds kept over a restart.
"""
