"""Checks that a person can run on a home, whether or not its hub runs; they change nothing.

What is wrong inside a running hub is a repair (`hub.core.repairs`); the doctor only reads those.
"""
