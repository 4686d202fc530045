"""Keys that a method does not know: left out of what others' clients send, unless they are conditions."""

from __future__ import annotations

import logging
from typing import Any

import aiohttp
import pytest

from hub.core.schema import Optional, Required, Schema
from hub.core.surfaces import READ, Method, MethodCall
from hub.gateway.connection.connection import STRICT
from tests.gateway.rig import Rig, connected


@pytest.fixture
def echo(rig: Rig) -> None:
    async def handler(call: MethodCall) -> object:
        return dict(call.params)

    schema = Schema({Optional("x"): int, Optional("deep"): [Schema({Required("y"): int})]})
    rig.gateway.methods.add(Method("echo", handler, "test", schema, READ))


@pytest.mark.usefixtures("echo")
@pytest.mark.parametrize(
    ("sent", "taken"),
    [
        ({"x": 1, "compact": True}, {"x": 1}),
        ({"deep": [{"y": 1, "z": 2}, {"y": 2, "z": {}}]}, {"deep": [{"y": 1}, {"y": 2}]}),
        ({f"k{number}": number for number in range(50)} | {"x": 1}, {"x": 1}),
        ({"incognito": False, "permissionMode": None, "toolOverrides": {}, "expectedSessionId": None}, {}),
    ],
)
async def test_a_key_that_is_not_known_is_left_out(rig: Rig, sent: dict[str, Any], taken: dict[str, Any]) -> None:
    async with connected(rig) as client:
        answer = await client.call("echo", sent)

    assert answer["payload"] == taken


@pytest.mark.usefixtures("echo")
@pytest.mark.parametrize(
    ("sent", "named"),
    [
        ({"permissionMode": "plan"}, "permissionMode"),
        ({"incognito": True}, "incognito"),
        ({"toolOverrides": {"exec": False}}, "toolOverrides"),
        ({"execSecurity": "deny"}, "execSecurity"),
        ({"expectedLeafEntryId": "7"}, "expectedLeafEntryId"),
        ({"expectedRevision": 0}, "expectedRevision"),
        ({"deep": [{"y": 1, "expectedRevision": 3}]}, "deep.0.expectedRevision"),
        ({"scopes": ["operator.read"]}, "scopes"),
        ({"expiresAt": 1}, "expiresAt"),
        ({"dryRun": True}, "dryRun"),
        ({"allowedTools": ["x"]}, "allowedTools"),
    ],
)
async def test_a_condition_that_is_not_known_is_refused_by_name(rig: Rig, sent: dict[str, Any], named: str) -> None:
    async with connected(rig) as client:
        error = (await client.call("echo", sent))["error"]

    assert error["code"] == "INVALID_REQUEST"
    assert error["message"] == f"echo: {named} is not supported, and the request is not carried out without it"


@pytest.mark.usefixtures("echo")
@pytest.mark.parametrize("sent", [{"x": "1", "other": 1}, {"deep": [{"other": 1}]}, {f"k{n}": n for n in range(100)}])
async def test_what_is_known_is_checked_as_ever(rig: Rig, sent: dict[str, Any]) -> None:
    async with connected(rig) as client:
        assert (await client.call("echo", sent))["error"]["code"] == "INVALID_REQUEST"


@pytest.mark.usefixtures("echo")
async def test_a_client_that_asks_for_it_and_our_own_calls_are_checked_strictly(rig: Rig) -> None:
    async with connected(rig, caps=[STRICT]) as client:
        over_socket = await client.call("echo", {"other": 1})
    async with aiohttp.ClientSession() as session:
        body = {"method": "echo", "params": {"other": 1}}
        over_http = await session.post(f"{rig.url}/api/rpc", json=body, headers=rig.bearer)
        told = await over_http.json()

    assert over_socket["error"]["message"] == "echo: other: extra keys not allowed"
    assert told["error"]["message"] == "echo: other: extra keys not allowed"


@pytest.mark.usefixtures("echo")
async def test_the_log_has_them_once_for_each_client_and_method(rig: Rig, caplog: pytest.LogCaptureFixture) -> None:
    client_of_others = {"id": "openclaw-tui", "version": "1", "platform": "linux", "mode": "ui"}
    with caplog.at_level(logging.INFO, logger="hub.gateway.calls.dispatch"):
        for _ in range(2):
            async with connected(rig, client=client_of_others) as client:
                await client.call("echo", {"other": 1})
                await client.call("echo", {"other": 1, "line\nbreak": 2})

    assert [record.message for record in caplog.records] == [
        "the client 'openclaw-tui' sends echo with keys that are ignored: ['other']"
    ]
