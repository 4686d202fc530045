"""Reads the configuration folder of a Home Assistant, and judges by our own schema what of it runs here.

It runs in the process of `hub.migrate.cli.worker`, never in the hub's own.
"""
