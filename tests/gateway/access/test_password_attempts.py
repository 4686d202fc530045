"""Guesses at the password from many addresses, at every door that takes one."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from pathlib import Path

import aiohttp
import pytest

import hub.gateway
from hub.core.clock import Clock, ManualClock
from hub.core.secret import Secret
from hub.gateway.calls.settings import AuthMode, HttpSettings
from hub.security.rate_limit import ALL_ATTEMPTS, SITE_ATTEMPTS, PasswordLimiter, TooManyAttempts
from tests.gateway.rig import Rig, client_of, running

PASSWORD = "the password of this test"
WRONG = "another password than that"

LIMITED = {"LIMIT_EXCEEDED", "AUTH_RATE_LIMITED"}

Door = Callable[[Rig, str, str], Awaitable[str]]
"""Tries a password from an address; returns the code of the error, or nothing."""


def from_address(address: str) -> dict[str, str]:
    return {"X-Forwarded-For": address}


async def posted(rig: Rig, path: str, body: Mapping[str, object], headers: Mapping[str, str]) -> str:
    async with (
        aiohttp.ClientSession() as session,
        session.post(f"{rig.url}{path}", json=body, headers=headers) as answer,
    ):
        return "" if answer.status == 200 else str((await answer.json())["error"]["code"])


async def bearer(rig: Rig, address: str, password: str) -> str:
    headers = {**from_address(address), "Authorization": f"Bearer {password}"}
    code = await posted(rig, "/api/rpc", {"method": "none"}, headers)
    return code if code in {"UNAUTHORIZED", *LIMITED} else ""


async def sign_in(rig: Rig, address: str, password: str) -> str:
    return await posted(rig, "/api/login", {"password": password}, from_address(address))


async def websocket(rig: Rig, address: str, auth: Mapping[str, str], headers: Mapping[str, str]) -> str:
    async with client_of(rig, headers={**from_address(address), **headers}) as client:
        answer = await client.connect(auth=dict(auth), scopes=[])
        return "" if answer["ok"] else str(answer["error"]["details"].get("code", answer["error"]["code"]))


async def websocket_password(rig: Rig, address: str, password: str) -> str:
    return await websocket(rig, address, {"password": password}, {})


async def websocket_token(rig: Rig, address: str, password: str) -> str:
    return await websocket(rig, address, {"token": password}, {})


async def websocket_header(rig: Rig, address: str, password: str) -> str:
    return await websocket(rig, address, {}, {"Authorization": f"Bearer {password}"})


DOORS: Mapping[str, tuple[Door, ...]] = {
    "access/auth.py": (bearer,),
    "http_api/sign_in.py": (sign_in,),
    "connection/handshake.py": (websocket_password, websocket_token, websocket_header),
}
"""Where a secret that may be the password is judged, and the doors that lead there."""
LIMITED = {"LIMIT_EXCEEDED", "AUTH_RATE_LIMITED"}
EACH = pytest.mark.parametrize(
    "door", [door for doors in DOORS.values() for door in doors], ids=lambda each: each.__name__
)


def still() -> ManualClock:
    """Return a clock that stands still, so that however slowly they come, the guesses come within one window."""
    return ManualClock(Clock().time())


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    settings = HttpSettings.from_config(
        {"port": 0, "auth": {"mode": "password", "password": PASSWORD}, "trusted_proxies": ["127.0.0.1"]}, tmp_path
    )
    async with running(tmp_path, settings, clock=still()) as made:
        yield made


def test_every_place_that_judges_a_password_is_in_the_registry() -> None:
    folder = Path(hub.gateway.__file__).parent
    judging = re.compile(r"\.(?:check_secret|check_password)\(")

    found = {str(file.relative_to(folder)) for file in folder.rglob("*.py") if judging.search(file.read_text("utf-8"))}

    assert found == set(DOORS)


@EACH
async def test_a_network_of_many_addresses_is_locked_as_one(rig: Rig, door: Door) -> None:
    codes = [await door(rig, f"2001:db8:7:{n:x}::1", WRONG) for n in range(SITE_ATTEMPTS + 1)]

    assert LIMITED.isdisjoint(codes[:-1])
    assert codes[-1] in LIMITED
    assert await door(rig, "2001:db8:7:ffff::1", PASSWORD) in LIMITED
    assert await door(rig, "2001:db8:8::1", PASSWORD) == ""


@EACH
async def test_guesses_from_everywhere_are_bounded_and_lock_nobody_out_who_signed_in(rig: Rig, door: Door) -> None:
    assert await door(rig, "203.0.113.7", PASSWORD) == ""
    codes = [await door(rig, f"2001:db8:{n:x}::1", WRONG) for n in range(ALL_ATTEMPTS + 1)]

    assert LIMITED.isdisjoint(codes[:-1])
    assert codes[-1] in LIMITED
    assert await door(rig, "198.51.100.1", PASSWORD) in LIMITED
    assert await door(rig, "203.0.113.7", PASSWORD) == ""
    async with aiohttp.ClientSession() as session, session.post(f"{rig.url}/api/rpc", json={"method": "x"}) as answer:
        assert answer.status == 401


async def test_the_owner_on_the_hubs_machine_is_never_locked_out(tmp_path: Path) -> None:
    settings = HttpSettings(port=0, mode=AuthMode.PASSWORD, password=Secret(PASSWORD), socket_path=tmp_path / "s")
    async with running(tmp_path, settings, clock=still()) as rig:
        for n in range(ALL_ATTEMPTS + 1):
            await sign_in(rig, f"2001:db8:{n:x}::1", WRONG)
        connector = aiohttp.UnixConnector(str(tmp_path / "s"))
        async with aiohttp.ClientSession(connector=connector) as session:
            url = "http://localhost/api/rpc"
            async with session.post(url, json={"method": "none"}) as answer:
                by_socket = answer.status
        token = await posted(rig, "/api/rpc", {"method": "none"}, rig.bearer)

    assert by_socket != 401
    assert token not in LIMITED


def test_right_passwords_are_not_counted() -> None:
    limiter = PasswordLimiter(ManualClock(), site_attempts=2, all_attempts=2)

    for n in range(10):
        limiter.reserve(f"203.0.113.{n}")
        limiter.succeed(f"203.0.113.{n}")
    for n in range(2):
        limiter.reserve(f"198.51.100.{n}")

    with pytest.raises(TooManyAttempts, match="homarus dashboard"):
        limiter.reserve("198.51.100.9")
