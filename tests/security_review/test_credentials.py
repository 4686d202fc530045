"""No credential gives more, or lives longer, than the one that made it; what is revoked or ends is closed."""

from __future__ import annotations

import asyncio
import contextlib

import aiohttp
import pytest

from hub.core.surfaces import READ, WRITE
from tests.gateway.rig import Client, Device
from tests.security_review.besieged import Besieged
from tests.until import until

CLOSED_LIMIT_S = 30.0


async def live(house: Besieged, header: dict[str, str]) -> aiohttp.ClientWebSocketResponse:
    return await house.http.ws_connect(f"{house.url}/live", headers=header)


async def until_closed(ws: aiohttp.ClientWebSocketResponse) -> None:
    async with asyncio.timeout(CLOSED_LIMIT_S):
        async for _ in ws:
            pass


async def socket(house: Besieged, token: str, device: Device, scopes: list[str]) -> tuple[Client, dict[str, object]]:
    client = Client(await house.http.ws_connect(f"{house.url}/"))
    client.nonce = (await client.frame())["payload"]["nonce"]
    return client, await client.connect(device, token=token, scopes=scopes)


async def test_a_device_that_a_token_lets_in_does_not_act_for_the_owner(house: Besieged) -> None:
    _, header = await house.token(WRITE, "operator.pairing")
    token = header["Authorization"].removeprefix("Bearer ")
    device = Device()
    _, refused = await socket(house, token, device, [WRITE])
    request = refused["error"]["details"]["requestId"]  # type: ignore[index]
    _, approver = await house.token(WRITE, "operator.pairing")
    await house.rpc("device.pair.approve", {"requestId": request, "idempotencyKey": "k"}, approver)

    client, hello = await socket(house, token, device, [WRITE])

    assert hello["ok"]
    connection = next(iter(house.hub.gateway.connections.values()))
    assert not connection.authority.owner
    assert connection.authority.person is None
    assert not house.hub.workspaces.is_private("agent:main:main", connection.authority)
    await client.ws.close()


async def test_a_token_that_ends_makes_none_that_lives_longer_and_no_sign_in_link(house: Besieged) -> None:
    _, header = await house.token("operator.admin", expires=600)
    own = (await house.rpc("token.list"))["tokens"][0]

    for expires in (None, "300d"):
        made = await house.rpc("token.create", {"name": "x", "scopes": [READ], "expires": expires}, header)
        assert made["expiresAtMs"] <= own["expiresAtMs"] + 1_000
    link = await house.rpc("dashboard.link", {}, header)

    assert link["error"]["code"] == "FORBIDDEN"


@pytest.mark.parametrize("scopes", [["operator.admin"], ["operator.pairing"], ["operator.write", "operator.admin"]])
async def test_nobody_makes_a_token_of_more_than_they_have(house: Besieged, scopes: list[str]) -> None:
    for own in ([WRITE], [READ], ["operator.pairing"]):
        _, header = await house.token(*own)

        answer = await house.rpc("token.create", {"name": "x", "scopes": scopes}, header)

        assert answer["error"]["code"] == "FORBIDDEN"


async def test_revoking_closes_the_dashboards_socket_and_an_answer_under_way(house: Besieged) -> None:
    id, header = await house.token(WRITE)
    ws = await live(house, header)
    stream = await house.http.post(
        f"{house.url}/v1/chat/completions",
        json={"messages": [{"role": "user", "content": "hold"}], "stream": True},
        headers=header,
    )
    await house.rpc("token.revoke", {"id": id})

    await until_closed(ws)
    async with asyncio.timeout(CLOSED_LIMIT_S):
        with contextlib.suppress(aiohttp.ClientError):
            await stream.content.read()

    await until(lambda: house.hub.gateway.guard.sockets_of(f"token:{id}") == [])


async def test_signing_out_closes_the_dashboards_socket(house: Besieged) -> None:
    cookie = await house.cookie()
    ws = await live(house, cookie | {"Origin": house.url})
    async with house.http.post(f"{house.url}/api/logout", json={}, headers=cookie | {"Origin": house.url}) as answer:
        assert answer.status == 200

    await until_closed(ws)


async def test_a_removed_device_is_valid_no_longer(house: Besieged) -> None:
    token = house.owner["Authorization"].removeprefix("Bearer ")
    device = Device()
    client, hello = await socket(house, token, device, [READ])
    assert hello["ok"]
    authenticator = house.hub.gateway.authenticator
    assert authenticator.still_valid(f"device:{device.id}/operator")

    await house.rpc("device.pair.remove", {"deviceId": device.id, "idempotencyKey": "k"})

    assert not authenticator.still_valid(f"device:{device.id}/operator")
    await until_closed(client.ws)
