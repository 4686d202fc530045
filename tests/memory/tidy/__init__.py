"""Tests of `hub/memory/tidy`.

Nothing here is imported by the program.
"""
