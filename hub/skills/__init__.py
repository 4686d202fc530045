"""Skills: folders with a SKILL.md that agents read when a task needs it; their registry, access rules and scan.

Not here: the commands that run them in chat (`hub/messaging`), and their way into a prompt (`hub/agent`).
"""
