"""Changing automations and scripts in their files, for the editor, the scheduler and agents.

Not here: the comment-preserving YAML edits themselves (`hub/config`).
"""
