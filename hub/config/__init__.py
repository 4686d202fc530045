"""Configuration: YAML files read with marks, checked against schemas, edited in place, kept with their history.

The sections are defined by the parts that own them; `hub.integration` lists the integrations.
"""
