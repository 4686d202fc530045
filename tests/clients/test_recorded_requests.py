"""What OpenClaw's terminal client and command line send, as recorded from them before a hub, sent to a hub again.

The frames are those of the programs, without their identities; `$job`, `$key`, `$model` and `$session` are filled in.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from tests.clients.test_protocol_schema import content
from tests.gateway.rig import Client, client_of
from tests.security_review.besieged import Besieged, besieged
from tests.servers.openai_server import OpenAIServer

RECORDED: list[dict[str, Any]] = json.loads((Path(__file__).parent / "requests.json").read_text())
READ_BY_THEM = {
    "agent": {"runId", "status", "sessionKey"},
    "agents.list": {"defaultId", "mainKey", "scope", "agents"},
    "channels.status": {"channelOrder", "channelLabels", "channels", "channelAccounts"},
    "chat.abort": {"ok", "aborted", "runIds"},
    "chat.history": {"sessionKey", "sessionId", "messages", "thinkingLevel"},
    "chat.send": {"runId", "status"},
    "commands.list": {"commands"},
    "config.get": {"path", "exists", "raw", "parsed", "hash", "valid", "issues"},
    "cron.add": {"id", "name", "schedule", "payload", "state", "enabled"},
    "cron.list": {"jobs", "snapshotRevision", "total", "offset", "limit", "hasMore", "nextOffset"},
    "cron.runs": {"entries", "total", "offset", "limit", "hasMore", "nextOffset"},
    "cron.status": {"enabled", "jobs", "nextWakeAtMs"},
    "device.pair.list": {"pending", "paired"},
    "exec.approvals.get": {"path", "exists", "hash", "file"},
    "health": {"ok", "ts", "durationMs", "channels", "channelOrder", "defaultAgentId", "sessions"},
    "logs.tail": {"file", "cursor", "size", "lines"},
    "models.list": {"models"},
    "node.list": {"nodes"},
    "question.list": {"questions"},
    "sessions.create": {"ok", "key", "sessionId", "entry"},
    "sessions.describe": {"session"},
    "sessions.list": {"ts", "count", "totalCount", "hasMore", "nextOffset", "defaults", "sessions"},
    "sessions.patch": {"ok", "key", "entry", "resolved"},
    "sessions.subscribe": {"subscribed"},
    "skills.status": {"skills", "workspaceDir"},
}
"""Keys of answers that the programs use."""


@pytest.fixture
async def house(tmp_path: Path, openai_server: OpenAIServer) -> AsyncIterator[Besieged]:
    async with besieged(tmp_path / "home", openai_server, remembers=True) as standing:
        yield standing


def filled(params: Any, values: dict[str, Any]) -> Any:
    """Return parameters with what differs in each run."""
    if isinstance(params, dict):
        return {name: filled(value, values) for name, value in params.items()}
    return values.get(params, params) if isinstance(params, str) else params


async def test_each_recorded_request_is_answered_with_what_its_client_reads(house: Besieged) -> None:
    token = house.owner["Authorization"].split()[1]
    job = (await content(house))["job"]
    for recorded in RECORDED:
        async with client_of(house) as client:  # type: ignore[arg-type]
            hello = await client.call("connect", recorded["connect"] | {"auth": {"token": token}})
            assert hello["ok"], hello
            assert set(recorded["connect"]["scopes"]) <= set(hello["payload"]["auth"]["scopes"])
            assert "published-model-catalog" in hello["payload"]["features"]["capabilities"]
            await replay(client, recorded["requests"], {"$job": job, "$model": "test/scripted"})


async def replay(client: Client, requests: list[dict[str, Any]], values: dict[str, Any]) -> None:
    """Send the requests of one connection in their order, and look at each answer and the events of each run."""
    for number, request in enumerate(requests):
        method = request["method"]
        params = filled(request.get("params"), values | {"$key": f"k{number}", "$session": "s"})
        answer = await client.call(method, params)
        assert answer["ok"], (method, params, answer)
        payload = answer["payload"]
        missing = READ_BY_THEM[method] - payload.keys() if method in READ_BY_THEM else None
        assert not missing, (method, missing, payload)
        if method == "chat.send":
            final = await client.event("chat", _final_of(params["idempotencyKey"]))
            assert final["payload"]["sessionKey"] == params["sessionKey"]
        if method == "sessions.create":
            assert payload["key"] == f"agent:main:{params['key']}"
        if method == "sessions.patch":
            assert payload["key"] == params["key"]


def _final_of(run_id: str) -> Callable[[dict[str, Any]], bool]:
    return lambda event: event["runId"] == run_id and event["state"] == "final"
