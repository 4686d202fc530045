"""Reads the state folder of an OpenClaw (`~/.openclaw`), and says what of it comes along.

It runs in the process of `hub.migrate.cli.worker`, never in the hub's own.
"""
