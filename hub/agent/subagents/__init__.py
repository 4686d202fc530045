"""Subagents: tasks that an agent gives to background conversations, and how their results come back.

The tools are in `integrations/tools/sessions`; the keys of their sessions in `hub/sessions/keys.py`.
"""
