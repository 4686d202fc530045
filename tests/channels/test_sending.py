"""What goes out: sent again only where that shows one message, and never twice in silence."""

from __future__ import annotations

import pytest

from hub.messaging.contract import ChannelState
from tests.channels.kit import ADA, ANSWER, Can, ChannelHub, Rig, Trouble
from tests.channels.registry import rigs_that
from tests.servers.openai_server import OpenAIServer


@rigs_that(Trouble.RATE_LIMITED)
async def test_a_message_is_sent_again_when_the_platform_asked_to_wait(hub: ChannelHub, rig: Rig) -> None:
    rig.trouble(Trouble.RATE_LIMITED, Trouble.RATE_LIMITED)
    await rig.says("hello")

    await hub.until_shown(ANSWER)
    await hub.until_counts(sent=1)


@rigs_that(Trouble.SERVER_ERROR)
async def test_an_error_of_the_server_loses_nothing_in_silence(hub: ChannelHub, rig: Rig) -> None:
    rig.trouble(Trouble.SERVER_ERROR)
    await rig.says("hello")

    settled = await hub.until_settled()
    assert (settled, rig.shows()) in (("sent", [ANSWER]), ("unknown", []))


@rigs_that(Trouble.ANSWER_LOST)
async def test_a_message_whose_answer_was_lost_is_shown_once(hub: ChannelHub, rig: Rig) -> None:
    rig.trouble(Trouble.ANSWER_LOST)
    await rig.says("hello")

    settled = await hub.until_settled()
    idempotent = hub.pigeons.limits.idempotent
    assert settled == "sent" if idempotent else settled in ("sent", "unknown")
    await hub.until_shown(ANSWER)  # the server may have it a moment before the person


@rigs_that(Trouble.FORBIDDEN)
async def test_a_message_that_can_never_be_sent_is_tried_once_and_kept(hub: ChannelHub, rig: Rig) -> None:
    rig.trouble(Trouble.FORBIDDEN)
    await rig.says("hello")

    assert await hub.until_settled() == "dead"
    assert rig.attempts() == 1
    assert rig.shows() == []


@rigs_that(Trouble.MARKUP_REFUSED)
async def test_a_message_whose_markup_is_refused_goes_as_plain_text(
    hub: ChannelHub, rig: Rig, openai_server: OpenAIServer
) -> None:
    openai_server.set_default("**bold** words")
    rig.trouble(Trouble.MARKUP_REFUSED)
    await rig.says("hello")

    await hub.until_shown("**bold** words")
    await hub.until_counts(sent=1)


@rigs_that()
async def test_a_long_answer_comes_whole_and_in_order(hub: ChannelHub, rig: Rig, openai_server: OpenAIServer) -> None:
    words = [f"word{n}" for n in range(1_500)]
    openai_server.set_default(" ".join(words))
    await rig.says("hello")

    await hub.until(lambda: " ".join(rig.shows()).split() == words)
    attached = hub.channels.get(rig.name)
    assert attached is not None
    assert (len(rig.shows()) > 1) is (len(" ".join(words)) > attached.channel.limits.text)


@rigs_that()
async def test_revoked_credentials_fail_one_account_and_leave_the_others(hub: ChannelHub, rig: Rig) -> None:
    if Can.NO_LOGIN in rig.can:
        pytest.skip("it has none")
    await hub.add_account("second")

    rig.revokes("second")
    await hub.until(lambda: hub.state("second") is ChannelState.FAILED)
    await rig.says("hello", ADA)

    await hub.until_shown(ANSWER)
    assert hub.state() is ChannelState.CONNECTED
    assert f"{rig.name}:second" in hub.repairs_of("channels")
