"""Engines that make sandboxes for the programs of agents.

Who must be in a sandbox, and what is visible inside, is decided in hub/sandbox.
"""
