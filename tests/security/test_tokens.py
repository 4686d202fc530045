"""Scoped tokens: shown once, stored as digests, ended by time or by revocation, at once."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from hub.core.clock import ManualClock
from hub.core.context import Authority
from hub.core.errors import Forbidden, HubError, InvalidRequest, LimitExceeded, NotFound
from hub.security.tokens import TOKEN_LIMIT, TokenStore
from hub.storage.database import Database
from tests.databases import make_database


@pytest.fixture
async def tokens(database: Database, clock: ManualClock) -> TokenStore:
    store = TokenStore(database, clock)
    await store.open()
    return store


async def reopened(database: Database, clock: ManualClock) -> TokenStore:
    store = TokenStore(database, clock)
    await store.open()
    return store


async def test_a_token_is_known_by_its_secret(tokens: TokenStore) -> None:
    token, plain = await tokens.create("laptop", ["operator.read"])

    found = tokens.verify(plain.reveal())

    assert found is not None
    assert (found.id, found.name, found.scopes) == (token.id, "laptop", frozenset({"operator.read"}))
    assert found.credential_id == f"token:{token.id}"


async def test_the_secret_is_nowhere_on_the_disk(tokens: TokenStore, database: Database, tmp_path: Path) -> None:
    _, plain = await tokens.create("laptop", ["operator.read"])

    await database.close()

    assert len(plain.reveal()) >= 43
    assert plain.reveal().encode() not in (tmp_path / "hub.db").read_bytes()
    assert plain.reveal() not in repr(plain)


@pytest.mark.parametrize("wrong", ["", "homtok_", "homtok_" + "A" * 43, "\x00", "homtok_\ud800", "x" * 10_000])
async def test_anything_else_is_nobody(tokens: TokenStore, wrong: str) -> None:
    await tokens.create("laptop", ["operator.read"])

    assert tokens.verify(wrong) is None


async def test_every_changed_symbol_makes_it_wrong(tokens: TokenStore) -> None:
    _, plain = await tokens.create("laptop", ["operator.read"])
    value = plain.reveal()

    for place in range(len(value)):
        changed = "A" if value[place] != "A" else "B"
        assert tokens.verify(value[:place] + changed + value[place + 1 :]) is None
    assert tokens.verify(value + "A") is None
    assert tokens.verify(value[:-1]) is None


async def test_it_is_known_after_a_restart(tokens: TokenStore, database: Database, clock: ManualClock) -> None:
    token, plain = await tokens.create("laptop", ["operator.read", "operator.write"])

    again = await reopened(database, clock)

    found = again.verify(plain.reveal())
    assert found is not None
    assert found.scopes == token.scopes


async def test_a_revoked_token_is_nobody_at_once_and_after_a_restart(
    tokens: TokenStore, database: Database, clock: ManualClock
) -> None:
    token, plain = await tokens.create("laptop", ["operator.read"])
    told: list[tuple[str, bool]] = []
    tokens.on_revoke(lambda credential: told.append((credential, tokens.is_valid(token.id))))

    await tokens.revoke(token.id)

    assert told == [(f"token:{token.id}", False)]
    assert tokens.verify(plain.reveal()) is None
    assert (await reopened(database, clock)).verify(plain.reveal()) is None
    assert tokens.list()[0].revoked_ms is not None


async def test_listeners_are_told_before_the_disk_has_it(tokens: TokenStore, database: Database) -> None:
    token, plain = await tokens.create("laptop", ["operator.read"])
    told: list[str] = []
    tokens.on_revoke(told.append)
    await database.close()

    with pytest.raises(HubError):
        await tokens.revoke(token.id)

    assert told == [f"token:{token.id}"]
    assert tokens.verify(plain.reveal()) is None


async def test_a_listener_that_fails_keeps_no_other_from_being_told(tokens: TokenStore) -> None:
    token, _ = await tokens.create("laptop", ["operator.read"])
    told: list[str] = []

    def fails(_credential: str) -> None:
        raise LookupError("on purpose")

    tokens.on_revoke(fails)
    unsubscribe = tokens.on_revoke(told.append)
    tokens.on_revoke(told.append)
    unsubscribe()

    await tokens.revoke(token.id)

    assert told == [f"token:{token.id}"]


async def test_revoking_twice_tells_once(tokens: TokenStore) -> None:
    token, _ = await tokens.create("laptop", ["operator.read"])
    told: list[str] = []
    tokens.on_revoke(told.append)

    await tokens.revoke(token.id)
    await tokens.revoke(token.id)

    assert len(told) == 1


async def test_what_is_not_there_cannot_be_revoked(tokens: TokenStore) -> None:
    with pytest.raises(NotFound):
        await tokens.revoke("nothing")


async def test_a_rotated_token_has_a_new_secret_and_the_old_one_is_told_off(
    tokens: TokenStore, database: Database, clock: ManualClock
) -> None:
    token, old = await tokens.create("laptop", ["operator.read"])
    told: list[str] = []
    tokens.on_revoke(told.append)

    rotated, new = await tokens.rotate(token.id)

    assert told == [f"token:{token.id}"]
    assert rotated.generation == 2
    assert tokens.verify(old.reveal()) is None
    assert tokens.verify(new.reveal()) is not None
    again = await reopened(database, clock)
    assert again.verify(old.reveal()) is None
    assert again.verify(new.reveal()) is not None


async def test_a_revoked_token_cannot_be_rotated_back_to_life(tokens: TokenStore) -> None:
    token, _ = await tokens.create("laptop", ["operator.read"])
    await tokens.revoke(token.id)

    with pytest.raises(NotFound):
        await tokens.rotate(token.id)


async def test_a_token_ends_when_it_says(tokens: TokenStore, clock: ManualClock) -> None:
    _, plain = await tokens.create("guest", ["operator.read"], expires_s=60)

    await clock.advance(59)
    before = tokens.verify(plain.reveal())
    await clock.advance(1)

    assert before is not None
    assert tokens.verify(plain.reveal()) is None
    assert not tokens.is_valid(before.id)


async def test_a_clock_set_back_does_not_prolong_it(tokens: TokenStore, clock: ManualClock) -> None:
    _, plain = await tokens.create("guest", ["operator.read"], expires_s=60)

    clock.jump(-86_400)
    await clock.advance(60)

    assert tokens.verify(plain.reveal()) is None


async def test_a_clock_set_forward_ends_it(tokens: TokenStore, clock: ManualClock) -> None:
    _, plain = await tokens.create("guest", ["operator.read"], expires_s=60)

    clock.jump(61)

    assert tokens.verify(plain.reveal()) is None


async def test_an_ended_token_stays_ended_after_a_restart(
    tokens: TokenStore, database: Database, clock: ManualClock
) -> None:
    _, plain = await tokens.create("guest", ["operator.read"], expires_s=60)
    await clock.advance(100)

    assert (await reopened(database, clock)).verify(plain.reveal()) is None


async def test_nobody_gives_what_he_does_not_have(tokens: TokenStore) -> None:
    maker = Authority("token:1", scopes=frozenset({"operator.read"}))

    with pytest.raises(Forbidden, match=r"operator\.admin"):
        await tokens.create("more", ["operator.read", "operator.admin"], by=maker)

    token, _ = await tokens.create("same", ["operator.read"], by=maker)
    assert token.scopes == {"operator.read"}


@pytest.mark.parametrize(
    ("name", "scopes", "expires_s"),
    [
        ("", ["operator.read"], None),
        ("  ", ["operator.read"], None),
        ("x" * 101, ["operator.read"], None),
        ("a\nb", ["operator.read"], None),
        ("ok", [], None),
        ("ok", ["operator.everything"], None),
        ("ok", ["operator.read", ""], None),
        ("ok", ["operator.read"], 0),
        ("ok", ["operator.read"], -5),
        ("ok", ["operator.read"], float("nan")),
        ("ok", ["operator.read"], float("inf")),
    ],
)
async def test_a_token_that_makes_no_sense_is_not_made(
    tokens: TokenStore, name: str, scopes: list[str], expires_s: float | None
) -> None:
    with pytest.raises(InvalidRequest):
        await tokens.create(name, scopes, expires_s)

    assert tokens.list() == []


async def test_a_scope_this_version_does_not_know_grants_nothing(
    tokens: TokenStore, database: Database, clock: ManualClock
) -> None:
    _, plain = await tokens.create("laptop", ["operator.read"])
    await database.write(lambda c: c.execute("UPDATE tokens SET scopes = 'operator.future operator.read'").rowcount)

    found = (await reopened(database, clock)).verify(plain.reveal())

    assert found is not None
    assert found.scopes == {"operator.read"}


async def test_use_is_noted_to_the_minute(tokens: TokenStore, database: Database, clock: ManualClock) -> None:
    token, plain = await tokens.create("laptop", ["operator.read"])

    for _ in range(50):
        tokens.verify(plain.reveal())
        await clock.advance(1)

    assert tokens.list()[0].last_used_ms == int(clock.time() * 1000) - 50_000
    again = await reopened(database, clock)
    assert again.list()[0].id == token.id
    await database.write(lambda _c: None)
    assert (await reopened(database, clock)).list()[0].last_used_ms is not None


async def test_there_is_a_bound_on_tokens(tokens: TokenStore) -> None:
    for number in range(TOKEN_LIMIT):
        await tokens.create(f"t{number}", ["operator.read"])

    with pytest.raises(LimitExceeded):
        await tokens.create("one more", ["operator.read"])

    await tokens.revoke(tokens.list()[0].id)
    await tokens.create("one more", ["operator.read"])


async def test_a_database_of_another_home_knows_no_token_of_ours(
    tokens: TokenStore, clock: ManualClock, tmp_path: Path
) -> None:
    _, plain = await tokens.create("laptop", ["operator.read"])
    other = make_database(tmp_path / "other.db")
    await other.open()

    found = (await reopened(other, clock)).verify(plain.reveal())
    await other.close()

    assert found is None


async def test_a_token_revoked_while_it_gets_a_new_secret_stays_revoked(tokens: TokenStore) -> None:
    token, _ = await tokens.create("laptop", ["operator.read"])

    rotated, revoked = await asyncio.gather(tokens.rotate(token.id), tokens.revoke(token.id), return_exceptions=True)

    assert isinstance(rotated, NotFound)
    assert not isinstance(revoked, BaseException)
    assert not tokens.is_valid(token.id)
    assert [each.revoked_ms is None for each in tokens.list()] == [False]
