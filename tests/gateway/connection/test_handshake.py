"""The handshake over a real WebSocket."""

from __future__ import annotations

import asyncio
from typing import Any

import aiohttp
import pytest

from hub.core.clock import Clock
from hub.core.schema import Schema
from hub.core.surfaces import ADMIN, LARGE_FRAME_BYTES, READ, WRITE, Method, MethodCall
from tests.gateway.rig import Client, Device, Rig, client_of, connect_params, connected
from tests.until import until

UI = {"id": "openclaw-tui", "version": "2026.9.6", "platform": "linux", "mode": "ui"}


async def _who(call: MethodCall) -> dict[str, object]:
    authority = call.caller.authority
    return {"principal": authority.principal, "scopes": sorted(authority.scopes), "owner": authority.owner}


async def _length(call: MethodCall) -> int:
    return len(call.params["file"])


@pytest.fixture(autouse=True)
def methods(rig: Rig) -> None:
    rig.gateway.methods.add(Method("who", _who, "test", Schema({}), scope=READ))
    rig.gateway.methods.add(Method("write", _who, "test", Schema({}), scope=WRITE))
    rig.gateway.methods.add(Method("admin", _who, "test", Schema({}), scope=ADMIN))


async def test_a_client_with_the_hub_token_is_welcomed(rig: Rig) -> None:
    async with client_of(rig) as client:
        answer = await client.connect(token=rig.token, scopes=["operator.write"])

    hello = answer["payload"]
    assert answer["ok"]
    assert hello["type"] == "hello-ok"
    assert hello["protocol"] == 4
    assert hello["auth"]["role"] == "operator"
    assert hello["auth"]["scopes"] == ["operator.read", "operator.talk", "operator.write"]
    assert hello["policy"] == {"maxPayload": 262144, "maxBufferedBytes": 52428800, "tickIntervalMs": 30000}
    assert "who" in hello["features"]["methods"]
    assert {"presence", "health", "stateVersion", "uptimeMs", "sessionDefaults"} <= hello["snapshot"].keys()


@pytest.mark.parametrize("path", ["/", "/ws"])
async def test_both_paths_upgrade(rig: Rig, path: str) -> None:
    async with client_of(rig, path=path) as client:
        assert (await client.connect(token=rig.token))["ok"]


@pytest.mark.parametrize(("low", "high", "agreed"), [(3, 3, 3), (3, 4, 4), (4, 9, 4), (1, 3, 3)])
async def test_the_highest_common_version_is_spoken(rig: Rig, low: int, high: int, agreed: int) -> None:
    async with client_of(rig) as client:
        answer = await client.connect(token=rig.token, minProtocol=low, maxProtocol=high)

    assert answer["payload"]["protocol"] == agreed


@pytest.mark.parametrize(("low", "high"), [(1, 2), (5, 9)])
async def test_no_common_version_closes_with_1002(rig: Rig, low: int, high: int) -> None:
    async with client_of(rig) as client:
        answer = await client.connect(token=rig.token, minProtocol=low, maxProtocol=high)
        end = await client.ws.receive(30)

    assert answer["error"]["code"] == "INVALID_REQUEST"
    assert answer["error"]["details"] == {"code": "PROTOCOL_MISMATCH", "expectedProtocol": 4}
    assert end.type is aiohttp.WSMsgType.CLOSE
    assert end.data == 1002


async def test_a_client_hears_while_the_hub_starts_when_to_come_back(rig: Rig) -> None:
    from hub.gateway.connection.server import GatewayState

    rig.gateway.open(GatewayState.STARTING)

    async with client_of(rig) as client:
        answer = await client.connect(token=rig.token)

    assert answer["error"]["code"] == "UNAVAILABLE"
    assert answer["error"]["details"]["reason"] == "startup-sidecars"
    assert answer["error"]["retryAfterMs"] == 1000


