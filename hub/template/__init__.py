"""Home Assistant's template language, in a sandbox over plain data: for automations, webhooks and integrations.

It knows states, the clock and its arguments; nothing here knows of triggers, actions, agents or chat.
"""
