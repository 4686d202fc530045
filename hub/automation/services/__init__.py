"""Services that automations call: agents, messages, memory, the web, and automations themselves.

Not here: the steps that call them, nor what they reach.
"""
