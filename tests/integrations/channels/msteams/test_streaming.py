"""Answers that grow in a personal chat: by Teams' own streaming, and by edits where that is refused or over."""

from __future__ import annotations

from typing import Any

import pytest

from hub.core.errors import HubError
from hub.messaging.contract import Button, DeliveryState
from integrations.channels.msteams.channel import TeamsChannel
from integrations.channels.msteams.streaming import STREAM_S
from tests.channels.kit import HurriedClock
from tests.channels.msteams_rig import text_of
from tests.integrations.channels.msteams.test_sending import IN_GROUP, WITH_ADA, out
from tests.servers.msteams_server import TeamsServer


def shown(server: TeamsServer) -> list[str]:
    return [text_of(each) for each in server.messages]


async def streamed(channel: TeamsChannel, *texts: str) -> None:
    for text in texts:
        await channel.draft(WITH_ADA, "run", text)


@pytest.mark.parametrize("same_beginning", [False, True])
async def test_an_answer_is_streamed_and_ends_as_one_message(
    server: TeamsServer, channel: TeamsChannel, same_beginning: bool
) -> None:
    server.same_beginning = same_beginning
    await streamed(channel, "It", "It is **n", "It is **nine")
    assert (server.streamed, server.messages) == (["It", "It is **n", "It is **nine"], [])

    told = await channel.send(out("(a tool ran)"))
    assert len(server.streams) == 1
    sent = await channel.send(out("It is **nine**.", run_id="run"))

    assert (told.state, sent.state) == (DeliveryState.DELIVERED,) * 2
    assert shown(server) == ["(a tool ran)", "It is nine."]
    assert sent.platform_ids == (server.messages[1]["id"],)
    assert server.streams == {}
    again = await channel.send(out("And more.", id="row-2", run_id="run"))
    assert again.platform_ids != sent.platform_ids
    assert shown(server)[2:] == ["And more."]


@pytest.mark.parametrize("why", ["not enabled", "over", "another text", "time"])
async def test_where_it_is_refused_or_over_one_message_is_edited(
    server: TeamsServer, channel: TeamsChannel, clock: HurriedClock, why: str
) -> None:
    server.can_stream = why != "not enabled"
    server.stream_takes = 2 if why == "over" else None
    await streamed(channel, "Let me look", "Let me look it up")
    if why == "time":
        await clock.sleep(STREAM_S + 1)

    await streamed(channel, "Nine" if why == "another text" else "Let me look it up: nine")
    between = shown(server)
    await streamed(channel, "Nine it")
    sent = await channel.send(out("Nine it is.", run_id="run"))

    assert between == ["Nine" if why == "another text" else "Let me look it up: nine"]
    assert shown(server) == ["Nine it is."]
    assert sent.platform_ids == (server.messages[0]["id"],)
    assert len(server.streamed) == {"not enabled": 0}.get(why, 2)
    assert server.stream_refusals == (why in ("not enabled", "over"))


async def test_buttons_come_with_the_end_of_a_stream(server: TeamsServer, channel: TeamsChannel) -> None:
    await streamed(channel, "Shall I")

    await channel.send(out("Shall I?", run_id="run", buttons=((Button("Yes", "yes"),),)))

    (message,) = server.messages
    assert text_of(message) == "Shall I?"
    assert message["attachments"]


async def test_an_end_that_failed_is_tried_again_and_is_one_message(server: TeamsServer, channel: TeamsChannel) -> None:
    await streamed(channel, "It is")
    server.fail(status=429, code="TooManyRequests", headers={"Retry-After": "1"})

    first = await channel.send(out("It is nine.", run_id="run"))
    second = await channel.send(out("It is nine.", run_id="run"))

    assert (first.state, second.state) == (DeliveryState.TRANSIENT, DeliveryState.DELIVERED)
    assert shown(server) == ["It is nine."]


@pytest.mark.parametrize("can_stream", [True, False])
async def test_an_end_whose_markup_is_refused_is_plain_text_in_the_same_message(
    server: TeamsServer, channel: TeamsChannel, can_stream: bool
) -> None:
    server.can_stream = can_stream
    await streamed(channel, "It is")
    server.refuses_markup = True

    sent = await channel.send(out("It is **nine**.", run_id="run"))

    assert sent.state is DeliveryState.DELIVERED
    assert shown(server) == ["It is **nine**."]
    assert server.messages[0]["textFormat"] == "plain"


async def test_what_was_shown_and_is_gone_is_said_anew(server: TeamsServer, channel: TeamsChannel) -> None:
    server.can_stream = False
    await streamed(channel, "It is")
    server.messages.clear()

    sent = await channel.send(out("It is nine.", run_id="run"))

    assert sent.state is DeliveryState.DELIVERED
    assert shown(server) == ["It is nine."]


async def test_a_stream_that_fails_for_now_is_begun_later(server: TeamsServer, channel: TeamsChannel) -> None:
    server.tokens.clear()
    server.password = "another"

    with pytest.raises(HubError):
        await streamed(channel, "It")

    assert server.messages == []


async def test_another_run_begins_a_stream_of_its_own_and_a_group_has_none(
    server: TeamsServer, channel: TeamsChannel
) -> None:
    await channel.draft(WITH_ADA, "first", "One")
    await channel.draft(WITH_ADA, "second", "Two")
    sent: Any = await channel.send(out("Two.", run_id="second"))
    late = await channel.send(out("One.", id="row-2", run_id="first"))
    await channel.draft(IN_GROUP, "third", "Three")

    assert shown(server) == ["Two.", "One.", "Three"]
    assert sent.platform_ids != late.platform_ids
    assert server.streamed == ["One", "Two"]
