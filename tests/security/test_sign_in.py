"""Login codes and dashboard sessions: a code opens one session, once, within ten minutes."""

from __future__ import annotations

import asyncio

import pytest

from hub.core.clock import ManualClock
from hub.core.context import Authority
from hub.core.errors import Forbidden, HubError, InvalidRequest
from hub.security.login_codes import ALPHABET, PENDING_LIMIT, LoginCodes
from hub.security.web_sessions import SESSION_LIMIT, WebSessions
from hub.storage.database import Database


@pytest.fixture
async def codes(database: Database, clock: ManualClock) -> LoginCodes:
    store = LoginCodes(database, clock)
    await store.open()
    return store


@pytest.fixture
async def sessions(database: Database, clock: ManualClock) -> WebSessions:
    store = WebSessions(database, clock)
    await store.open()
    return store


async def test_a_code_is_good_once(codes: LoginCodes) -> None:
    code = await codes.create()

    assert await codes.redeem(code) == frozenset({"operator.admin"})
    assert await codes.redeem(code) is None


async def test_of_many_who_come_at_once_one_gets_in(codes: LoginCodes) -> None:
    code = await codes.create()

    outcomes = await asyncio.gather(*(codes.redeem(code) for _ in range(20)))

    assert [outcome for outcome in outcomes if outcome is not None] == [{"operator.admin"}]


async def test_a_code_can_be_typed_as_people_type(codes: LoginCodes) -> None:
    code = await codes.create()

    assert await codes.redeem(f" {code.lower().replace('-', ' ')}\n") is not None


async def test_a_code_has_no_symbols_that_look_alike(codes: LoginCodes) -> None:
    code = await codes.create()

    assert len(code) == 11
    assert set(code.replace("-", "")) <= set(ALPHABET)
    assert not set("01OI") & set(ALPHABET)


async def test_a_code_ends_after_ten_minutes(codes: LoginCodes, clock: ManualClock) -> None:
    early, late = await codes.create(), await codes.create()

    await clock.advance(599)
    assert await codes.redeem(early) is not None
    await clock.advance(1)

    assert await codes.redeem(late) is None


async def test_a_clock_set_back_does_not_prolong_a_code(codes: LoginCodes, clock: ManualClock) -> None:
    code = await codes.create()

    clock.jump(-3600)
    await clock.advance(600)

    assert await codes.redeem(code) is None


async def test_a_code_outlives_a_restart_and_a_used_one_does_not(
    codes: LoginCodes, database: Database, clock: ManualClock
) -> None:
    used, unused = await codes.create(), await codes.create()
    await codes.redeem(used)
    again = LoginCodes(database, clock)
    await again.open()

    assert await again.redeem(used) is None
    assert await again.redeem(unused) is not None


@pytest.mark.parametrize("wrong", ["", "-", "AAAAA-AAAAA", "x" * 10_000, "\ud800", "*"])
async def test_a_wrong_code_is_nothing(codes: LoginCodes, wrong: str) -> None:
    await codes.create()

    assert await codes.redeem(wrong) is None


async def test_only_so_many_codes_wait(codes: LoginCodes, database: Database) -> None:
    made = [await codes.create() for _ in range(PENDING_LIMIT + 3)]

    stored = await database.read(lambda c: c.execute("SELECT COUNT(*) FROM login_codes").fetchone()[0])

    assert stored == PENDING_LIMIT
    assert await codes.redeem(made[0]) is None
    assert await codes.redeem(made[-1]) is not None


async def test_a_code_grants_no_more_than_its_maker_has(codes: LoginCodes) -> None:
    maker = Authority("token:1", scopes=frozenset({"operator.read"}))

    with pytest.raises(Forbidden):
        await codes.create(by=maker)

    assert await codes.redeem(await codes.create(["operator.read"], by=maker)) == frozenset({"operator.read"})


async def test_a_code_stays_used_when_that_could_not_be_written(codes: LoginCodes, database: Database) -> None:
    code = await codes.create()
    await database.close()

    with pytest.raises(HubError):
        await codes.redeem(code)

    assert await codes.redeem(code) is None


async def test_a_session_is_known_by_its_cookie_also_after_a_restart(
    sessions: WebSessions, database: Database, clock: ManualClock
) -> None:
    session, plain = await sessions.create("owner", ["operator.admin"])
    again = WebSessions(database, clock)
    await again.open()

    found = again.verify(plain.reveal())

    assert sessions.verify(plain.reveal()) is not None
    assert found is not None
    assert (found.id, found.principal, found.scopes) == (session.id, "owner", frozenset({"operator.admin"}))


@pytest.mark.parametrize("wrong", ["", "homweb_", "homweb_" + "A" * 43, "x" * 10_000, "homweb_\ud800"])
async def test_any_other_cookie_is_nobody(sessions: WebSessions, wrong: str) -> None:
    await sessions.create("owner", ["operator.admin"])

    assert sessions.verify(wrong) is None


async def test_a_token_is_no_cookie(sessions: WebSessions) -> None:
    _, plain = await sessions.create("owner", ["operator.admin"])

    assert sessions.verify(plain.reveal().replace("homweb_", "homtok_")) is None


async def test_signing_out_is_told_at_once_and_lasts(
    sessions: WebSessions, database: Database, clock: ManualClock
) -> None:
    session, plain = await sessions.create("owner", ["operator.admin"])
    told: list[tuple[str, bool]] = []
    sessions.on_revoke(lambda credential: told.append((credential, sessions.is_valid(session.id))))

    assert await sessions.revoke(session.id) is True

    again = WebSessions(database, clock)
    await again.open()
    assert told == [(f"cookie:{session.id}", False)]
    assert sessions.verify(plain.reveal()) is None
    assert again.verify(plain.reveal()) is None
    assert await sessions.revoke(session.id) is False


async def test_a_session_ends_and_is_swept(sessions: WebSessions, database: Database, clock: ManualClock) -> None:
    session, plain = await sessions.create("owner", ["operator.admin"], expires_s=100)
    await clock.advance(100)
    again = WebSessions(database, clock)

    assert sessions.verify(plain.reveal()) is None
    assert not sessions.is_valid(session.id)
    await again.open()
    await database.write(lambda _c: None)
    assert await database.read(lambda c: c.execute("SELECT COUNT(*) FROM web_sessions").fetchone()[0]) == 0


@pytest.mark.parametrize("expires_s", [0, -1, float("nan"), 400 * 86_400])
async def test_a_session_that_never_ends_is_not_made(sessions: WebSessions, expires_s: float) -> None:
    with pytest.raises(InvalidRequest):
        await sessions.create("owner", ["operator.admin"], expires_s)


async def test_beyond_the_bound_the_one_longest_unused_is_signed_out(sessions: WebSessions, clock: ManualClock) -> None:
    first = (await sessions.create("owner", ["operator.admin"]))[1]
    second = (await sessions.create("owner", ["operator.admin"]))[1]
    await clock.advance(120)
    sessions.verify(first.reveal())
    for _ in range(SESSION_LIMIT - 1):
        await sessions.create("owner", ["operator.admin"])

    assert sessions.verify(first.reveal()) is not None
    assert sessions.verify(second.reveal()) is None
    assert len(sessions.list()) == SESSION_LIMIT
