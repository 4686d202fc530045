"""A platform that changes its mind: the assistant is removed from a group, or what it refers to is gone."""

from __future__ import annotations

import asyncio
import re

import pytest

from hub.core.context import Context
from hub.messaging.capabilities import CanDelete, CanReact
from hub.messaging.contract import Channel, ChannelState, ChatType
from hub.messaging.outbox.outbox_rows import NewMessage, NewReaction, OutboxRow, RowSource
from tests.channels.kit import ADA, ANSWER, Can, ChannelHub, Rig, Trouble
from tests.channels.registry import rigs_that
from tests.channels.test_streaming import BEGUN, WHOLE, streaming
from tests.messaging.post import LIMIT_S, OWNER
from tests.servers.openai_server import OpenAIServer

NOT_IN = re.compile(r"\b(not|no longer|n't|not a member|not participating) in\b|\bkicked from\b")
"""What tells people why, whatever code the platform has for it."""


@rigs_that(Trouble.REMOVED)
async def test_what_is_for_a_group_that_it_was_removed_from_is_tried_once_and_says_why(
    hub: ChannelHub, rig: Rig
) -> None:
    await rig.says("hello", group=True)
    await hub.until_shown(ANSWER, group=True)
    await hub.until_counts(sent=1)
    before = rig.attempts()

    await rig.removes()
    await hub.outbox.send(rig.address(group=True), NewMessage("news"), Context(OWNER), source=RowSource.TOOL)
    await hub.until_counts(sent=1, dead=1)
    await hub.log_in_again()
    await rig.says("hello", ADA)

    await hub.until_shown(ANSWER)
    ((row,), tried) = await hub.outbox.rows(("dead",)), rig.attempts() - before
    assert NOT_IN.search(row.error or ""), row.error
    assert tried <= 2, "it was tried again"
    assert hub.state() is ChannelState.CONNECTED
    assert hub.repairs_of("outbox") == [f"dead:{rig.name}:default"]


async def deleted(hub: ChannelHub) -> tuple[Channel, OutboxRow]:
    """Let somebody delete the one message; return the channel, and the message."""
    await hub.until_counts(sent=1)
    (row,), attached = await hub.outbox.rows(), hub.channels.get(hub.rig.name)
    assert attached is not None
    assert isinstance(attached.channel, CanDelete)
    group = row.address.chat_type is not ChatType.DIRECT
    await hub.rig.deletes(attached.channel, row.address, row.platform_ids[0])
    await hub.until_shown(group=group)
    async with asyncio.timeout(LIMIT_S):
        while hub.rig.hears_deletions and (await hub.outbox.get(row.id)).platform_ids:  # noqa: ASYNC110
            await asyncio.sleep(0.005)
    return attached.channel, row


@rigs_that(Can.GONE)
async def test_an_answer_whose_beginning_was_deleted_comes_as_a_message_of_its_own(
    hub: ChannelHub, rig: Rig, openai_server: OpenAIServer
) -> None:
    await streaming(hub, openai_server)
    group = Can.GROUPS in rig.can
    await rig.says("hello", group=group)
    await hub.until_shown(BEGUN, group=group)

    await deleted(hub)
    openai_server.release("end")

    await hub.until_shown(WHOLE, group=group)
    await hub.until_counts(sent=2)


@rigs_that(Can.GONE)
async def test_a_reaction_to_what_was_deleted_is_no_message_that_was_lost(hub: ChannelHub, rig: Rig) -> None:
    group = Can.GROUPS in rig.can
    await rig.says("hello", group=group)
    await hub.until_shown(ANSWER, group=group)
    channel, row = await deleted(hub)
    if not isinstance(channel, CanReact):
        pytest.skip("it does not react")

    await hub.outbox.send(row.address, NewReaction(row.platform_ids[0], "👍"), Context(OWNER))
    await hub.all_answered()

    assert hub.repairs_of("outbox") == []


@rigs_that(Can.MOVES)
async def test_a_group_that_got_another_id_goes_on_where_it_was(hub: ChannelHub, rig: Rig) -> None:
    before = rig.address(group=True)
    await rig.says("hello", group=True)
    await hub.until_shown(ANSWER, group=True)

    await rig.moves()
    await hub.outbox.send(before, NewMessage("news"), Context(OWNER), source=RowSource.TOOL)
    await hub.until(lambda: rig.shows(group=True)[-1:] == ["news"])
    await rig.says("are you here too?", group=True)
    await hub.until(lambda: rig.shows(group=True)[-2:] == ["news", ANSWER])
    await hub.log_in_again()
    await rig.says("and now?", group=True)

    await hub.until(lambda: rig.shows(group=True)[-3:] == ["news", ANSWER, ANSWER])
    assert rig.address(group=True).peer != before.peer
    assert await hub.rows("SELECT DISTINCT peer FROM inbox WHERE session_key IS NOT NULL") == [(before.peer,)]
    assert len(await hub.rows("SELECT DISTINCT session_key FROM inbox WHERE session_key IS NOT NULL")) == 1
