"""The dashboard: pages, live updates, templates, static files and its translations.

It adds its routes to the gateway's table; it stands on the hub's parts, and nothing in hub/ but the roof knows it.
"""
