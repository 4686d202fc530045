"""Credentials bound each other: what several allow together, and what ends when one of them ends."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from hub.core.clock import Clock, ManualClock
from hub.core.context import Authority
from hub.core.schema import Schema
from hub.core.surfaces import ADMIN, READ, Method, MethodCall
from hub.gateway.methods.devices import DeviceMethods
from hub.gateway.methods.tokens import TokenMethods
from tests.gateway.rig import Client, Device, Rig, client_of, connected, running

OWNER = Authority("owner", scopes=frozenset({"operator.admin"}), owner=True)
LIFE_S = 60.0


async def _ok(call: MethodCall) -> bool:
    return True


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    """A gateway whose time passes only when a test lets it."""
    async with running(tmp_path, clock=ManualClock(Clock().time())) as rig:  # devices sign the time of the day
        yield rig


@pytest.fixture(autouse=True)
def methods(rig: Rig) -> None:
    authenticator = rig.gateway.authenticator
    for method in (
        Method("read", _ok, "test", Schema({}), READ, quick=True),
        Method("admin", _ok, "test", Schema({}), ADMIN),
        *TokenMethods(rig.tokens, authenticator, rig.clock.time).methods(),
        *DeviceMethods(rig.devices, authenticator).methods(),
    ):
        rig.gateway.methods.add(method)


async def token(rig: Rig, *scopes: str, expires_s: float | None = None) -> tuple[str, str]:
    made, secret = await rig.tokens.create("program", scopes, expires_s)
    return made.id, secret.reveal()


async def admit(rig: Rig, device: Device, *scopes: str) -> None:
    await rig.devices.admit(device.id, device.public_key, "operator", scopes, {}, owner="owner")


async def call(rig: Rig, secret: str, method: str, params: Any = None) -> tuple[int, Any]:
    headers = {"Authorization": f"Bearer {secret}"}
    async with (
        aiohttp.ClientSession(headers=headers) as session,
        session.post(f"{rig.url}/api/rpc", json={"method": method, "params": params}) as answer,
    ):
        body = await answer.json()
        return answer.status, body.get("payload", body)


async def closed(client: Client) -> bool:
    while (await client.ws.receive(30)).type is aiohttp.WSMsgType.TEXT:
        continue
    return True


async def test_a_token_beside_a_device_allows_no_more_than_both(rig: Rig) -> None:
    device = Device()
    await admit(rig, device, "operator.admin")
    _, secret = await token(rig, "operator.read")

    async with client_of(rig) as client:
        hello = (await client.connect(device, token=secret, scopes=["operator.admin"]))["payload"]
        read, admin = await client.call("read"), await client.call("admin")

    assert hello["auth"] == {"method": "token", "role": "operator", "scopes": ["operator.read"]}
    assert read["ok"]
    assert admin["error"]["code"] == "FORBIDDEN"


async def test_a_device_gets_its_own_token_beside_one_that_may_do_as_much(rig: Rig) -> None:
    device = Device()
    await admit(rig, device, "operator.read")
    _, secret = await token(rig, "operator.write")

    async with client_of(rig) as client:
        hello = (await client.connect(device, token=secret, scopes=["operator.read"]))["payload"]

    assert hello["auth"]["deviceToken"]


@asynccontextmanager
async def open_by_token(rig: Rig, secret: str) -> AsyncIterator[Client]:
    async with connected(rig, token=secret, scopes=["operator.read"]) as client:
        yield client


@asynccontextmanager
async def open_beside_a_device(rig: Rig, secret: str) -> AsyncIterator[Client]:
    device = Device()
    await admit(rig, device, "operator.read")
    async with client_of(rig) as client:
        assert (await client.connect(device, token=secret, scopes=["operator.read"]))["ok"]
        yield client


@asynccontextmanager
async def open_by_a_token_made_with_it(rig: Rig, secret: str) -> AsyncIterator[Client]:
    _, made = await call(rig, secret, "token.create", {"name": "child", "scopes": ["operator.read"]})
    async with connected(rig, token=made["token"], scopes=["operator.read"]) as client:
        yield client


@asynccontextmanager
async def open_by_a_device_let_in_with_it(rig: Rig, secret: str) -> AsyncIterator[Client]:
    device = Device()
    request = await rig.devices.ask(device.id, device.public_key, "operator", ["operator.read"], {}, "127.0.0.1")
    await call(rig, secret, "device.pair.approve", {"requestId": request.id})
    grant = rig.devices.grant(device.id, "operator")
    assert grant is not None
    async with client_of(rig) as client:
        auth = {"deviceToken": rig.devices.token(grant)}
        assert (await client.connect(device, auth=auth, scopes=["operator.read"]))["ok"]
        yield client


WAYS = (open_by_token, open_beside_a_device, open_by_a_token_made_with_it, open_by_a_device_let_in_with_it)


async def revoke(rig: Rig, id: str) -> None:
    await rig.tokens.revoke(id)


async def rotate(rig: Rig, id: str) -> None:
    await rig.tokens.rotate(id)


async def expire(rig: Rig, id: str) -> None:
    assert isinstance(rig.clock, ManualClock)
    await rig.clock.advance(LIFE_S)
    assert not rig.tokens.is_valid(id)


@pytest.mark.parametrize("end", [revoke, rotate, expire])
@pytest.mark.parametrize("way", WAYS)
async def test_every_connection_ends_with_a_token_it_came_from(
    rig: Rig, way: Callable[..., Any], end: Callable[[Rig, str], Awaitable[None]]
) -> None:
    expires_s = LIFE_S if end is expire else None
    id, secret = await token(rig, "operator.admin", expires_s=expires_s)

    async with way(rig, secret) as client:
        await end(rig, id)

        assert await closed(client)


@pytest.mark.parametrize("end", [revoke, rotate, expire])
async def test_what_was_made_with_a_token_ends_with_it(rig: Rig, end: Callable[[Rig, str], Awaitable[None]]) -> None:
    id, secret = await token(rig, "operator.admin", expires_s=LIFE_S if end is expire else None)
    _, child = await call(rig, secret, "token.create", {"name": "child", "scopes": ["operator.admin"]})
    _, grandchild = await call(rig, child["token"], "token.create", {"name": "grandchild", "scopes": [READ]})
    before = await call(rig, rig.token, "token.list")

    await end(rig, id)
    statuses = [(await call(rig, each["token"], "read"))[0] for each in (child, grandchild)]
    await rig.tokens.open()  # as after a restart
    statuses += [(await call(rig, each["token"], "read"))[0] for each in (child, grandchild)]
    after = await call(rig, rig.token, "token.list")

    assert statuses == [401] * 4
    assert [each["ended"] for each in before[1]["tokens"]] == [False] * 3
    assert {each["id"] for each in after[1]["tokens"] if each["ended"]} >= {child["id"], grandchild["id"]}


async def test_a_device_ends_with_the_token_that_let_it_in(rig: Rig) -> None:
    id, secret = await token(rig, "operator.pairing", "operator.read")
    async with open_by_a_device_let_in_with_it(rig, secret) as client:
        [grant] = rig.devices.grants()
        plain = rig.devices.token(grant)
        assert (await client.call("read"))["ok"]
    good = (await call(rig, plain, "read"))[0]

    await rig.tokens.revoke(id)

    assert good == 200
    assert (await call(rig, plain, "read"))[0] == 401


async def test_a_token_cannot_approve_the_device_that_asked_with_it(rig: Rig) -> None:
    device = Device()
    _, secret = await token(rig, "operator.pairing", "operator.read")
    _, other = await token(rig, "operator.pairing", "operator.read")
    async with client_of(rig) as client:
        refused = await client.connect(device, token=secret, scopes=["operator.read"])
    request = {"requestId": refused["error"]["details"]["requestId"]}

    own = await call(rig, secret, "device.pair.approve", request)
    child = (await call(rig, rig.token, "token.create", {"name": "x", "scopes": [READ, "operator.pairing"]}))[1]
    by_another = await call(rig, other, "device.pair.approve", request)

    assert refused["error"]["code"] == "NOT_PAIRED"
    assert own[0] == 403
    assert child["ended"] is False
    assert by_another[0] == 200


async def test_a_token_made_with_a_device_ends_with_the_device(rig: Rig) -> None:
    device = Device()
    await admit(rig, device, "operator.admin")
    grant = rig.devices.grant(device.id, "operator")
    assert grant is not None
    plain = rig.devices.token(grant)
    made = [(await call(rig, plain, "token.create", {"name": "x", "scopes": [READ]}))[1] for _ in range(2)]

    good = (await call(rig, made[0]["token"], "read"))[0]
    await rig.devices.rotate(device.id, "operator")

    assert good == 200
    assert (await call(rig, made[0]["token"], "read"))[0] == 401
    assert (await call(rig, made[1]["token"], "read"))[0] == 401


async def test_a_token_that_the_owner_made_depends_on_nothing(rig: Rig) -> None:
    _, made = await call(rig, rig.token, "token.create", {"name": "x", "scopes": [READ]})

    kept = rig.tokens.get(made["id"])

    assert kept is not None
    assert kept.made_by == frozenset()
