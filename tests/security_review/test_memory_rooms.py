"""What is set off in a room for later, and is answered there, sees no more of anybody's memory than the room does."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from hub.models.contract import Message
from tests.security_review.automating import ended
from tests.security_review.besieged import WAIT_LIMIT_S, Besieged
from tests.security_review.test_laundering import last_result, tool_call
from tests.servers.openai_server import OpenAIServer

CODE = "7731"
ROOM = "-100"
OWNER = "platform:user:1"
LOOKS = (
    tool_call("memory_search", query="alarm code"),
    tool_call("memory_get", path="MEMORY.md"),
    tool_call("read", path="MEMORY.md"),
    tool_call("grep", pattern="alarm"),
)


@pytest.fixture
def remembering(house: Besieged) -> Besieged:
    """The house, whose owner's memory is in the prompts of their private conversations."""
    today = house.hub.clock.now().date().isoformat()
    for path in ("MEMORY.md", f"memory/{today}.md"):
        (house.workspace / path).parent.mkdir(parents=True, exist_ok=True)
        (house.workspace / path).write_text(f"# Memory\n\n- the alarm code is {CODE}\n")
    return house


async def scheduled(house: Besieged, server: OpenAIServer, group: str | None, **arguments: Any) -> Message:
    """Have the owner's agent use `schedule`, in a room or in private; return the results."""
    server.queue(tool_call("schedule", **arguments), "done")
    entries = await house.heard(await house.platform.say(OWNER, "please", group=group))
    result = last_result(entries, "schedule").message
    assert result is not None
    return result


def only_id(house: Besieged) -> str:
    [id] = [status.id for status in house.hub.automation.automations.all() if status.made_by]
    return id


@pytest.mark.parametrize("session", ["isolated", "current"])
async def test_work_for_later_in_a_room_sees_nobodys_memory(
    remembering: Besieged, openai_server: OpenAIServer, session: str
) -> None:
    work = {"action": "add", "text": "tell us", "every": "2h", "do": "run", "session": session}
    assert not (await scheduled(remembering, openai_server, ROOM, **work)).is_error
    openai_server.reset()
    openai_server.queue(*LOOKS, "that is all")

    await remembering.rpc("automation.trigger", {"id": only_id(remembering)})
    await ended(remembering, only_id(remembering))

    async with asyncio.timeout(WAIT_LIMIT_S):
        while True:
            if remembering.platform.sent[-1].text == "that is all":
                break
            await asyncio.sleep(0.02)
    assert remembering.platform.sent[-1].address.peer == ROOM
    assert len(openai_server.requests()) == len(LOOKS) + 1
    assert CODE not in str([each["body"] for each in openai_server.requests()])


async def test_the_owners_own_conversation_is_told_in_no_room(
    remembering: Besieged, openai_server: OpenAIServer
) -> None:
    work = {"action": "add", "text": "tell us", "every": "2h", "do": "run", "session": "main"}

    in_a_room = await scheduled(remembering, openai_server, ROOM, **work)
    await scheduled(remembering, openai_server, ROOM, **work | {"session": "isolated"})
    moved = {"action": "update", "id": only_id(remembering), "session": "main"}
    from_the_owners = await scheduled(remembering, openai_server, None, **moved)

    assert in_a_room.is_error
    assert from_the_owners.is_error


@pytest.mark.parametrize("action", ["list", "update", "remove", "run"])
async def test_what_was_scheduled_in_private_is_neither_shown_nor_touched_in_a_room(
    remembering: Besieged, openai_server: OpenAIServer, action: str
) -> None:
    present = {
        "text": f"tell me how long it is until the party of {CODE}",
        "every": "2h",
        "do": "run",
        "announce": False,
    }
    assert not (await scheduled(remembering, openai_server, None, action="add", **present)).is_error
    id = only_id(remembering)
    before = (remembering.hub.home.path / "automations.yaml").read_text()

    arguments = {"list": {}, "update": {"id": id, "announce": True}}.get(action, {"id": id})
    result = await scheduled(remembering, openai_server, ROOM, action=action, **arguments)

    assert CODE not in result.text
    assert result.is_error is (action != "list")
    assert (remembering.hub.home.path / "automations.yaml").read_text() == before
