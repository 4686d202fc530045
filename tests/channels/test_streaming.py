"""An answer that is written before everybody's eyes: in the end it is one message, or its blocks, and nothing twice."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from hub.messaging.capabilities import Capability, capabilities_of
from hub.messaging.outbox.outbound_policy import BlockStreaming, DraftStreaming, OutboundPolicy
from tests.channels.kit import Can, ChannelHub, Rig
from tests.channels.registry import rigs_that
from tests.servers.openai_server import OpenAIServer

BEGUN, WHOLE = "It begins", "It begins and ends."


async def streaming(hub: ChannelHub, openai_server: OpenAIServer) -> frozenset[Capability]:
    """Log in with streaming, and script an answer in two parts; return what the channel can do."""
    await hub.log_out()
    channel = await hub.log_in(OutboundPolicy(streaming=DraftStreaming.PARTIAL))
    channel.limits = replace(channel.limits, draft_interval_s=0.01)
    openai_server.queue([{"text": BEGUN}, {"hold": "end"}, {"text": WHOLE.removeprefix(BEGUN)}])
    return capabilities_of(channel)


@rigs_that()
async def test_an_answer_grows_in_one_message(hub: ChannelHub, rig: Rig, openai_server: OpenAIServer) -> None:
    able = await streaming(hub, openai_server)
    group = Can.GROUPS in rig.can
    if Capability.EDIT not in able or (Capability.DRAFT in able and not group):
        pytest.skip("it has no edits, or shows drafts")

    await rig.says("hello", group=group)
    await hub.until_shown(BEGUN, group=group)
    openai_server.release("end")

    await hub.until_shown(WHOLE, group=group)
    await hub.until_counts(sent=2)


@rigs_that()
async def test_after_a_draft_there_is_one_message(hub: ChannelHub, rig: Rig, openai_server: OpenAIServer) -> None:
    if Capability.DRAFT not in await streaming(hub, openai_server):
        pytest.skip("it has no drafts")

    await rig.says("hello")
    await hub.until(lambda: bool(rig.drafts()))
    before = rig.shows()
    openai_server.release("end")

    await hub.until_shown(WHOLE)
    await hub.until_counts(sent=1)
    assert (before, rig.drafts()[0]) == ([], BEGUN)


@rigs_that()
async def test_blocks_are_messages_and_the_end_is_the_last(
    hub: ChannelHub, rig: Rig, openai_server: OpenAIServer
) -> None:
    await hub.log_out()
    await hub.log_in(OutboundPolicy(blocks=BlockStreaming(enabled=True, min_chars=10, max_chars=64, idle_ms=100)))
    openai_server.queue([{"text": "The first block.\n\nThe"}, {"hold": "last"}, {"text": " last."}])

    await rig.says("hello")
    await hub.until_shown("The first block.")
    openai_server.release("last")

    await hub.until_shown("The first block.", "The last.")
