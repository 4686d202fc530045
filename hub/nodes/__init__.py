"""Nodes: phones, computers and other devices that are the hub's eyes and hands, and the transports they connect by.

Not here: a transport's protocol, which is its integration's.
"""
