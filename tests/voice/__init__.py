"""Tests of `hub/voice`.

Nothing here is imported by the program.
"""