@pytest.mark.parametrize(
    "first",
    [
        *[b'{"type":"req","id":"1","method":"health"}', b"no json", b"[]", b'{"type":"event"}', b""],
        *[b'{"type":"req","id":"\xff","method":"connect"}', b'{"\xff":1}'],
    ],
)
async def test_anything_else_than_connect_closes(rig: Rig, first: bytes, caplog: pytest.LogCaptureFixture) -> None:
    async with client_of(rig) as client:
        await client.ws.send_frame(first, aiohttp.WSMsgType.BINARY if b"\xff" in first else aiohttp.WSMsgType.TEXT)
        kinds = [(await client.ws.receive(30)).type for _ in range(2)]

    assert aiohttp.WSMsgType.CLOSE in kinds
    assert not [record for record in caplog.records if record.exc_info]


@pytest.mark.parametrize(
    ("auth", "code"),
    [
        ({"token": "wrong"}, "AUTH_TOKEN_MISMATCH"),
        ({"password": "wrong-password"}, "AUTH_PASSWORD_MISMATCH"),
        ({"deviceToken": "wrong"}, "AUTH_TOKEN_MISMATCH"),
        ({"bootstrapToken": "wrong"}, "AUTH_TOKEN_MISMATCH"),
        ({}, "AUTH_TOKEN_MISSING"),
        (None, "AUTH_TOKEN_MISSING"),
    ],
)
async def test_a_bad_secret_is_told_in_the_words_of_the_protocol(rig: Rig, auth: object, code: str) -> None:
    async with client_of(rig) as client:
        answer = await client.connect(auth=auth)

    assert not answer["ok"]
    assert answer["error"]["details"]["code"] == code
    assert "canRetryWithDeviceToken" in answer["error"]["details"]
    assert "recommendedNextStep" in answer["error"]["details"]


async def test_guessing_is_locked_and_the_hub_token_still_works_on_its_own_machine(rig: Rig) -> None:
    codes = []
    for _ in range(11):
        async with client_of(rig) as client:
            answer = await client.connect(auth={"token": "guess"})
            codes.append(answer["error"]["details"]["code"])
    async with client_of(rig) as client:
        owner = await client.connect(token=rig.token)

    assert codes == ["AUTH_TOKEN_MISMATCH"] * 10 + ["AUTH_RATE_LIMITED"]
    assert owner["ok"]


async def test_a_scoped_token_gets_what_it_has_of_what_it_asks(rig: Rig) -> None:
    _, secret = await rig.tokens.create("program", ["operator.read"])

    async with client_of(rig) as client:
        hello = await client.connect(token=secret.reveal(), scopes=["operator.admin", "operator.read", "made.up"])
        read = await client.call("who")
        write = await client.call("write")

    assert hello["payload"]["auth"]["scopes"] == ["operator.read"]
    assert read["payload"]["owner"] is False
    assert write["error"]["code"] == "FORBIDDEN"


async def test_nothing_is_granted_that_was_not_asked_for(rig: Rig) -> None:
    async with client_of(rig) as client:
        hello = await client.connect(token=rig.token, scopes=["operator.read"])
        admin = await client.call("admin")

    assert hello["payload"]["auth"]["scopes"] == ["operator.read"]
    assert admin["error"]["code"] == "FORBIDDEN"


async def test_forwarded_headers_take_the_hub_token_its_worth(rig: Rig) -> None:
    async with client_of(rig, headers={"X-Forwarded-For": "203.0.113.9"}) as client:
        answer = await client.connect(token=rig.token)

    assert answer["error"]["details"]["code"] == "AUTH_TOKEN_MISMATCH"


@pytest.mark.parametrize("version", [2, 3])
async def test_a_device_with_the_hub_token_is_paired_by_itself_and_gets_a_token(rig: Rig, version: int) -> None:
    device = Device()

    async with client_of(rig) as client:
        hello = await client.connect(device, version=version, token=rig.token, scopes=["operator.read"])
    token = hello["payload"]["auth"]["deviceToken"]
    async with client_of(rig) as client:
        again = await client.connect(device, version=version, auth={"deviceToken": token}, scopes=["operator.read"])
        who = await client.call("who")

    assert again["ok"]
    assert again["payload"]["auth"]["deviceToken"] == token
    assert who["payload"] == {"principal": f"device:{device.id}", "scopes": ["operator.read"], "owner": True}


