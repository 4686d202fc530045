"""A lamp connects and is switched."""

from __future__ import annotations

import json
import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from hub.testing import free_port, running_hub, until

INTEGRATION = Path(__file__).parents[1]
ALLOWED = {"commands": {"allow": ["switch"]}}


def test_a_lamp_is_switched_once_it_is_approved() -> None:
    port = free_port()
    with (
        running_hub(INTEGRATION, {"kiosk": {"node_port": port}, "nodes": ALLOWED}) as hub,
        ThreadPoolExecutor() as pool,
    ):
        lamp = socket.create_connection(("127.0.0.1", port), timeout=20)
        lamp.sendall(b"lamp-1 Reading lamp\n")
        (asking,) = until(lambda: hub.call("node.pair.list")["pending"])
        hub.call("node.pair.approve", {"requestId": asking["requestId"]})

        answer = pool.submit(hub.service, "kiosk.switch", {"lamp": "lamp-1", "on": True})
        asked = json.loads(lamp.makefile().readline())
        lamp.sendall(json.dumps({"key": asked["key"], "switched": asked["on"]}).encode() + b"\n")
        switched = answer.result(20)
        lamp.close()

    assert switched["switched"] is True
