"""Engines that make sandboxes for the programs of agents."""