async def test_the_signature_covers_platform_and_family(rig: Rig) -> None:
    device = Device()
    client_info = {
        "id": "openclaw-macos",
        "version": "1",
        "platform": " MacOS ",
        "mode": "ui",
        "deviceFamily": "Mac",
    }

    async with client_of(rig) as client:
        answer = await client.connect(device, token=rig.token, client=client_info)

    assert answer["ok"]


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"nonce": ""}, "DEVICE_AUTH_NONCE_REQUIRED"),
        ({"nonce": "other"}, "DEVICE_AUTH_NONCE_MISMATCH"),
        ({"signature": "AAAA"}, "DEVICE_AUTH_SIGNATURE_INVALID"),
        ({"signature": "A" * 86}, "DEVICE_AUTH_SIGNATURE_INVALID"),
        ({"signedAt": 1_000_000}, "DEVICE_AUTH_SIGNATURE_EXPIRED"),
        ({"id": "0" * 64}, "DEVICE_AUTH_DEVICE_ID_MISMATCH"),
        ({"publicKey": "no key"}, "DEVICE_AUTH_PUBLIC_KEY_INVALID"),
        ({"publicKey": "AA"}, "DEVICE_AUTH_PUBLIC_KEY_INVALID"),
    ],
)
async def test_a_bad_proof_is_told_apart(rig: Rig, change: dict[str, object], code: str) -> None:
    device = Device()
    async with client_of(rig) as client:
        params = connect_params(token=rig.token)
        proof = device.proof(params, client.nonce, int(Clock().time() * 1000))
        params["device"] = proof | change

        answer = await client.call("connect", params)

    assert answer["error"]["details"]["code"] == code


async def test_an_unknown_device_from_elsewhere_must_be_approved(rig: Rig) -> None:
    _, secret = await rig.tokens.create("phone", ["operator.read", "operator.write"])
    device = Device()
    wanted: dict[str, Any] = {"token": secret.reveal(), "scopes": ["operator.read"]}

    async with connected(rig) as owner:
        async with client_of(rig) as client:
            refused = await client.connect(device, **wanted)
        request = rig.devices.pending()[0]
        await rig.devices.approve(request.id, rig.gateway.authenticator.people.owner_authority())
        async with client_of(rig) as client:
            accepted = await client.connect(device, **wanted)
        async with client_of(rig) as client:
            wider = await client.connect(device, token=secret.reveal(), scopes=["operator.admin"])
        assert owner.nonce

    assert refused["error"]["code"] == "NOT_PAIRED"
    assert refused["error"]["details"] == {"code": "PAIRING_REQUIRED", "requestId": request.id}
    assert accepted["payload"]["auth"]["scopes"] == ["operator.read"]
    assert wider["error"]["code"] == "NOT_PAIRED"
    assert wider["error"]["details"]["requestId"] != request.id


async def test_a_removed_device_is_closed_and_its_token_is_worthless(rig: Rig) -> None:
    device = Device()
    async with client_of(rig) as client:
        hello = await client.connect(device, token=rig.token)
        token = hello["payload"]["auth"]["deviceToken"]

        await rig.devices.remove(device.id)
        end = await _closed(client)
    async with client_of(rig) as client:
        again = await client.connect(device, auth={"deviceToken": token})

    assert end == 1008
    assert again["error"]["details"]["code"] == "AUTH_TOKEN_MISMATCH"


async def test_a_rotated_device_token_replaces_the_old_one(rig: Rig) -> None:
    device = Device()
    async with client_of(rig) as client:
        first = (await client.connect(device, token=rig.token))["payload"]["auth"]["deviceToken"]

    await rig.devices.rotate(device.id, "operator")
    async with client_of(rig) as client:
        old = await client.connect(device, auth={"deviceToken": first})
    async with client_of(rig) as client:
        second = (await client.connect(device, token=rig.token))["payload"]["auth"]["deviceToken"]

    assert old["error"]["details"]["code"] == "AUTH_TOKEN_MISMATCH"
    assert second != first


