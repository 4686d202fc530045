"""The dashboard: pages, live updates, templates, static files and its translations.

It adds its routes to the gateway's table. It builds on the hub; in `hub/`, only the composition root knows it.
"""
