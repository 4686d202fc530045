"""Skills: folders with a SKILL.md that agents read when a task needs it; which there are, who may use them, their scan.

Not here: the commands that run them in chat (`hub/messaging`), and how they reach a prompt (`hub/agent`).
"""
