"""Signing in and out."""

from __future__ import annotations

import aiohttp

from hub.core.schema import Schema
from hub.core.surfaces import READ, Method, MethodCall
from tests.gateway.rig import Rig


async def _echo(call: MethodCall) -> str:
    return call.caller.credential_id


def _with_method(rig: Rig) -> None:
    rig.gateway.methods.add(Method("who", _echo, "test", Schema({}), scope=READ))


async def test_a_code_becomes_a_cookie_that_opens_the_hub_and_logout_ends_it(
    rig: Rig, http: aiohttp.ClientSession
) -> None:
    _with_method(rig)
    own = {"Origin": rig.url}
    code = await rig.codes.create()

    async with http.post(f"{rig.url}/api/login", json={"code": code}, headers=own) as answer:
        assert answer.status == 200
        set_cookie = answer.headers["Set-Cookie"]
    cookie = {"Cookie": set_cookie.partition(";")[0]} | own
    async with http.post(f"{rig.url}/api/rpc", json={"method": "who"}, headers=cookie) as answer:
        signed_in = await answer.json()
    async with http.post(f"{rig.url}/api/logout", json={}, headers=cookie) as answer:
        assert answer.status == 200
    async with http.post(f"{rig.url}/api/rpc", json={"method": "who"}, headers=cookie) as answer:
        after = answer.status

    assert "HttpOnly" in set_cookie
    assert "SameSite=Strict" in set_cookie
    assert signed_in["payload"].startswith("cookie:")
    assert after == 401


async def test_a_code_works_once(rig: Rig, http: aiohttp.ClientSession) -> None:
    code = await rig.codes.create()

    async with http.post(f"{rig.url}/api/login", json={"code": code}) as answer:
        first = answer.status
    async with http.post(f"{rig.url}/api/login", json={"code": code}) as answer:
        second = answer.status

    assert (first, second) == (200, 401)


async def test_guessing_codes_locks_the_client(rig: Rig, http: aiohttp.ClientSession) -> None:
    statuses = []
    for _ in range(12):
        async with http.post(f"{rig.url}/api/login", json={"code": "AAAAA-BBBBB"}) as answer:
            statuses.append(answer.status)

    assert statuses[:10] == [401] * 10
    assert statuses[10:] == [429] * 2


async def test_a_program_with_an_old_token_locks_nobody_out_of_signing_in(
    rig: Rig, http: aiohttp.ClientSession
) -> None:
    _with_method(rig)
    old = {"Authorization": "Bearer an-old-token"}
    for _ in range(12):
        async with http.post(f"{rig.url}/api/rpc", json={"method": "who"}, headers=old) as answer:
            last = answer.status
    async with http.post(f"{rig.url}/api/login", json={"code": await rig.codes.create()}) as answer:
        signed_in = answer.status

    assert (last, signed_in) == (429, 200)


async def test_a_cookie_does_nothing_for_another_site(rig: Rig, http: aiohttp.ClientSession) -> None:
    _with_method(rig)
    _, cookie = await rig.web_sessions.create("owner", ["operator.admin"])
    name = rig.gateway.authenticator.cookie_name
    held = {"Cookie": f"{name}={cookie.reveal()}"}

    async with http.post(f"{rig.url}/api/rpc", json={"method": "who"}, headers=held) as answer:
        without_origin = answer.status
    evil = held | {"Origin": "https://evil.example"}
    async with http.post(f"{rig.url}/api/rpc", json={"method": "who"}, headers=evil) as answer:
        foreign = answer.status

    assert without_origin == 403
    assert foreign == 403
