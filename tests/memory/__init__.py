"""Tests of `hub/memory`.

Nothing here is imported by the program.
"""