async def test_a_node_has_no_operator_scopes_and_calls_no_operator_methods(rig: Rig) -> None:
    device = Device()
    node = {"id": "node-host", "version": "2026.9.6", "platform": "linux", "mode": "node"}

    async with client_of(rig) as client:
        hello = await client.connect(device, token=rig.token, role="node", scopes=[], client=node, pathEnv="/bin")
        unknown = await client.call("node.event", {"event": "node.host.stats"})
        known = await client.call("who")

    assert hello["payload"]["auth"]["role"] == "node"
    assert hello["payload"]["auth"]["scopes"] == []
    assert unknown["error"] == {
        "code": "INVALID_REQUEST",
        "message": "unknown method: node.event",
        "details": {"method": "node.event"},
    }
    assert known["error"]["code"] == "FORBIDDEN"


async def test_a_node_without_device_is_refused(rig: Rig) -> None:
    async with client_of(rig) as client:
        answer = await client.connect(token=rig.token, role="node", scopes=[])

    assert answer["error"]["details"]["code"] == "DEVICE_IDENTITY_REQUIRED"


async def test_revoking_a_token_closes_what_it_opened(rig: Rig) -> None:
    token, secret = await rig.tokens.create("program", ["operator.read"])
    async with client_of(rig) as client:
        await client.connect(token=secret.reveal(), scopes=["operator.read"])

        await rig.tokens.revoke(token.id)
        end = await _closed(client)

    assert end == 1008
    await until(lambda: not rig.gateway.connections)


async def test_a_silent_client_is_closed(rig: Rig) -> None:
    async with client_of(rig) as client:
        for socket in rig.gateway.guard.unauthenticated_sockets():
            socket.deadline = 0.0

        message = await client.ws.receive(30)

    assert message.type in (aiohttp.WSMsgType.CLOSED, aiohttp.WSMsgType.CLOSE, aiohttp.WSMsgType.ERROR)


async def test_more_than_64_kib_before_the_handshake_closes(rig: Rig) -> None:
    async with client_of(rig) as client:
        await client.ws.send_str("x" * 70_000)

        message = await client.ws.receive(30)

    assert message.type is not aiohttp.WSMsgType.TEXT


async def test_a_large_frame_passes_after_the_handshake_for_who_may_call_a_method_that_takes_it(rig: Rig) -> None:
    schema = Schema({"file": str})
    rig.gateway.methods.add(Method("put", _length, "test", schema, WRITE, frame_limit=LARGE_FRAME_BYTES))
    async with connected(rig) as client:
        answer = await client.call("put", {"file": "x" * 2_000_000})
    async with connected(rig, scopes=["operator.read"]) as reader:
        await reader.send("put", {"file": "x" * 2_000_000})
        end = await _closed(reader)

    assert answer["payload"] == 2_000_000
    assert end == 1009


async def test_compression_is_not_offered(rig: Rig) -> None:
    async with (
        aiohttp.ClientSession() as session,
        session.ws_connect(f"{rig.url}/", compress=15) as ws,
    ):
        assert not ws.compress


async def test_presence_tells_who_is_connected(rig: Rig) -> None:
    async with connected(rig) as watcher:
        async with connected(rig, scopes=["operator.read"], client=UI):
            joined = await watcher.event("presence", lambda payload: len(payload["presence"]) == 2)
            watcher.events.clear()
        left = await watcher.event("presence", lambda payload: len(payload["presence"]) == 1)

    assert joined["stateVersion"]["presence"] < left["stateVersion"]["presence"]
    assert left["seq"] > joined["seq"]


async def test_a_stopping_hub_says_goodbye(rig: Rig) -> None:
    async with connected(rig) as client:
        stopping = asyncio.ensure_future(rig.gateway.stop("restart", 1500))
        goodbye = await client.event("shutdown")
        end = await _closed(client)
        await stopping

    assert goodbye["payload"] == {"reason": "restart", "restartExpectedMs": 1500}
    assert end == 1012


async def test_a_client_that_leaves_is_forgotten(rig: Rig) -> None:
    async with connected(rig):
        assert len(rig.gateway.connections) == 1

    await until(lambda: not rig.gateway.connections)
    await until(lambda: rig.gateway.guard.connections == 0)
    assert rig.gateway.broadcast.readers == 0


async def _closed(client: Client) -> int | None:
    while True:
        message = await client.ws.receive(30)
        if message.type is aiohttp.WSMsgType.CLOSE:
            return int(message.data)
        if message.type is not aiohttp.WSMsgType.TEXT:
            return client.ws.close_code
