"""Who is dead, as one worker sees it: numbers in, names out."""

from __future__ import annotations

from msgspec.structs import replace

from hub.cluster.lease import LEASE_S
from hub.cluster.membership import GAP_S, LOOK_EVERY_S, Watch
from hub.storage.postgresql.workers import Worker

ELM = Worker("1", 1, "elm", "http://elm", "1", 0.0, 10, beats=7, behind_s=0.0, is_here=True, is_locked=True)


def looks(watch: Watch, worker: Worker, begin: float, end: float) -> list[str]:
    """Look every half second; return who was found dead on the way."""
    found: list[str] = []
    at = begin
    while at < end:
        found += [each.name for each in watch.dead([worker], at)]
        at += LOOK_EVERY_S
    return found


def test_who_is_silent_for_a_whole_lease_under_our_eyes_is_dead_and_not_before() -> None:
    watch = Watch()

    assert looks(watch, ELM, 100.0, 100.0 + LEASE_S) == []
    assert [each.name for each in watch.dead([ELM], 100.0 + LEASE_S)] == ["elm"]


def test_a_heartbeat_begins_the_wait_again() -> None:
    watch = Watch()
    looks(watch, ELM, 100.0, 105.0)

    assert looks(watch, replace(ELM, beats=8), 105.0, 105.0 + LEASE_S) == []


def test_what_the_database_says_about_the_time_does_not_matter() -> None:
    watch = Watch()

    assert looks(watch, replace(ELM, behind_s=3_600.0), 100.0, 105.0) == []


def test_a_connection_that_is_missing_twice_is_dead_at_once() -> None:
    watch = Watch()
    looks(watch, ELM, 100.0, 101.0)

    assert looks(watch, replace(ELM, is_locked=False), 101.0, 101.5) == []
    assert looks(watch, replace(ELM, is_locked=False), 101.5, 102.0) == ["elm"]


def test_a_connection_that_came_back_in_between_is_not() -> None:
    watch = Watch()

    assert looks(watch, replace(ELM, is_locked=False), 100.0, 100.5) == []
    assert looks(watch, ELM, 100.5, 101.0) == []
    assert looks(watch, replace(ELM, is_locked=False), 101.0, 101.5) == []


def test_after_a_failover_a_missing_connection_says_nothing_and_silence_does() -> None:
    watch = Watch()
    elsewhere = replace(ELM, is_here=False, is_locked=False)

    assert looks(watch, elsewhere, 100.0, 100.0 + LEASE_S) == []
    assert looks(watch, elsewhere, 100.0 + LEASE_S, 100.5 + LEASE_S) == ["elm"]


def test_who_could_not_look_itself_knows_nothing_of_the_silence_of_others() -> None:
    watch = Watch()
    looks(watch, ELM, 100.0, 101.0)
    later = 101.0 + GAP_S + 30.0

    assert looks(watch, ELM, later, later + LEASE_S) == []
    assert looks(watch, ELM, later + LEASE_S, later + LEASE_S + 0.5) == ["elm"]
