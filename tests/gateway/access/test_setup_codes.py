"""A setup code lets in one device, once, within ten minutes, and with no more than its maker had."""

from __future__ import annotations

import base64
from typing import Any

import orjson
import pytest

from hub.core.clock import Clock
from hub.core.context import Authority
from hub.core.errors import HubError, InvalidRequest
from hub.core.schema import Schema
from hub.core.surfaces import READ, Method, MethodCall
from hub.gateway.access.auth import WrongCredential
from hub.gateway.access.setup_codes import LIFE_MS, SetupCodes, check_url, device_url, is_open_wire
from hub.gateway.calls.settings import HttpSettings
from hub.gateway.methods.device_setup import SetupMethods
from hub.gateway.methods.devices import DeviceMethods
from tests.gateway.rig import Device, Rig, client_of, connected

OWNER = Authority("owner", scopes=frozenset({"operator.admin", "operator.read", "operator.write"}), owner=True)
PHONE: dict[str, Any] = {
    "client": {
        "id": "openclaw-ios",
        "version": "2026.9.6",
        "platform": "ios",
        "mode": "node",
        "deviceFamily": "iPhone",
        "modelIdentifier": "iPhone17,1",
        "displayName": "Test iPhone",
    },
    "role": "node",
    "scopes": [],
}


async def _ok(call: MethodCall) -> bool:
    return call.caller.authority.owner


@pytest.fixture(autouse=True)
def methods(rig: Rig) -> None:
    gateway = rig.gateway
    for method in (
        Method("read", _ok, "test", Schema({}), READ),
        *DeviceMethods(rig.devices, gateway.authenticator).methods(),
        *SetupMethods(gateway).methods(),
    ):
        gateway.methods.add(method)


async def make(rig: Rig, **params: Any) -> dict[str, Any]:
    async with connected(rig) as owner:
        answer = await owner.call("device.pair.setupCode", {"publicUrl": rig.url.replace("http", "ws"), **params})
    assert answer["ok"], answer
    made: dict[str, Any] = answer["payload"]
    return made


def token_in(code: str) -> str:
    data = orjson.loads(base64.urlsafe_b64decode(code + "=" * (-len(code) % 4)))
    assert data.keys() == {"url", "bootstrapToken", "expiresAtMs"}
    return str(data["bootstrapToken"])


async def test_a_phone_gets_two_tokens_from_one_code_and_comes_back_with_each(rig: Rig) -> None:
    phone, made = Device(), await make(rig)

    async with client_of(rig) as node:
        auth = (await node.connect(phone, **PHONE, auth={"bootstrapToken": token_in(made["setupCode"])}))["payload"][
            "auth"
        ]
    further = auth["deviceTokens"][0]
    async with client_of(rig) as operator:
        hello = await operator.connect(
            phone, auth={"deviceToken": further["deviceToken"]}, scopes=further["scopes"], client=PHONE["client"]
        )
        acts_for_owner = (await operator.call("read"))["payload"]
    async with client_of(rig) as node:
        again = await node.connect(phone, **PHONE, auth={"deviceToken": auth["deviceToken"]})
    async with connected(rig) as owner:
        completed = (await owner.call("device.pair.setupStatus", {"setupId": made["setupId"]}))["payload"]
        listed = (await owner.call("device.pair.list"))["payload"]["paired"]

    assert (auth["method"], auth["role"], further["role"]) == ("bootstrap-token", "node", "operator")
    assert "operator.admin" in hello["payload"]["auth"]["scopes"]
    assert hello["payload"]["auth"]["method"] == again["payload"]["auth"]["method"] == "device-token"
    assert acts_for_owner is True
    assert completed["completion"]["deviceId"] == phone.id
    assert [(each["displayName"], each["roles"], each["approvedVia"]) for each in listed] == [
        ("Test iPhone", ["node", "operator"], "bootstrap")
    ]


