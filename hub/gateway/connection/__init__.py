"""WebSocket connections: the server, the handshake, frames in and out, presence.

Not here: who may connect (`access/`), nor what a call does (`calls/`, `methods/`).
"""
