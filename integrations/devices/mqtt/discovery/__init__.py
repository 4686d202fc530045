"""Devices that announce themselves as Home Assistant expects: what their messages mean, and the entities made of them.

Not here: families with a way of their own (`native/`), which are translated into the same.
"""
