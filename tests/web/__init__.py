"""Tests of the dashboard: its pure parts, and the whole of it in a real headless Chromium against a real hub.

Tests of what the dashboard shows (runs, configuration, integrations) are with the parts that know it.
"""
