"""The developer tools: states, events, services, templates.

Not here: anything a household needs every day.
"""
