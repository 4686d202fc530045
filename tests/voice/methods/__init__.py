"""Tests of `hub/voice/methods`.

Nothing here is imported by the program.
"""
