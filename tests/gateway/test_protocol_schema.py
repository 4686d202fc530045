"""The schema of the protocol: it accepts what the hub takes, and refuses what the hub refuses."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from tests.gateway.rig import connect_params, connected
from tests.hub_fixture import HubFixture


@pytest.fixture
async def schema(house: HubFixture) -> dict[str, Any]:
    """The schema of a whole hub, as a client that may only read gets it."""
    async with connected(house, scopes=["operator.read"]) as client:
        answer = await client.call("protocol.schema")
    found: dict[str, Any] = answer["payload"]
    return found


async def test_every_method_has_its_parameters_in_a_valid_schema(house: HubFixture, schema: dict[str, Any]) -> None:
    Draft202012Validator.check_schema(schema)
    known = {name: each["params"]["$ref"].removeprefix("#/$defs/") for name, each in schema["x-methods"].items()}

    assert {*known} == {*house.gateway.methods.names()}
    assert len({*known.values()}) == len(known)
    assert {*known.values()} <= {*schema["$defs"]}
    assert known["chat.send"] == "ChatSendParams"
    assert schema["$defs"]["ChatSendParams"]["required"] == ["sessionKey", "message", "idempotencyKey"]
    assert schema["x-methods"]["agent"]["responses"] == 2
    assert schema["x-methods"]["token.create"]["scope"] == "operator.admin"


@pytest.mark.parametrize(
    ("frame", "fits"),
    [
        ({"type": "req", "id": "1", "method": "connect", "params": connect_params()}, True),
        ({"type": "req", "id": "1", "method": "health"}, True),
        ({"type": "req", "id": "1", "method": "chat.history", "params": {"sessionKey": "main", "limit": 5}}, True),
        ({"type": "req", "id": "1", "method": "chat.history", "params": {"sessionKey": "main", "limit": "5"}}, False),
        ({"type": "req", "id": "1", "method": "chat.history", "params": {}}, False),
        ({"type": "req", "id": "", "method": "health"}, False),
        ({"type": "cancel", "id": "1"}, True),
        ({"type": "cancel"}, False),
        ({"type": "res", "id": "1", "ok": False}, False),
    ],
)
async def test_a_frame_fits_when_the_hub_takes_it(schema: dict[str, Any], frame: dict[str, Any], fits: bool) -> None:
    assert Draft202012Validator(schema).is_valid(frame) is fits


async def test_what_the_hub_sends_fits(house: HubFixture, schema: dict[str, Any]) -> None:
    validator = Draft202012Validator(schema)

    async with connected(house) as client:
        sent = {"sessionKey": "main", "message": "hello", "idempotencyKey": "k1"}
        answer = await client.call("chat.send", sent)
        refused = await client.call("chat.history", {"limit": 0})
        final = await client.event("chat", lambda payload: payload["state"] == "final")

    assert refused["ok"] is False
    for frame in (answer, refused, final, *client.events):
        assert list(validator.iter_errors(orjson.loads(orjson.dumps(frame)))) == []
