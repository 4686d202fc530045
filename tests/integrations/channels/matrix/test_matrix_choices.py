"""Choices of a Matrix message: numbered lines, and reactions with the numbers to press."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from hub.messaging.contract import Address, Button, ButtonPressed, OutboundMessage, ReactionChanged, Receipt
from integrations.channels.matrix.choices import KEYS, Choices, with_choices
from tests.integrations.channels.matrix.rig import MatrixRig, matrix_rig
from tests.integrations.channels.receiving import Collected
from tests.servers.synapse import MatrixUser, Synapse
from tests.until import LIMIT_S

BUTTONS = ((Button("Berlin", "b"), Button("Paris", "p")), (Button("Rome", "r"),))
REACTION = r"PUT .*/send/m\.reaction/"


@pytest.fixture
async def rig(synapse: Synapse, tmp_path: Path) -> AsyncIterator[MatrixRig]:
    async with matrix_rig(synapse, tmp_path) as rig:
        yield rig


async def keys_on(rig: MatrixRig, room: str, event_id: str) -> list[str]:
    """Return the account's reactions to a message that are there."""
    found = await rig.ada.events(room, "m.reaction", rig.bot.user_id)
    relations = [each["content"].get("m.relates_to", {}) for each in found]
    return [each["key"] for each in relations if each.get("event_id") == event_id]


async def until_there(look: Callable[[], Awaitable[bool]]) -> None:
    """Wait until the homeserver has something."""
    async with asyncio.timeout(LIMIT_S):
        while not await look():  # noqa: ASYNC110  no event tells of it
            await asyncio.sleep(0.02)


async def until_keys(rig: MatrixRig, room: str, event_id: str, keys: tuple[str, ...]) -> None:
    async def shown() -> bool:
        return await keys_on(rig, room, event_id) == [*keys]

    await until_there(shown)


async def press(who: MatrixUser, room: str, event_id: str, key: str) -> str:
    relation = {"rel_type": "m.annotation", "event_id": event_id, "key": key}
    return await who.send(room, "m.reaction", {"m.relates_to": relation})


async def offered(rig: MatrixRig, room: str, **more: Any) -> str:
    """Send a message with choices, once the account hears what is said; return its id."""
    channel = await rig.start()
    sent = await channel.send(rig.message(room, "Which?", buttons=BUTTONS, **more))
    return sent.platform_ids[0]


async def test_choices_are_numbered_lines_and_reactions(rig: MatrixRig) -> None:
    room = await rig.ada.room_with(rig.bot)

    about = await offered(rig, room)
    await until_keys(rig, room, about, KEYS[:3])

    (message,) = await rig.ada.events(room, "m.room.message", rig.bot.user_id)
    assert message["content"]["body"] == f"Which?\n\n{KEYS[0]} Berlin\n{KEYS[1]} Paris\n{KEYS[2]} Rome"


async def test_a_homeserver_that_wants_fewer_requests_gets_the_reactions_later(rig: MatrixRig) -> None:
    room = await rig.ada.room_with(rig.bot)
    limited = '{"errcode": "M_LIMIT_EXCEEDED", "error": "Too many", "retry_after_ms": 1000}'
    rig.proxy.fails(REACTION, times=2, status=429, body=limited)
    rig.proxy.fails(REACTION, passes=True, drops=True)

    about = await offered(rig, room)

    await until_keys(rig, room, about, KEYS[:3])


async def test_a_press_in_a_thread_is_answered_in_the_thread(rig: MatrixRig) -> None:
    room = await rig.ada.room_with(rig.bot)
    root = await rig.ada.say(room, "The root")
    address = replace(rig.message(room, "").address, thread=root)
    about = await offered(rig, room, address=address)

    pressed = await rig.heard(await press(rig.ada, room, about, KEYS[1].replace("\ufe0f", "")))

    assert isinstance(pressed, ButtonPressed)
    assert (pressed.value, pressed.message_id, pressed.address.thread) == ("p", about, root)
    assert pressed.sender == rig.ada.identity


async def test_another_reaction_is_no_press_and_a_press_that_is_taken_back_is_nothing(rig: MatrixRig) -> None:
    room = await rig.ada.room_with(rig.bot)
    about = await offered(rig, room)

    thumb = await rig.heard(await press(rig.ada, room, about, "👍"))
    beyond = await rig.heard(await press(rig.ada, room, about, KEYS[3]))
    pressed = await press(rig.ada, room, about, KEYS[0])
    await rig.heard(pressed)
    await rig.ada.redact(room, pressed)
    await rig.heard(await rig.ada.say(room, "done"))

    assert [type(each) for each in (thumb, beyond)] == [ReactionChanged] * 2
    assert len(rig.hub.inbound) == 4


async def test_a_message_that_is_edited_has_no_choices_any_more(rig: MatrixRig) -> None:
    room = await rig.ada.room_with(rig.bot)
    about = await offered(rig, room)
    await until_keys(rig, room, about, KEYS[:3])
    assert rig.channel is not None

    await rig.channel.edit(rig.message(room, "").address, about, "Berlin it is")
    await until_keys(rig, room, about, ())

    assert isinstance(await rig.heard(await press(rig.ada, room, about, KEYS[0])), ReactionChanged)


async def test_who_goes_on_pressing_what_does_nothing_is_told_once_and_by_name(
    rig: MatrixRig, synapse: Synapse
) -> None:
    class Refusing(Collected):
        async def __call__(self, inbound: Any) -> Receipt:
            return replace(await super().__call__(inbound), notice="Not for you.")

    rig.hub = Refusing()
    bob = await synapse.user()
    room = await rig.ada.room_with(rig.bot, bob, name="Kitchen")
    about = await offered(rig, room)

    for _ in range(3):
        pressed = await press(bob, room, about, KEYS[0])
        await rig.heard(pressed)
        await bob.redact(room, pressed)
    await rig.heard(await press(rig.ada, room, about, KEYS[0]))

    async def told() -> list[dict[str, Any]]:
        found = await rig.ada.events(room, "m.room.message", rig.bot.user_id)
        return [each["content"] for each in found if each["content"]["msgtype"] == "m.notice"]

    async def both() -> bool:
        return len(await told()) == 2

    await until_there(both)
    names = [each["body"].partition(": ") for each in await told()]
    assert {name for name, _, _ in names} == {
        each.user_id.partition(":")[0].removeprefix("@") for each in (bob, rig.ada)
    }
    assert {text for _, _, text in names} == {"Not for you."}
    await bob.close()


async def test_choices_that_were_taken_away_do_not_come_back_when_the_message_is_sent_again() -> None:
    hub, message = Collected(), OutboundMessage("1", Address("matrix", "!r"), "", buttons=BUTTONS)
    choices = Choices(hub)
    await choices.sent("$1", message)
    await choices.forget("$1")

    await choices.sent("$1", message)
    again = Choices(hub)
    await again.load()

    assert again.offered("$1") == ()


def test_a_text_without_choices_stays_as_it_is() -> None:
    assert with_choices("Hello\n", ()) == "Hello\n"
    assert with_choices("", ((Button("Yes", "y"),),)) == f"{KEYS[0]} Yes"
