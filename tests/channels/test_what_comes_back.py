"""What people do to the assistant's messages: a pressed button, a vote and a reaction reach who offered them, once."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from hub.core.context import Context
from hub.messaging.access.access import AccessPolicy, DmPolicy
from hub.messaging.capabilities import Capability
from hub.messaging.contract import Button, ChannelState
from hub.messaging.inbox.inbox_rows import load_message
from hub.messaging.outbox.outbox_rows import NewMessage, NewPoll, Outgoing, RowSource
from hub.messaging.retention import prune
from tests.channels.kit import ADA, ANSWER, EVE, Can, ChannelHub, Rig, Trouble
from tests.channels.registry import rigs_that
from tests.messaging.post import OWNER
from tests.servers.openai_script import last_user_text
from tests.servers.openai_server import OpenAIServer

QUESTION = "What is the capital of Germany?"
PRESSED = f'[pressed: "Berlin" on "{QUESTION}"]'
HERE = "agent:main:quiz"
"""A conversation that no message is routed to by itself."""
LATER = "And now?"


async def offers(hub: ChannelHub, what: Outgoing | None = None, *, group: bool = False, key: str | None = HERE) -> None:
    """Let an agent offer something, beside its answer to a first message."""
    await hub.rig.says("hello", group=group)
    await hub.until_shown(ANSWER, group=group)
    buttons = tuple((Button(each, each),) for each in ("Berlin", "Paris"))
    address = hub.rig.address(group=group)
    what = what or NewMessage(QUESTION, buttons=buttons)
    await hub.outbox.send(address, what, Context(OWNER), session_key=key, run_id="quiz", source=RowSource.TOOL)
    await hub.until_counts(sent=2)


def heard(server: OpenAIServer) -> str:
    """Return the last words sent to the model."""
    return last_user_text(server.requests()[-1]["body"]["messages"])


async def queued(hub: ChannelHub) -> list[tuple[str, str]]:
    """Return session and words of all messages that an agent answers, in order."""
    rows = await hub.rows("SELECT session_key, message FROM inbox WHERE run_id IS NOT NULL ORDER BY position")
    return [(key, load_message(stored).text) for key, stored in rows]


async def let_in(hub: ChannelHub, access: AccessPolicy) -> None:
    """Log the channel in again, with other rules."""
    await hub.log_out()
    await hub.channels.add(hub.rig.channel(hub.folder, hub.clock), access)
    await hub.until(lambda: hub.state() is ChannelState.CONNECTED)


@rigs_that()
async def test_what_a_channel_offers_is_tested_for_what_comes_back(hub: ChannelHub, rig: Rig) -> None:
    wanted = {Capability.BUTTONS: Can.BUTTONS, Capability.POLL: Can.VOTES, Capability.REACT: Can.REACTS}
    attached = hub.channels.get(rig.name, "default")

    assert attached is not None
    assert {wanted[each] for each in attached.capabilities & wanted.keys()} == rig.can & {*wanted.values()}


@rigs_that(Can.BUTTONS)
async def test_a_pressed_button_begins_a_turn_where_it_was_offered(
    hub: ChannelHub, rig: Rig, openai_server: OpenAIServer
) -> None:
    await offers(hub)

    await rig.presses("Berlin")
    await hub.until_shown(ANSWER, QUESTION, ANSWER)

    assert (await queued(hub))[1:] == [(HERE, PRESSED)]
    assert PRESSED in heard(openai_server)
    assert [each["value"] for each in hub.told("button_pressed")] == ["Berlin"]
    assert rig.notices() == []


@rigs_that(Can.BUTTONS)
async def test_a_button_that_is_pressed_twice_counts_once_and_another_counts_too(hub: ChannelHub, rig: Rig) -> None:
    await offers(hub)
    await rig.presses("Berlin")
    await hub.until_shown(ANSWER, QUESTION, ANSWER)

    await rig.presses("Berlin")
    await hub.until(lambda: rig.notices() == ["You have pressed this button already."])
    await rig.presses("Paris")
    await hub.until(lambda: len(hub.told("button_pressed")) == 3)

    assert [text for _, text in (await queued(hub))[1:]] == [PRESSED, PRESSED.replace("Berlin", "Paris")]


@rigs_that(Can.BUTTONS, Trouble.REFUSED_FOR_NOW, where=lambda rig: rig.name == "matrix")
async def test_a_press_is_answered_though_the_server_refuses_for_a_moment(hub: ChannelHub, rig: Rig) -> None:
    await offers(hub)
    await rig.presses("Berlin")
    await hub.until_shown(ANSWER, QUESTION, ANSWER)
    await hub.all_answered()

    rig.trouble(Trouble.REFUSED_FOR_NOW)
    await rig.presses("Berlin")
    await hub.until(lambda: rig.notices() == ["You have pressed this button already."])


@rigs_that(Can.BUTTONS)
async def test_a_button_works_after_a_restart_of_the_hub_and_still_counts_once(
    rig: Rig, tmp_path: Path, openai_server: OpenAIServer
) -> None:
    openai_server.set_default(ANSWER)
    before = ChannelHub(tmp_path, openai_server.base_url, rig)
    await before.open()
    await offers(before)
    await before.close()
    again = ChannelHub(tmp_path, openai_server.base_url, rig)
    await again.open()

    await rig.presses("Berlin")
    await again.until(lambda: rig.shows().count(ANSWER) == 2)
    await rig.presses("Berlin")
    await again.until(lambda: rig.notices() == ["You have pressed this button already."])
    found = await queued(again)
    await again.close()

    assert found[1:] == [(HERE, PRESSED)]


@rigs_that(Can.BUTTONS)
async def test_a_button_that_nobody_remembers_says_so(hub: ChannelHub, rig: Rig) -> None:
    await offers(hub)
    await hub.db.write(partial(prune, before_ms=2**53))

    await rig.presses("Berlin")
    await hub.until(lambda: rig.notices() == ["This button does nothing any more. Write what you want instead."])

    assert await hub.turns() == 1
    assert [each["value"] for each in hub.told("button_pressed")] == ["Berlin"]


@rigs_that(Can.BUTTONS)
async def test_a_button_is_not_for_those_who_may_not_write(hub: ChannelHub, rig: Rig) -> None:
    await offers(hub)
    await let_in(hub, AccessPolicy(DmPolicy.DISABLED))

    await rig.presses("Berlin")
    await hub.until(lambda: rig.notices() == ["This button is not for you."])

    assert len(await queued(hub)) == 1
    assert hub.told("button_pressed") == []


@pytest.mark.parametrize("state", ["unknown", "dead"])
@rigs_that(Can.BUTTONS)
async def test_a_button_that_is_pressed_before_the_platform_said_that_it_was_sent_counts(
    hub: ChannelHub, rig: Rig, state: str
) -> None:
    await offers(hub)
    unsure = f"UPDATE outbox SET state = '{state}', platform_ids = NULL WHERE run_id = 'quiz'"
    await hub.db.write(lambda connection: connection.execute(unsure))

    await rig.presses("Berlin")
    await hub.until_shown(ANSWER, QUESTION, ANSWER)

    assert (await queued(hub))[1:] == [(HERE, PRESSED)]


@rigs_that(Can.BUTTONS, Can.GROUPS)
async def test_in_a_group_a_press_is_addressed_to_the_assistant_with_the_rights_of_whoever_pressed(
    hub: ChannelHub, rig: Rig
) -> None:
    await offers(hub, group=True)

    await rig.presses("Berlin", EVE, group=True)
    await hub.until_shown(ANSWER, QUESTION, ANSWER, group=True)
    await rig.presses("Berlin", ADA, group=True)
    await hub.until(lambda: rig.shows(group=True).count(ANSWER) == 3)

    assert (await queued(hub))[1:] == [(HERE, PRESSED)] * 2
    rows = await hub.rows("SELECT person, owner FROM inbox WHERE run_id IS NOT NULL ORDER BY position")
    assert rows[1:] == [(None, 0), ("me", 0)]


@rigs_that(Can.VOTES)
async def test_a_vote_is_told_once_with_the_next_turn(hub: ChannelHub, rig: Rig, openai_server: OpenAIServer) -> None:
    group = rig.polls_in_groups
    await offers(hub, NewPoll("Tea or coffee?", ("tea", "coffee")), group=group, key=None)

    await rig.votes(1)
    await hub.until(lambda: len(hub.told("poll_answered")) == 1)
    await rig.says(LATER, group=group)
    await hub.until(lambda: rig.shows(group=group).count(ANSWER) == 2)
    first = heard(openai_server)
    await rig.says(LATER, group=group)
    await hub.until(lambda: rig.shows(group=group).count(ANSWER) == 3)

    assert '[voted: "coffee" in "Tea or coffee?"]' in first
    assert "<<<outside" not in first
    assert hub.told("poll_answered")[0]["choices"] == ("coffee",)
    assert "[voted" not in heard(openai_server)
    assert len(await queued(hub)) == 3


@rigs_that(Can.REACTS)
async def test_a_reaction_is_told_once_with_the_next_turn(
    hub: ChannelHub, rig: Rig, openai_server: OpenAIServer
) -> None:
    await rig.says("hello")
    await hub.until_shown(ANSWER)
    await hub.until_settled()

    await rig.reacts("👍")
    await hub.until(lambda: len(hub.told("message_reaction")) == 1)
    await rig.says(LATER)
    await hub.until_shown(ANSWER, ANSWER)

    assert f'[reacted: 👍 to "{ANSWER}"]' in heard(openai_server)
    assert "<<<outside" not in heard(openai_server)
    assert len(await queued(hub)) == 2
