"""Every mode of the queue, whatever arrives: each message is answered once, in order, and steers only what it may."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from hypothesis import given, strategies as st
from msgspec import Struct

from hub.core.context import Authority, Context
from hub.messaging.access.decide import MessagingSettings
from hub.messaging.contract import Address, InboundMessage
from hub.messaging.queue.queue import STEERING
from hub.messaging.queue.queue_policy import QueueMode
from hub.messaging.queue.waiting import (
    NextTurn,
    Timing,
    TurnRules,
    WaitingMessage,
    conversation_of,
    next_turn,
    set_due,
    steerable,
)
from tests.messaging.conftest import OPEN
from tests.messaging.post import Pigeons, Post
from tests.messaging.test_queue import asked, looking, waits
from tests.servers.openai_server import OpenAIServer
from tests.until import LIMIT_S

GAP_MS = 2_000
PEERS = ("7", "family")


class Arrival(Struct, frozen=True):
    """A message: who writes where, how long after the one before, and whether it gave way to others."""

    who: str
    peer: str
    after_s: float
    dropped: bool
    steered: bool


Arrivals = st.lists(
    st.builds(
        Arrival,
        who=st.sampled_from("789"),
        peer=st.sampled_from(PEERS),
        after_s=st.sampled_from([0.0, 0.5, 1.9, 2.1, 9.0]),
        dropped=st.sampled_from([False, False, False, True]),
        steered=st.booleans(),
    ),
    max_size=12,
)
Modes = st.fixed_dictionaries(dict.fromkeys(PEERS, st.sampled_from(QueueMode)))


def waiting_for(arrivals: list[Arrival], timing: Timing) -> tuple[list[WaitingMessage], float]:
    """Let messages arrive; return them, and when the last one did."""
    waiting: list[WaitingMessage] = []
    now = 100.0
    for number, each in enumerate(arrivals):
        now += each.after_s
        message = InboundMessage(Address("test", each.peer), f"m{number}", f"test:user:{each.who}", f"m{number}")
        context = Context(Authority(f"peer:{each.who}"))
        fresh = WaitingMessage(f"row{number}", f"run{number}", message, context, int(now * 1_000))
        fresh.dropped, fresh.steered = each.dropped, each.steered
        set_due(waiting, fresh, timing, now)
        waiting.append(fresh)
    return waiting, now


def turns_of(
    waiting: list[WaitingMessage], modes: dict[str, QueueMode], now: float
) -> list[tuple[NextTurn, list[WaitingMessage], float]]:
    """Answer until nothing is left to be answered; with each turn what had waited, and when it began."""
    turns = []
    left = list(waiting)
    for _ in range(200):
        found = next_turn(left, lambda message: TurnRules(modes[message.address.peer], GAP_MS), now)
        if found is None:
            now += 0.7
            continue
        turns.append((found, left, now))
        left = [each for each in left if each not in (*found.messages, *found.superseded)]
    return turns


@given(Arrivals, Modes, st.sampled_from([0, 1_000, 5_000]), st.sampled_from([0, 1_000]))
def test_whatever_arrives_is_answered_once_in_order_and_by_the_rules_of_its_mode(
    arrivals: list[Arrival], modes: dict[str, QueueMode], inbound_ms: int, busy_ms: int
) -> None:
    waiting, now = waiting_for(arrivals, Timing(inbound_ms, busy_ms))

    turns = turns_of(waiting, modes, now)

    order = {each.row_id: at for at, each in enumerate(waiting)}
    done = [each.row_id for turn, _, _ in turns for each in (*turn.messages, *turn.superseded)]
    assert len(done) == len(set(done))
    assert {each.row_id for each in waiting if not each.dropped} <= set(done)
    for turn, before, began in turns:
        kept = [each for each in turn.messages if not each.dropped]
        (place,) = {conversation_of(each.message.address) for each in (*turn.messages, *turn.superseded)}
        mode = modes[place[2]]
        here = [each for each in before if conversation_of(each.message.address) == place]
        assert kept
        assert all(each.due <= began for each in kept)
        assert [order[each.row_id] for each in kept] == sorted(order[each.row_id] for each in kept)
        if mode is QueueMode.COLLECT:
            assert list(turn.messages) == [each for each in here if each.dropped or each.due <= began]
        else:
            assert len({each.message.sender for each in kept}) == 1
        if mode is QueueMode.INTERRUPT:
            assert all(order[each.row_id] < order[kept[0].row_id] for each in turn.superseded if not each.dropped)
        else:
            assert turn.superseded == ()
            earlier = [each for each in here if not each.dropped and order[each.row_id] < order[kept[-1].row_id]]
            assert all(each in kept or each.due > began for each in earlier)


@given(Arrivals, st.integers(0, 11))
def test_only_words_of_the_same_conversation_and_rights_are_heard_by_a_turn_and_each_once(
    arrivals: list[Arrival], at: int
) -> None:
    waiting, _ = waiting_for(arrivals, Timing(0, 0))
    heard, _ = waiting_for([Arrival("8", PEERS[at % 2], 0.0, dropped=False, steered=False)], Timing(0, 0))

    found = steerable(waiting, heard[0])

    assert found == [
        each
        for each, came in zip(waiting, arrivals, strict=True)
        if (came.who, came.peer, came.dropped, came.steered) == ("8", PEERS[at % 2], False, False)
    ]


@pytest.mark.parametrize("same", [True, False], ids=["of the same sender", "of another"])
@pytest.mark.parametrize("mode", QueueMode)
async def test_a_message_that_comes_while_tools_are_called_does_what_its_mode_says(
    tmp_path: Path, openai_server: OpenAIServer, mode: QueueMode, same: bool
) -> None:
    steers, stops = mode in STEERING and same, mode is QueueMode.INTERRUPT
    post = Post(
        tmp_path / "home",
        openai_server.base_url,
        Pigeons(),
        settings=MessagingSettings(queue=waits(mode)),
        access=OPEN,
    )
    await post.open()
    begun, go_on = asyncio.Event(), asyncio.Event()
    called = looking(post, openai_server, begun, go_on)
    openai_server.queue("the second")
    await post.said("look around", group="family", mentioned=True)
    await begun.wait()

    await post.said("and this", who="7" if same else "9", group="family", mentioned=True)
    go_on.set()
    turns = 1 if stops or (steers and mode is QueueMode.STEER) else 2
    await post.until(lambda: len(post.pigeons.texts("family")) >= turns)
    await post.runs.drain(timeout_s=LIMIT_S)

    sent = [asked(openai_server, number) for number in range(len(openai_server.requests()))]
    assert len(post.pigeons.texts("family")) == turns
    assert len(called) == (1 if steers or stops else 3)
    assert sum("and this" in text for text in sent) == (2 if mode is QueueMode.STEER_BACKLOG and same else 1)
    assert await post.rows("SELECT DISTINCT state FROM inbox") == [("done",)]
    states = {"aborted", "answered"} if stops else {"answered"}
    assert {state for (state,) in await post.rows("SELECT state FROM runs")} == states
    await post.close()
