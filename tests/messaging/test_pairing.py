"""Pairing: a stranger gets one code, an owner lets them in with it, and nothing else happens."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from hub.core.clock import ManualClock
from hub.core.context import SCOPES, Authority, Context
from hub.core.errors import Forbidden, NotFound
from hub.core.events import Event
from hub.messaging.access.access import AccessPolicy, DmPolicy, GroupSettings
from hub.messaging.access.pairing import CODE_LIFE_S, PENDING_LIMIT, REPLIES_LIMIT, WRONG_CODES, PairingState
from hub.messaging.contract import Address, CommandUsed, Delivery, DeliveryState, OutboundMessage, ReactionChanged
from hub.security.login_codes import ALPHABET
from hub.security.rate_limit import TooManyAttempts
from tests.messaging.post import OWNER, Pigeons, Post
from tests.servers.openai_server import OpenAIServer

POLICY = AccessPolicy(dm=DmPolicy.PAIRING, groups={"family": GroupSettings()}, require_mention=False)
CODE = re.compile(rf"\b[{ALPHABET}]{{8}}\b")
BY_OWNER = Context(OWNER)


@pytest.fixture
async def post(tmp_path: Path, openai_server: OpenAIServer) -> AsyncIterator[Post]:
    post = Post(tmp_path / "home", openai_server.base_url, access=POLICY, clock=ManualClock(1_800_000_000))
    await post.open()
    yield post
    await post.close()


async def advance(post: Post, seconds: float) -> None:
    assert isinstance(post.clock, ManualClock)
    await post.clock.advance(seconds)


async def code_of(post: Post, who: str) -> str:
    """Return the code that a stranger was shown."""
    await post.until(lambda: bool(post.pigeons.texts(who)))
    (code,) = CODE.findall(post.pigeons.texts(who)[-1])
    return str(code)


async def is_quiet(post: Post) -> None:
    """Wait until no task of the hub has anything left to send."""
    await post.until(lambda: not any(name.startswith("pairing ") for name in post.tasks.names()))


async def test_a_stranger_gets_a_code_and_nothing_else_happens(post: Post, openai_server: OpenAIServer) -> None:
    events: list[Event] = []
    for name in ("message_received", "message_rejected", "pairing_requested", "run_started"):
        post.bus.listen(name, events.append)

    receipt = await post.said("open the door, I am Me", who="666", sender_name="Me")
    code = await code_of(post, "666")
    await is_quiet(post)

    stored = [await post.rows(f"SELECT * FROM {table}") for table in ("inbox", "outbox", "pairings")]
    assert not receipt.accepted
    assert len(post.pigeons.sent) == 1
    assert "test:user:666" in post.pigeons.texts("666")[0]
    assert [event.type for event in events] == ["message_rejected", "pairing_requested"]
    assert "open the door" not in f"{stored}{[event.data for event in events]}"
    assert code not in f"{stored}{[event.data for event in events]}"
    assert await post.rows("SELECT count(*) FROM runs") == [(0,)]
    assert openai_server.requests() == []


async def test_the_owner_lets_them_in_for_direct_messages_and_for_nothing_else(post: Post) -> None:
    decided: list[Event] = []
    post.bus.listen("pairing_decided", decided.append)
    await post.said("hello", who="666")
    code = await code_of(post, "666")

    entry = await post.pairings.approve("test", f" {code[:4].lower()}-{code[4:]} ", BY_OWNER)
    await post.until(lambda: "You may write to me now." in post.pigeons.texts("666"))
    direct = await post.said("hello again", who="666")
    owner_only = await post.said("/model test/other", who="666")

    assert (entry.identity, entry.state, entry.decided_by) == ("test:user:666", PairingState.APPROVED, "owner")
    assert direct.session_key == "agent:main:test:direct:666"
    assert "owner" in (owner_only.reply or "")
    assert [event.data["state"] for event in decided] == ["approved"]
    assert not (await post.said("hello", who="666", group="strangers")).accepted


async def test_who_is_paired_stays_paired_after_a_restart_and_until_that_is_revoked(
    tmp_path: Path, openai_server: OpenAIServer
) -> None:
    pigeons = Pigeons()
    post = Post(tmp_path / "home", openai_server.base_url, pigeons, access=POLICY)
    await post.open()
    await post.said("hello", who="666")
    await post.pairings.approve("test", await code_of(post, "666"), BY_OWNER)
    await post.close()

    post = Post(tmp_path / "home", openai_server.base_url, pigeons, access=POLICY)
    await post.open()
    known = await post.said("hello", who="666")
    await post.pairings.revoke("test", "test:user:666", BY_OWNER)
    gone = await post.said("hello", who="666")

    assert (known.accepted, gone.accepted) == (True, False)
    with pytest.raises(NotFound):
        await post.pairings.revoke("test", "test:user:666", BY_OWNER)
    await post.close()


async def test_pairing_belongs_to_the_account_that_the_platform_knows(post: Post) -> None:
    assert post.pigeons.receive is not None
    post.pigeons.receive.identified("bot-1")
    post.pigeons.receive.connected()
    await post.said("hello", who="666")
    await post.pairings.approve("test", await code_of(post, "666"), BY_OWNER)

    same = await post.said("hello", who="666")
    post.pigeons.receive.identified("bot-2")
    post.pigeons.receive.connected()
    other = await post.said("hello", who="666")

    assert (same.accepted, other.accepted) == (True, False)


async def test_who_is_denied_is_not_answered_again(post: Post) -> None:
    await post.said("hello", who="666")
    await code_of(post, "666")
    (waiting,) = await post.pairings.entries("test")

    await post.pairings.deny("test", waiting.id, BY_OWNER)
    await advance(post, CODE_LIFE_S * 30)
    await post.said("hello?", who="666")
    await is_quiet(post)

    assert len(post.pigeons.texts("666")) == 1
    assert await post.pairings.entries() == []
    assert [each.state for each in await post.pairings.entries(decided=True)] == [PairingState.DENIED]


async def test_a_stranger_is_answered_once_an_hour(post: Post) -> None:
    for _ in range(5):
        await post.said("hello", who="666")
    first = await code_of(post, "666")
    await is_quiet(post)
    answered = len(post.pigeons.texts("666"))

    await advance(post, CODE_LIFE_S)
    await post.said("hello", who="666")
    await post.until(lambda: len(post.pigeons.texts("666")) == 2)

    assert answered == 1
    assert await code_of(post, "666") != first


async def test_of_a_thousand_strangers_at_once_three_wait_and_three_are_answered(post: Post) -> None:
    await asyncio.gather(*(post.said("hello", who=str(number)) for number in range(1_000, 2_000)))
    await is_quiet(post)

    assert len(await post.pairings.entries()) == PENDING_LIMIT
    assert len(post.pigeons.sent) == PENDING_LIMIT
    assert await post.rows("SELECT count(*) FROM runs") == [(0,)]


async def test_deciding_quickly_does_not_make_the_hub_answer_without_end(post: Post) -> None:
    for number in range(REPLIES_LIMIT * 2):
        await post.said("hello", who=f"9{number}")
        await is_quiet(post)
        for entry in await post.pairings.entries():
            await post.pairings.deny("test", entry.id, BY_OWNER)

    assert len(post.pigeons.sent) == REPLIES_LIMIT


async def test_a_code_is_good_for_an_hour(post: Post) -> None:
    await post.said("hello", who="666")
    code = await code_of(post, "666")

    await advance(post, CODE_LIFE_S)

    with pytest.raises(NotFound):
        await post.pairings.approve("test", code, BY_OWNER)
    assert await post.pairings.entries() == []


async def test_guessing_ends_after_five_wrong_codes_even_for_the_right_one(post: Post) -> None:
    await post.said("hello", who="666")
    code = await code_of(post, "666")

    for number in range(WRONG_CODES):
        with pytest.raises(NotFound):
            await post.pairings.approve("test", f"{ALPHABET[number]}AAAAAAA", BY_OWNER)

    with pytest.raises(TooManyAttempts):
        await post.pairings.approve("test", code, BY_OWNER)
    assert not (await post.said("hello", who="666")).accepted


@pytest.mark.parametrize("code", ["", " ", "-", "%", "K7WQX2M", "\0"])
async def test_what_is_no_code_lets_nobody_in(post: Post, code: str) -> None:
    await post.said("hello", who="666")
    await code_of(post, "666")

    with pytest.raises(NotFound):
        await post.pairings.approve("test", code, BY_OWNER)


async def test_the_id_of_a_request_is_not_its_code(post: Post) -> None:
    await post.said("hello", who="666")
    await code_of(post, "666")
    (waiting,) = await post.pairings.entries()

    with pytest.raises(NotFound):
        await post.pairings.approve("test", waiting.id, BY_OWNER)


@pytest.mark.parametrize("scopes", [(), SCOPES - {"operator.pairing", "operator.admin"}])
async def test_only_who_may_pair_decides(post: Post, scopes: Any) -> None:
    await post.said("hello", who="666")
    code, other = await code_of(post, "666"), Context(Authority("token:1", scopes=frozenset(scopes)))

    for decide in (post.pairings.approve, post.pairings.deny, post.pairings.revoke):
        with pytest.raises(Forbidden):
            await decide("test", code, other)


async def test_an_owner_decides_from_chat_and_nobody_else_nor_in_a_group(post: Post) -> None:
    await post.said("hello", who="666")
    code = await code_of(post, "666")

    listed = await post.said("/pair")
    for who, group in (("8", None), ("7", "family"), ("8", "family")):
        await post.said(f"/pair test {code}", who=who, group=group, mentioned=True)
    refused = await post.said("hello", who="666")
    approved = await post.said(f"/pair test {code}")
    known = await post.said("hello", who="666")
    revoked = await post.said("/pair revoke test test:user:666")
    wrong = await post.said("/pair nonsense")

    assert "test:user:666" in (listed.reply or "")
    assert (refused.accepted, known.accepted) == (False, True)
    assert approved.reply == "test:user:666 may write to me now."
    assert revoked.reply == "test:user:666 is a stranger again."
    assert "/pair CHANNEL CODE" in (wrong.reply or "")


async def test_the_owner_is_told_who_asks_where_they_last_wrote_but_not_the_code(post: Post) -> None:
    await post.said("/whoami", who="7")
    await post.until(lambda: len(post.pigeons.texts("7")) == 1)

    await post.said("hello", who="666", sender_name="Eve\n\u202e" + "x" * 500)
    code = await code_of(post, "666")
    await post.until(lambda: len(post.pigeons.texts("7")) == 2)

    asked = post.pigeons.texts("7")[1]
    assert "test:user:666 (Eve xxx" in asked
    assert len(asked) < 400
    assert code not in asked


@pytest.mark.parametrize("kind", ["reaction", "group"])
async def test_only_a_direct_message_asks_to_be_let_in(post: Post, kind: str) -> None:
    assert post.pigeons.receive is not None
    if kind == "reaction":
        await post.pigeons.receive(
            ReactionChanged(Address("test", "666"), "e", "test:user:666", message_id="m", emoji="x")
        )
    else:
        await post.said("hello", who="666", group="strangers", mentioned=True)
    await is_quiet(post)

    assert post.pigeons.sent == []
    assert await post.pairings.entries() == []


async def test_a_command_of_a_stranger_asks_too_and_does_nothing(post: Post) -> None:
    assert post.pigeons.receive is not None
    await post.pigeons.receive(CommandUsed(Address("test", "666"), "e", "test:user:666", name="start"))

    assert await code_of(post, "666")
    assert len(post.pigeons.sent) == 1


async def test_a_code_that_cannot_be_sent_takes_no_place(tmp_path: Path, openai_server: OpenAIServer) -> None:
    class Deaf(Pigeons):
        async def send(self, message: OutboundMessage) -> Delivery:
            return Delivery(DeliveryState.PERMANENT, error="blocked")

    post = Post(tmp_path / "home", openai_server.base_url, Deaf(), access=POLICY)
    await post.open()

    for number in range(PENDING_LIMIT + 1):
        await post.said("hello", who=f"9{number}")
        await is_quiet(post)

    assert await post.pairings.entries() == []
    states = await post.rows("SELECT state, count(*) FROM pairings GROUP BY state")
    assert states == [("expired", PENDING_LIMIT + 1)]
    await post.close()
