"""What OpenClaw's clients have the hub send, and whom they have it wake."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.gateway.rig import client_of, connect_params
from tests.security_review.besieged import Besieged, Platform, besieged
from tests.servers.openai_server import OpenAIServer


@pytest.fixture
async def house(tmp_path: Path, openai_server: OpenAIServer) -> AsyncIterator[Besieged]:
    async with besieged(tmp_path / "home", openai_server) as standing:
        yield standing


async def test_a_message_and_a_file_go_to_the_only_platform_there_is(house: Besieged) -> None:
    token = house.owner["Authorization"].split()[1]
    file = {"buffer": b64encode(b"of paper").decode(), "filename": "list.txt", "contentType": "text/plain"}
    requests: list[dict[str, Any]] = [
        {"to": "1", "message": "Dinner", "sessionKey": "agent:main:main", "idempotencyKey": "a"},
        {"to": "1", "message": "The list", **file, "idempotencyKey": "b"},
        {"to": "1", "message": "Look", "mediaUrl": "https://example.org/a.png", "idempotencyKey": "c"},
        {"to": "1", "message": "Look", "channel": "nowhere", "idempotencyKey": "d"},
    ]
    async with client_of(house) as client:  # type: ignore[arg-type]
        await client.call("connect", connect_params(token=token))
        said, sent, refused, nowhere = [await client.call("send", each) for each in requests]
        await house.hub.channels.add(Platform("other"), house.hub.channels.get("platform").access)  # type: ignore[union-attr]
        unclear = await client.call("send", {"to": "1", "message": "Dinner", "idempotencyKey": "e"})

    assert (said["payload"]["channel"], said["payload"]["state"]) == ("platform", "sent")
    names = [name for each in sent["payload"]["messages"] for name in each["media"]]
    assert names == ["list.txt"], sent
    assert refused["error"]["code"] == "INVALID_REQUEST"
    assert "mediaUrl" in refused["error"]["message"]
    assert nowhere["error"]["code"] == "NOT_FOUND"
    assert "there is no channel nowhere" in nowhere["error"]["message"]
    assert unclear["error"]["message"] == "send: channel: say on which platform: other, platform"
    assert [each.text for each in house.platform.sent[:2]] == ["Dinner", "The list"]
    assert "list.txt" in house.platform.sent[2].text


async def test_only_an_agent_s_main_conversation_is_woken(house: Besieged) -> None:
    asked: list[tuple[dict[str, Any], str | None]] = [
        ({}, None),
        ({"sessionKey": "agent:main:main", "agentId": "main"}, None),
        ({"sessionKey": "agent:main:platform:direct:2"}, "INVALID_REQUEST"),
        ({"agentId": "nobody"}, "NOT_FOUND"),
    ]
    for params, code in asked:
        answer = await house.rpc("wake", {"text": "Look", "mode": "next-heartbeat", **params})

        assert answer.get("error", {}).get("code") == code, params
