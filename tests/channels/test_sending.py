"""What goes out: sent again only where that shows one message, and never twice in silence."""

from __future__ import annotations

import pytest

from hub.messaging.contract import ChannelState
from hub.messaging.texts import say
from tests.channels.kit import ADA, ANSWER, ChannelHub, Rig, Trouble
from tests.channels.registry import rigs_that
from tests.servers.openai_server import OpenAIServer


@rigs_that(Trouble.RATE_LIMITED)
async def test_a_message_is_sent_again_when_the_platform_asked_to_wait(hub: ChannelHub, rig: Rig) -> None:
    rig.trouble(Trouble.RATE_LIMITED, Trouble.RATE_LIMITED)
    await rig.says("hello")

    await hub.until_shown(ANSWER)
    await hub.until_counts(sent=1)


@rigs_that(Trouble.REFUSED_FOR_NOW)
async def test_what_the_platform_refuses_for_now_is_sent_once_in_the_end(hub: ChannelHub, rig: Rig) -> None:
    rig.trouble(*[Trouble.REFUSED_FOR_NOW] * 3)
    await rig.says("hello")

    await hub.until_shown(ANSWER)
    await hub.until_counts(sent=1)
    assert rig.attempts() == 4
    assert hub.repairs_of("outbox") == []


@rigs_that(Trouble.PROXY_PAGE)
async def test_the_page_of_a_proxy_leaves_open_whether_a_message_was_sent(hub: ChannelHub, rig: Rig) -> None:
    rig.trouble(Trouble.PROXY_PAGE)
    await rig.says("hello")

    assert await hub.until_settled() == ("sent" if hub.can_tell() else "unknown")
    await hub.until_shown(ANSWER if hub.can_tell() else hub.notice())


@rigs_that(Trouble.PROXY_PAGE)
async def test_what_may_not_have_arrived_comes_again_when_its_chat_asks_for_it(hub: ChannelHub, rig: Rig) -> None:
    if hub.can_tell():
        pytest.skip("it is known")
    rig.trouble(Trouble.PROXY_PAGE)
    await rig.says("hello")
    await hub.until_shown(hub.notice())

    if hub.pigeons.limits.buttons:
        await rig.presses(say("unsure.resend"))
    else:
        await rig.says("/resend")

    await hub.until_shown(hub.notice(), ANSWER)
    await hub.until_counts(sent=2)


@rigs_that(Trouble.ANSWER_LOST)
async def test_a_message_whose_answer_was_lost_is_shown_once(hub: ChannelHub, rig: Rig) -> None:
    rig.trouble(Trouble.ANSWER_LOST)
    await rig.says("hello")

    settled = await hub.until_settled()
    assert settled == "sent" if hub.can_tell() else settled in ("sent", "unknown")
    told = [hub.notice()] if settled == "unknown" else []
    await hub.until_shown(ANSWER, *told)  # the server may have it a moment before the person


@rigs_that(Trouble.FORBIDDEN)
async def test_a_message_that_can_never_be_sent_is_tried_once_and_kept(hub: ChannelHub, rig: Rig) -> None:
    rig.trouble(Trouble.FORBIDDEN)
    await rig.says("hello")

    assert await hub.until_settled() == "dead"
    assert rig.attempts() == 1
    assert rig.shows() == []
    assert (await hub.outbox.rows(("dead",)))[0].error != "no reason given"


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


@rigs_that(where=lambda rig: rig.has_login)
async def test_revoked_credentials_fail_one_account_and_leave_the_others(hub: ChannelHub, rig: Rig) -> None:
    await hub.add_account("second")

    rig.revokes("second")
    await hub.until(lambda: hub.state("second") is ChannelState.FAILED)
    await rig.says("hello", ADA)

    await hub.until_shown(ANSWER)
    await hub.until(lambda: hub.state() is ChannelState.CONNECTED)
    assert f"{rig.name}:second" in hub.repairs_of("channels")
