"""The integrations that come with Homarus, one folder each, grouped by what they bring: channels, models, tools, memory, nodes.

The hub finds them through their manifests and never imports this package by name.
"""
