"""The gateway: one port with a route table, ingress rules, the WebSocket protocol and the HTTP API.

It decides who may call what; the work is done by the parts below.
"""
