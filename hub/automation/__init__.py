"""Automations: triggers, conditions, actions, run modes, scripts, blueprints, traces; all that happens by itself.

Not here: what a trigger or an action reaches (sessions, channels, tools), nor the files automations are written in.
"""
