"""Tests of `hub/skills`.

Nothing here is imported by the program.
"""
