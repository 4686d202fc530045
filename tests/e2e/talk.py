"""Ways to reach a hub that runs: a WebSocket as clients speak it, and waiting until something holds."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import aiohttp

from tests.gateway.rig import Client
from tests.servers.hub_process import HubProcess

LIMIT_S = 60.0

Found = TypeVar("Found")


@asynccontextmanager
async def connected(hub: HubProcess, **changes: Any) -> AsyncIterator[Client]:
    """Connect as the owner over a WebSocket."""
    async with aiohttp.ClientSession() as session, session.ws_connect(f"{hub.url}/", max_msg_size=0) as ws:
        client = Client(ws)
        client.nonce = (await client.frame())["payload"]["nonce"]
        answer = await client.connect(**({"token": hub.token} | changes))
        assert answer["ok"], answer
        yield client


async def say(client: Client, text: str, run_id: str, session_key: str = "main") -> str:
    """Send a message with `chat.send` and return the final text as the `chat` event tells it."""
    sent = await client.call("chat.send", {"sessionKey": session_key, "message": text, "idempotencyKey": run_id})
    assert sent["ok"], sent
    final = await client.event("chat", lambda told: told.get("runId") == run_id and told.get("state") == "final")
    return shown(final["payload"]["message"])


def shown(message: Mapping[str, Any]) -> str:
    """The text of a message as events and histories carry it."""
    content = message["content"]
    if isinstance(content, str):
        return content
    return "".join(block.get("text", "") for block in content if block.get("type") == "text")


def chat(hub: HubProcess, *arguments: str, code: int = 0) -> dict[str, Any]:
    """Run `homarus chat … --json` and return what it printed."""
    ran = hub.cli("chat", *arguments, "--json")
    assert ran.returncode == code, (ran.returncode, ran.stdout, ran.stderr)
    answer: dict[str, Any] = json.loads(ran.stdout)
    return answer


def ask(hub: HubProcess, text: str, *, session: str = "main", run_id: str | None = None, **params: Any) -> Any:
    """Send a message over `/api/rpc` and wait for the end of its run."""
    key = run_id or f"{session}-{time.monotonic_ns()}"
    hub.rpc("chat.send", {"sessionKey": session, "message": text, "idempotencyKey": key, **params})
    return hub.rpc("agent.wait", {"runId": key, "timeoutMs": int(LIMIT_S * 1000)})


def messages_of(hub: HubProcess, key: str = "main") -> list[dict[str, Any]]:
    """The messages of a session's transcript, as stored."""
    entries = hub.rpc("sessions.transcript", {"key": key})["entries"]
    return [entry["message"] for entry in entries if entry["type"] == "message"]


def results_of(hub: HubProcess, key: str) -> list[dict[str, Any]]:
    """The tool results of a session's transcript."""
    return [message for message in messages_of(hub, key) if message["role"] == "toolResult"]


def query(hub: HubProcess, sql: str, *values: Any) -> list[Any]:
    """Read the hub's database beside it."""
    with sqlite3.connect(f"file:{hub.home / '.storage' / 'hub.db'}?mode=ro", uri=True, timeout=60) as connection:
        return connection.execute(sql, values).fetchall()


def integration(hub: HubProcess, domain: str) -> dict[str, Any]:
    """What `status` says of one integration."""
    found = [each for each in hub.rpc("status")["integrations"] if each["domain"] == domain]
    return found[0] if found else {"domain": domain, "state": "absent", "reason": ""}


def until(find: Callable[[], Found], limit_s: float = LIMIT_S) -> Found:
    """Wait until something is found that is true, and return it."""
    deadline, pause_s = time.monotonic() + limit_s, 0.01
    while not (found := find()):
        assert time.monotonic() < deadline, "it did not come to hold in time"
        time.sleep(pause_s)
        pause_s = min(pause_s * 1.5, 0.1)  # whoever looks all the time takes the processor from who is waited for
    return found
