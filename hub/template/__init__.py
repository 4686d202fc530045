"""Home Assistant's template language, in a sandbox over plain data: for automations, webhooks and integrations.

It knows states, the clock and what it is handed; nothing here knows of triggers, actions, agents or chat.
"""