async def test_a_code_works_once_and_holds_no_lasting_secret(rig: Rig) -> None:
    made = await make(rig)
    token = token_in(made["setupCode"])

    async with client_of(rig) as first:
        assert (await first.connect(Device(), **PHONE, auth={"bootstrapToken": token}))["ok"]
    async with client_of(rig) as second:
        refused = await second.connect(Device(), **PHONE, auth={"bootstrapToken": token})

    assert refused["error"]["details"]["code"] == "AUTH_BOOTSTRAP_TOKEN_INVALID"
    assert rig.token not in (token, made["setupCode"])
    assert made["qrDataUrl"].startswith("data:image/png;base64,")


async def test_a_code_for_nodes_lets_no_operator_in(rig: Rig) -> None:
    code = (await make(rig, bootstrapProfile="node"))["setupCode"]
    device = Device()

    async with client_of(rig) as operator:
        refused = await operator.connect(device, auth={"bootstrapToken": token_in(code)}, scopes=["operator.read"])

    assert not refused["ok"]
    assert rig.devices.grants() == []


async def test_a_device_ends_with_the_token_that_made_its_code(rig: Rig) -> None:
    made, secret = await rig.tokens.create("program", ["operator.admin"])
    async with client_of(rig) as program:
        await program.connect(token=secret.reveal())
        code = await program.call("device.pair.setupCode", {"publicUrl": "wss://hub.example"})
    await rig.tokens.revoke(made.id)

    async with client_of(rig) as node:
        refused = await node.connect(Device(), **PHONE, auth={"bootstrapToken": token_in(code["payload"]["setupCode"])})

    assert not refused["ok"]


async def test_a_renamed_device_keeps_its_name_when_it_is_let_in_again(rig: Rig) -> None:
    phone = Device()
    for _ in range(2):
        token = token_in((await make(rig))["setupCode"])
        async with client_of(rig) as node:
            await node.connect(phone, **PHONE, auth={"bootstrapToken": token})
        async with connected(rig) as owner:
            await owner.call("device.pair.rename", {"deviceId": phone.id, "label": "Anna's phone"})
            listed = (await owner.call("device.pair.list"))["payload"]["paired"]
            missing = await owner.call("device.pair.rename", {"deviceId": "f" * 64, "label": "x"})

    assert [each["displayName"] for each in listed] == ["Anna's phone"]
    assert missing["error"]["code"] == "NOT_FOUND"


def test_a_code_grants_no_more_than_its_maker_has_and_ends_after_ten_minutes() -> None:
    now = [1_000.0]

    class Stopped(Clock):
        def time(self) -> float:
            return now[0]

    codes = SetupCodes(Stopped())
    code, token = codes.make("full", OWNER, frozenset())
    now[0] += LIFE_MS / 1000

    assert code.scopes == ("operator.admin", "operator.read", "operator.write")
    with pytest.raises(WrongCredential):
        codes.take(token)
    for _ in range(20):
        codes.make("node", OWNER, frozenset())
    with pytest.raises(HubError, match="too many setup codes"):
        codes.make("node", OWNER, frozenset())


@pytest.mark.parametrize("url", ["http://hub", "wss://", "wss://u:p@hub", "wss://hub?token=x", "ws://hub:99999", "x"])
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(InvalidRequest, match="publicUrl"):
        check_url(url)


def test_a_hub_on_loopback_says_how_to_listen_and_an_open_wire_is_known() -> None:
    with pytest.raises(InvalidRequest, match="this machine only"):
        device_url(HttpSettings(), 8420)

    assert device_url(HttpSettings(host="192.0.2.7"), 8420) == "ws://192.0.2.7:8420"
    assert [is_open_wire(url) for url in ("ws://192.0.2.7:1", "wss://192.0.2.7:1", "ws://127.0.0.1:1", "ws://hub")] == [
        True,
        False,
        False,
        True,
    ]
