"""Devices of the home: bridges to what measures and switches there.

What an entity is and which services it has is decided in hub/entities.
"""
