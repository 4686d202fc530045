"""Calls: routes and methods, their contract and schemas, dispatch and idempotency.

Not here: the methods themselves (`methods/`, `http_api/`).
"""
