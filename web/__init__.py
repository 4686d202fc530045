"""The dashboard: pages, live updates, templates, static files and its translations.

It adds its routes to the gateway's table; what it shows comes from the hub's parts, and nothing in hub/ imports it but the roof.
"""
