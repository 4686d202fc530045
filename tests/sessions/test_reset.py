"""When conversations are stale: rules over times, what can be configured, and the store that follows them."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from hub.core.clock import ManualClock
from hub.core.schema import SchemaError, describe_error
from hub.sessions.keys import cron_key, group_key, main_key
from hub.sessions.reset import ResetPolicy, ResetRules
from hub.sessions.schema import OPEN_TRANSCRIPTS, SESSION_SCHEMA
from hub.sessions.store import SessionStore

BERLIN = ZoneInfo("Europe/Berlin")
MAIN = main_key("main")
FAMILY = group_key("main", "telegram", "-100")
TOPIC = group_key("main", "telegram", "-100", thread="7")


def ms(text: str) -> int:
    """Return the moment of a local time in Berlin, or of one with an offset."""
    moment = datetime.fromisoformat(text)
    return int((moment if moment.tzinfo else moment.replace(tzinfo=BERLIN)).timestamp() * 1_000)


def rules(**section: Any) -> ResetRules:
    return ResetRules.from_config(SESSION_SCHEMA(section), BERLIN)


@pytest.mark.parametrize(
    ("policy", "last", "now", "stale"),
    [
        (ResetPolicy(), "2026-01-01T12:00", "2027-01-01T12:00", False),
        (ResetPolicy(at_hour=4), "2026-05-01T23:00", "2026-05-02T03:59", False),
        (ResetPolicy(at_hour=4), "2026-05-01T23:00", "2026-05-02T04:00", True),
        (ResetPolicy(at_hour=4), "2026-05-02T04:00", "2026-05-03T03:59", False),
        (ResetPolicy(at_hour=4), "2026-05-02T03:00", "2026-05-02T05:00", True),
        (ResetPolicy(at_hour=4), "2026-05-02T12:00", "2026-05-01T12:00", False),
        (ResetPolicy(idle_minutes=30), "2026-05-02T12:00", "2026-05-02T12:30", False),
        (ResetPolicy(idle_minutes=30), "2026-05-02T12:00", "2026-05-02T12:31", True),
        (ResetPolicy(at_hour=4, idle_minutes=30), "2026-05-02T12:00", "2026-05-02T12:31", True),
        (ResetPolicy(at_hour=4, idle_minutes=1_440), "2026-05-01T23:00", "2026-05-02T04:01", True),
        # The clocks skip the hour of two: it is the moment of the change.
        (ResetPolicy(at_hour=2), "2026-03-29T01:58", "2026-03-29T01:59", False),
        (ResetPolicy(at_hour=2), "2026-03-29T01:59", "2026-03-29T03:00", True),
        # They show it twice: the first one counts, and the second resets nothing.
        (ResetPolicy(at_hour=2), "2026-10-25T01:59", "2026-10-25T02:10+02:00", True),
        (ResetPolicy(at_hour=2), "2026-10-25T02:10+02:00", "2026-10-25T02:10+01:00", False),
        (ResetPolicy(at_hour=0), "2026-03-28T23:59", "2026-03-29T00:00", True),
    ],
)
def test_a_conversation_is_stale_by_hour_or_by_idling(policy: ResetPolicy, last: str, now: str, stale: bool) -> None:
    assert policy.is_stale(ms(last), ms(now), BERLIN) is stale


def test_the_channel_comes_before_the_type_and_the_type_before_the_rest() -> None:
    found = rules(
        reset={"mode": "daily"},
        reset_by_type={"group": {"mode": "idle", "idle_minutes": 60}, "thread": {"mode": "none"}},
        reset_by_channel={"discord": {"mode": "daily", "at_hour": 6, "idle_minutes": 10}},
    )

    assert found.of(MAIN, "telegram") == ResetPolicy(at_hour=4)
    assert found.of(FAMILY, "telegram") == ResetPolicy(idle_minutes=60)
    assert found.of(TOPIC, "telegram") == ResetPolicy()
    assert found.of(TOPIC, "discord") == found.of(MAIN, "discord") == ResetPolicy(6, 10)
    assert found.of(cron_key("main", "brief"), "discord") == ResetPolicy()


@pytest.mark.parametrize(
    ("section", "said"),
    [
        ({"reset": {"mode": "idle"}}, "idle_minutes"),
        ({"reset": {"idle_minutes": 5}}, "mode: idle"),
        ({"reset": {"mode": "idle", "idle_minutes": 5, "at_hour": 3}}, "mode: daily"),
        ({"reset": {"mode": "daily", "at_hour": 24}}, "at_hour"),
        ({"reset": {"mode": "weekly"}}, "mode"),
        ({"reset": {"mode": "idle", "idle_minutes": 0}}, "idle_minutes"),
        ({"reset_by_type": {"room": {}}}, "room"),
        ({"reset_by_channel": {"telegram": "daily"}}, "telegram"),
        ({"reset_triggers": [""]}, "reset_triggers"),
    ],
)
def test_a_policy_that_cannot_be_is_refused_by_name(section: dict[str, Any], said: str) -> None:
    with pytest.raises(SchemaError) as refused:
        SESSION_SCHEMA(section)

    assert said in f"{refused.value.path} {describe_error(refused.value)}"


@pytest.fixture
async def clock() -> ManualClock:
    return ManualClock(ms("2026-05-01T22:00") / 1_000)


@pytest.fixture
async def store(store: SessionStore) -> SessionStore:
    store.configure(open_transcripts=OPEN_TRANSCRIPTS, reset=rules(reset={"mode": "daily"}))
    await store.open()
    return store


async def test_a_message_after_the_hour_begins_a_new_transcript_once(store: SessionStore, clock: ManualClock) -> None:
    await store.ensure(MAIN)
    first = await store.hear(MAIN)
    clock.jump(5 * 3_600)
    before_four = await store.hear(MAIN)
    clock.jump(3_600)
    after_four = await store.hear(MAIN)
    clock.jump(3_600)
    later = await store.hear(MAIN)

    assert before_four.session_id == first.session_id
    assert after_four.session_id != first.session_id
    assert later.session_id == after_four.session_id


async def test_what_the_hub_does_by_itself_keeps_no_conversation_fresh(store: SessionStore, clock: ManualClock) -> None:
    await store.ensure(MAIN)
    first = await store.hear(MAIN)
    clock.jump(12 * 3_600)
    store.touch(MAIN)

    assert (await store.hear(MAIN)).session_id != first.session_id


async def test_a_conversation_that_was_begun_by_hand_is_fresh(store: SessionStore, clock: ManualClock) -> None:
    await store.ensure(MAIN)
    await store.hear(MAIN)
    clock.jump(12 * 3_600)
    begun = await store.reset(MAIN)

    assert (await store.hear(MAIN)).session_id == begun.session_id
