"""Slash commands: the registry, the commands, and directives inside messages.

Not here: the commands of the terminal (`hub.cli`).
"""
