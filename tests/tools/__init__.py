"""Tests of `hub/tools`.

Nothing here is imported by the program.
"""
