"""What is written with a slash: the registry, the commands, and directives inside messages.

Not here: the commands of the terminal (`hub.cli`).
"""
