"""The channel answers the owner, and gives a stranger a code."""

from __future__ import annotations

import socket
from pathlib import Path

from hub.testing import free_port, running_hub

INTEGRATION = Path(__file__).parents[1]
PEOPLE = [{"id": "me", "name": "Me", "owner": True, "identities": ["kiosk:user:ada"]}]


def say(port: int, line: str) -> str:
    """Say something, and return the first line that comes back."""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        connection.sendall(line.encode() + b"\n")
        return connection.makefile().readline()


def test_the_owner_is_answered_and_a_stranger_gets_a_code() -> None:
    port = free_port()
    with running_hub(INTEGRATION, {"people": PEOPLE, "kiosk": {"port": port}}) as hub:
        answered = say(port, "1 ada what is 6 times 7?")
        offered = say(port, "1 eve hello")
        asking = hub.call("channels.status")

    assert "42" in answered
    assert "Give this code to the owner" in offered
    assert "kiosk" in str(asking)
