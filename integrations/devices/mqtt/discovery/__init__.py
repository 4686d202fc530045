"""Devices that announce themselves: what their messages mean, and the entities that are made of them."""
