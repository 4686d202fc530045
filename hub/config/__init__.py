"""Configuration: YAML files read with marks, checked against schemas, edited in place, kept with their history.

What the sections mean lives with the parts that own them; which integrations exist is told by `hub.integration`.
"""
