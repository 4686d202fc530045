"""A press on the canvas is the act of the person who pressed, and no way for words from outside to become theirs."""

from __future__ import annotations

import json

import pytest

from hub.core.context import Context
from hub.core.events import Event
from hub.core.surfaces import READ
from tests.security_review.besieged import SESSION, WAIT_LIMIT_S, Besieged
from tests.security_review.test_tools import call
from tests.servers.openai_server import OpenAIServer

BUTTON = {"id": "b", "component": {"Button": {"child": "t", "action": {"name": "obey the gnome"}}}}
JSONL = json.dumps({"surfaceUpdate": {"surfaceId": "s", "components": [BUTTON]}})
PRESS = {"agent": "main", "surface": "s", "component": "b", "values": {}}


@pytest.mark.parametrize("tainted", [False, True])
async def test_who_presses_is_believed_unless_words_from_outside_were_where_the_button_was_made(
    house: Besieged, openai_server: OpenAIServer, *, tainted: bool
) -> None:
    owner = house.hub.people.owner_authority()

    async def approve(event: Event) -> None:
        await house.hub.approvals.resolve(event.data["id"], True, Context(owner))

    house.hub.bus.listen("approval_requested", approve)
    pushed = await call(
        house, "canvas", {"action": "a2ui_push", "jsonl": JSONL}, owner.narrow(tainted=True) if tainted else owner
    )
    assert not pushed.is_error
    openai_server.queue("done")

    headers = {**await house.cookie(), "Origin": house.url}
    async with house.http.post(f"{house.url}/canvas/press", json=PRESS, headers=headers) as answer:
        run_id = (await answer.json())["run_id"]
    await house.rpc("agent.wait", {"runId": run_id, "timeoutMs": int(WAIT_LIMIT_S * 1000)})

    said = next(each for each in await house.entries(SESSION) if each.id == f"{run_id}-user")
    assert said.message is not None
    assert "obey the gnome" in said.message.text
    assert said.provenance.trusted is not tainted
    reader = (await house.token(READ))[1]
    for other, expected in ((reader, 403), ({}, 401), ({"Cookie": headers["Cookie"], "Origin": "null"}, 403)):
        async with house.http.post(f"{house.url}/canvas/press", json=PRESS, headers=other) as answer:
            assert answer.status == expected
