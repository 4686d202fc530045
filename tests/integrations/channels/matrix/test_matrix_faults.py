"""The Matrix channel when the homeserver fails, logs it out, or takes its time."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from hub.messaging.contract import Address, DeliveryState
from integrations.channels.matrix.listening import Waits
from tests.integrations.channels.matrix.rig import MatrixRig, matrix_rig
from tests.servers.synapse import Synapse
from tests.until import until

LIMITED = json.dumps({"errcode": "M_LIMIT_EXCEEDED", "error": "Too many", "retry_after_ms": 1_500})
SEND = r"PUT .*/send/m\.room\.message/"
SYNC = r"GET .*/sync\?"


@pytest.fixture
async def rig(synapse: Synapse, tmp_path: Path) -> AsyncIterator[MatrixRig]:
    async with matrix_rig(synapse, tmp_path) as rig:
        yield rig


async def said_by_the_bot(rig: MatrixRig, room: str) -> list[str]:
    return [each["content"]["body"] for each in await rig.ada.events(room, "m.room.message", rig.bot.user_id)]


SENDING_FAILS: tuple[tuple[dict[str, Any], DeliveryState], ...] = (
    ({"status": 429, "body": LIMITED}, DeliveryState.TRANSIENT),
    ({"status": 502}, DeliveryState.UNKNOWN),
    ({"status": 502, "passes": True}, DeliveryState.UNKNOWN),
    ({"drops": True, "passes": True}, DeliveryState.UNKNOWN),
    ({"status": 200, "body": '{"event_id', "passes": True}, DeliveryState.UNKNOWN),
    ({"status": 413, "body": '{"errcode": "M_TOO_LARGE", "error": "Too large"}'}, DeliveryState.PERMANENT),
    ({"status": 403, "body": '{"errcode": "M_FORBIDDEN", "error": "Not here"}'}, DeliveryState.PERMANENT),
)


async def test_a_message_whose_sending_failed_is_sent_again_and_shown_once(rig: MatrixRig) -> None:
    room = await rig.ada.room_with(rig.bot)
    channel = await rig.start()
    for number, (fault, state) in enumerate(SENDING_FAILS):
        failing = rig.proxy.fails(SEND, times=9, **fault)  # the HTTP client itself tries again after some of them

        first = await channel.send(rig.message(room, f"Once {number}", f"outbox-{number}"))
        failing.times = 0
        second = await channel.send(rig.message(room, f"Once {number}", f"outbox-{number}"))

        assert first.state is state, fault
        assert first.error, fault
        assert (first.retry_after_s == 1.5) is ("retry_after_ms" in str(fault.get("body"))), fault
        assert second.state is DeliveryState.DELIVERED, fault
    assert await said_by_the_bot(rig, room) == [f"Once {number}" for number in range(len(SENDING_FAILS))]


async def test_a_homeserver_that_is_gone_has_surely_not_got_a_message(rig: MatrixRig, synapse: Synapse) -> None:
    room = await rig.ada.room_with(rig.bot)
    channel = await rig.start()
    await rig.proxy.close()

    sent = await channel.send(rig.message(room, "Later"))

    assert sent.state is DeliveryState.TRANSIENT


READING_FAILS: tuple[dict[str, Any], ...] = (
    {"status": 429, "body": LIMITED},
    {"status": 500},
    {"status": 504, "passes": True},
    {"drops": True, "passes": True},
    {"status": 200, "body": '{"next_batch": "s1'},
    {"status": 200, "body": "[]"},
    {"status": 200, "body": '{"next_batch": 5, "rooms": []}'},
    {"hangs": True},
)


async def test_reading_goes_on_where_it_was_after_the_homeserver_failed(rig: MatrixRig) -> None:
    rig.waits = Waits(poll_s=0.5, grace_s=1.0, first_s=3.0)  # it hangs as long
    room = await rig.ada.room_with(rig.bot)
    await rig.start()
    await rig.heard(await rig.ada.say(room, "One"))
    for fault in READING_FAILS:
        begin, errors = len(rig.hub.texts), len(rig.hub.errors)
        failing = rig.proxy.fails(SYNC, times=2, **fault)
        said = [await rig.ada.say(room, text) for text in ("Two", "Three")]
        await until(lambda: failing.times <= 0)  # noqa: B023
        said.append(await rig.ada.say(room, "Four"))

        for each in said:
            await rig.heard(each)

        assert rig.hub.texts[begin:] == ["Two", "Three", "Four"], fault
        assert len(rig.hub.errors) > errors, fault
        assert not any(permanent for _, permanent in rig.hub.errors), fault
        await until(lambda: rig.hub.states[-1] == "connected")


async def test_an_event_that_was_stored_before_a_crash_comes_with_the_same_id(rig: MatrixRig) -> None:
    room = await rig.ada.room_with(rig.bot)
    await rig.start()
    before = dict(rig.hub.cursors)
    await rig.heard(await rig.ada.say(room, "Once"))
    await rig.stop()
    rig.hub.cursors = before

    await rig.start()
    await until(lambda: len(rig.hub.messages) == 2)

    first, second = rig.hub.messages
    assert (first.message_id, first.address.peer) == (second.message_id, second.address.peer)


async def test_a_position_that_the_homeserver_does_not_know_begins_anew(rig: MatrixRig) -> None:
    room = await rig.ada.room_with(rig.bot)
    rig.hub.cursors["position"] = "not a position"
    await rig.ada.say(room, "Before")
    await rig.start()

    await rig.heard(await rig.ada.say(room, "After"))

    assert rig.hub.texts == ["After"]


async def test_a_revoked_token_takes_a_person(rig: MatrixRig) -> None:
    room = await rig.ada.room_with(rig.bot)
    await rig.start()

    await rig.bot.log_out()
    await until(lambda: any(permanent for _, permanent in rig.hub.errors))

    assert rig.channel is not None
    assert (await rig.channel.send(rig.message(room, "Hi"))).state is DeliveryState.TRANSIENT
    assert (await rig.channel.probe())["ok"] is False


async def test_a_wrong_token_and_one_of_somebody_else_take_a_person(rig: MatrixRig) -> None:
    for token in ("wrong", rig.ada.token):
        channel = rig.make(token=token)
        await channel.start(rig.hub)
        errors = len(rig.hub.errors)
        await until(lambda: len(rig.hub.errors) > errors)  # noqa: B023
        await channel.stop()

    assert [permanent for _, permanent in rig.hub.errors] == [True, True]
    assert rig.ada.user_id in rig.hub.errors[1][0]


async def test_a_password_logs_in_once_and_again_on_the_same_device_after_a_log_out(rig: MatrixRig) -> None:
    room = await rig.ada.room_with(rig.bot)
    await rig.start(password="correct horse")
    kept = json.loads((rig.folder / "login.json").read_text())
    await rig.stop()
    await rig.start(password="correct horse")
    assert rig.proxy.count("POST .*/login") == 1
    assert (rig.folder / "login.json").stat().st_mode & 0o777 == 0o600

    rig.proxy.fails(SYNC, status=401, body='{"errcode": "M_UNKNOWN_TOKEN", "error": "Gone"}')
    rig.proxy.fails("GET .*/whoami", status=401, body='{"errcode": "M_UNKNOWN_TOKEN", "error": "Gone"}')
    await until(lambda: rig.proxy.count("POST .*/login") == 2)
    await rig.heard(await rig.ada.say(room, "Still there?"))

    again = json.loads((rig.folder / "login.json").read_text())
    assert again["device_id"] == kept["device_id"]
    assert again["access_token"] != kept["access_token"]


async def test_a_wrong_password_is_tried_once(rig: MatrixRig) -> None:
    channel = rig.make(password="wrong")
    await channel.start(rig.hub)
    await until(lambda: rig.hub.errors)
    await asyncio.sleep(0.05)
    await channel.stop()

    assert rig.hub.errors[0][1]
    assert rig.proxy.count("POST .*/login") == 1


async def test_typing_probing_and_fetching_never_raise_into_the_hub_for_what_a_homeserver_does(rig: MatrixRig) -> None:
    room = await rig.ada.room_with(rig.bot)
    channel = await rig.start()
    rig.proxy.fails("typing|whoami|redact", times=9, drops=True)

    await channel.typing(Address("matrix", room))
    probed = await channel.probe()
    deleted = await channel.delete(Address("matrix", room), "$nothing")

    assert probed["ok"] is False
    assert deleted.state is DeliveryState.UNKNOWN
