"""Tests of the connection to a Home Assistant, with a double that speaks its WebSocket API."""
