"""The integrations that come with Homarus, one folder each, grouped by what they bring (channels, models, tools, …).

The hub finds them through their manifests and never imports this package by name.
"""
