"""Devices that announce themselves as Home Assistant expects: their messages, and the entities made of them.

Not here: families with their own format (`native/`), which are translated into the same.
"""
