"""Automations: triggers, conditions, actions, run modes, scripts, blueprints and traces.

Not here: what a trigger or an action reaches (sessions, channels, tools), nor the files automations are written in.
"""
