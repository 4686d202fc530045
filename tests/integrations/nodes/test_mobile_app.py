"""A program on a phone registers, reports, and does what the credential that registered it may do, and no more."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from hub.core.schema import Schema
from hub.core.services import ServiceCall
from integrations.nodes.mobile_app.sealed import seal, unseal
from integrations.nodes.mobile_app.webhook import PER_MINUTE
from tests.hub_fixture import HubFixture
from tests.servers.openai_server import OpenAIServer
from tests.until import until

UNUSED = ("config watch", "memory", "model accounts", "pairing", "sandboxes", "skills")
PHONE = {
    "device_id": "a1",
    "app_id": "net.dinglisch.tasker",
    "app_name": "Tasker",
    "app_version": "6",
    "device_name": "Anna's phone",
    "manufacturer": "Fairphone",
    "model": "5",
    "os_name": "Android",
    "os_version": "15",
    "supports_encryption": False,
    "app_data": {},
}


@pytest.fixture(scope="module")
def model_server() -> Iterator[OpenAIServer]:
    with OpenAIServer() as server:
        yield server


class Phone:
    """A program with an address of its own."""

    def __init__(self, house: HubFixture, http: aiohttp.ClientSession, token: str) -> None:
        self.house, self.http, self.token = house, http, token
        self.url = ""

    async def register(self, **changes: Any) -> tuple[int, Any]:
        headers = {"Authorization": f"Bearer {self.token}"}
        url = f"{self.house.url}/api/mobile_app/registrations"
        async with self.http.post(url, json={**PHONE, **changes}, headers=headers) as answer:
            body = await answer.json()
        self.url = f"{self.house.url}/api/webhook/{body.get('webhook_id')}"
        return answer.status, body

    async def post(self, body: Any) -> tuple[int, Any]:
        async with self.http.post(self.url, json=body) as answer:
            return answer.status, await answer.json() if answer.content_type == "application/json" else None

    async def send(self, kind: str, data: Any = None) -> tuple[int, Any]:
        return await self.post({"type": kind, "data": data})


def house_at(path: Path, server: OpenAIServer) -> HubFixture:
    return HubFixture(
        path,
        server.base_url,
        sections={"hub": {"name": "Test"}, "mobile_app": {}},
        integrations=("mobile_app", "openai_compatible", "webchat"),
        without=UNUSED,
    )


@pytest.fixture
async def house(tmp_path: Path, model_server: OpenAIServer) -> AsyncIterator[HubFixture]:
    model_server.reset()
    async with house_at(tmp_path, model_server) as rig:
        yield rig


@pytest.fixture
async def http() -> AsyncIterator[aiohttp.ClientSession]:
    # The hub closes what was opened with a credential that ends.
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(force_close=True)) as session:
        yield session


@pytest.fixture
async def phone(house: HubFixture, http: aiohttp.ClientSession) -> Phone:
    """One that is registered with a token that may read and write."""
    _, token = await house.tokens.create("phone", {"operator.read", "operator.write"})
    found = Phone(house, http, token.reveal())
    status, _ = await found.register()
    assert status == 201
    return found


def state(house: HubFixture, entity_id: str) -> Any:
    return house.states.get(entity_id)


async def test_where_it_is_becomes_a_tracker(phone: Phone) -> None:
    said = {"gps": [52.5, 13.4], "gps_accuracy": 12, "battery": 80, "speed": 1.5}

    assert await phone.send("update_location", said) == (200, {})

    tracker = state(phone.house, "device_tracker.anna_s_phone")
    assert tracker.attributes["latitude"] == 52.5
    assert tracker.attributes["battery_level"] == 80
    assert tracker.context.authority.tainted
    await phone.send("update_location", {"location_name": "home"})
    assert state(phone.house, "device_tracker.anna_s_phone").state == "home"


async def test_owntracks_posts_as_it_does(phone: Phone) -> None:
    said = {"_type": "location", "lat": 1.5, "lon": 2.5, "acc": 9, "batt": 50, "tid": "ap", "tst": 1}

    assert await phone.post(said) == (200, [])
    assert await phone.post({"_type": "lwt"}) == (200, [])
    assert state(phone.house, "device_tracker.anna_s_phone").attributes["longitude"] == 2.5


async def test_sensors_are_registered_and_reported(phone: Phone) -> None:
    battery = {
        "unique_id": "battery",
        "name": "Battery",
        "type": "sensor",
        "state": 80,
        "device_class": "battery",
        "unit_of_measurement": "%",
        "icon": "mdi:battery",
    }
    awake = {"unique_id": "awake", "name": "Awake", "type": "binary_sensor", "state": True}

    assert await phone.send("register_sensor", battery) == (201, {"success": True})
    assert (await phone.send("register_sensor", awake))[0] == 201
    reports = [
        {"unique_id": "battery", "type": "sensor", "state": 79, "attributes": {"low": False}},
        {"unique_id": "awake", "type": "binary_sensor", "state": False},
        {"unique_id": "steps", "type": "sensor", "state": 5},
        {"unique_id": "battery", "type": "binary_sensor", "state": 1},
        {"unique_id": "awake"},
    ]
    _, answers = await phone.send("update_sensor_states", reports[:4])
    _, wrong = await phone.send("update_sensor_states", reports[4:])

    assert state(phone.house, "sensor.anna_s_phone_battery").state == "79"
    assert state(phone.house, "sensor.anna_s_phone_battery").attributes["unit_of_measurement"] == "%"
    assert state(phone.house, "binary_sensor.anna_s_phone_awake").state == "off"
    assert answers["steps"]["error"]["code"] == "not_registered"
    assert wrong["awake"]["error"]["code"] == "invalid_format"


async def test_a_service_is_called_with_the_rights_of_the_credential(phone: Phone) -> None:
    calls = list[ServiceCall]()

    async def ring(call: ServiceCall) -> None:
        calls.append(call)

    phone.house.services.register("bell", "ring", ring, Schema({"door": str}))
    said = {"domain": "bell", "service": "ring", "service_data": {"door": "front"}}

    assert await phone.send("call_service", said) == (200, {})
    status, refused = await phone.send("call_service", {"domain": "hub", "service": "restart"})

    (call,) = calls
    assert dict(call.data) == {"door": "front"}
    assert (call.context.authority.owner, call.context.authority.tainted) == (False, True)
    assert call.context.authority.principal.startswith("token:")
    assert (status, refused["error"]["code"]) == (403, "forbidden")


async def test_events_are_fired_but_not_the_hubs_own(phone: Phone) -> None:
    heard = list[Any]()
    phone.house.bus.listen("arrived", lambda event: heard.append(event.data))
    phone.house.bus.listen("tag_scanned", lambda event: heard.append(event.data))

    assert (await phone.send("fire_event", {"event_type": "arrived", "event_data": {"who": "anna"}}))[0] == 200
    assert (await phone.send("scan_tag", {"tag_id": "t-1"}))[0] == 200
    own = await phone.send("fire_event", {"event_type": "approval_resolved"})

    await until(lambda: len(heard) >= 2)
    (device,) = phone.house.entities.registry.devices.values()
    assert heard == [{"who": "anna"}, {"tag_id": "t-1", "device_id": device.id}]
    assert own[0] == 400


async def test_templates_are_an_administrators(phone: Phone, house: HubFixture, http: aiohttp.ClientSession) -> None:
    _, token = await house.tokens.create("admin", {"operator.admin"})
    admin = Phone(house, http, token.reveal())
    await admin.register()
    asked = {"sum": {"template": "{{ 6 * n }}", "variables": {"n": 7}}, "bad": {"template": "{{ nothing() }}"}}

    status, refused = await phone.send("render_template", asked)
    _, rendered = await admin.send("render_template", asked)

    assert (status, refused["error"]["code"]) == (403, "forbidden")
    assert rendered["sum"] == 42
    assert "nothing" in rendered["bad"]["error"]


async def test_the_assistant_answers_and_its_conversation_is_the_phones_own(
    phone: Phone, model_server: OpenAIServer
) -> None:
    model_server.queue("The door is shut.")

    status, answer = await phone.send("conversation_process", {"text": "Is the door shut?", "language": "en"})

    assert status == 200
    assert answer["response"]["speech"]["plain"]["speech"] == "The door is shut."
    assert answer["conversation_id"].startswith("node-")


async def test_it_may_be_encrypted_and_then_always_is(phone: Phone) -> None:
    _, said = await phone.send("enable_encryption")
    key = said["secret"]
    config = {"type": "get_config", "encrypted": True, "encrypted_data": seal(key, {})}

    open_request = await phone.send("get_config")
    _, sealed = await phone.post(config)
    _, garbled = await phone.post({**config, "encrypted_data": "AAAA"})

    assert open_request[1]["error"]["code"] == "encryption_required"
    assert unseal(key, sealed["encrypted_data"])["location_name"] == "Test"
    assert garbled["error"]["message"].startswith("encrypted_data cannot be decrypted")


async def test_a_credential_that_ends_ends_the_registration(phone: Phone, house: HubFixture) -> None:
    await phone.send("update_location", {"location_name": "home"})
    (token,) = house.tokens.list()
    await house.tokens.revoke(token.id)

    assert (await phone.send("get_zones"))[0] == 410
    assert (await phone.send("get_zones"))[0] == 410
    assert state(house, "device_tracker.anna_s_phone") is None


async def test_it_is_registered_still_after_a_restart_and_gone_when_it_was_removed(
    tmp_path: Path, model_server: OpenAIServer, http: aiohttp.ClientSession
) -> None:
    async with house_at(tmp_path, model_server) as house:
        _, token = await house.tokens.create("phone", {"operator.write"})
        kept, removed = (Phone(house, http, token.reveal()) for _ in range(2))
        await kept.register()
        sensor = {"unique_id": "steps", "name": "Steps", "type": "sensor", "state": 1}
        await kept.send("register_sensor", sensor)
        await removed.register(device_name="Old phone")
        async with http.post(
            f"{house.url}/api/rpc", json={"method": "mobile_app.list"}, headers=house.bearer
        ) as answer:
            apps = (await answer.json())["payload"]["apps"]
        id = next(each["id"] for each in apps if each["device_name"] == "Old phone")
        gone = {"method": "mobile_app.remove", "params": {"id": id, "idempotencyKey": "gone"}}
        async with http.post(f"{house.url}/api/rpc", json=gone, headers=house.bearer) as answer:
            assert answer.status == 200

    async with house_at(tmp_path, model_server) as house:
        for each in (kept, removed):
            each.url = f"{house.url}/api/webhook/{each.url.rpartition('/')[2]}"
        assert (await kept.send("update_sensor_states", [{**sensor, "state": 2}]))[1]["steps"]["success"]
        assert (await removed.send("get_zones"))[0] == 410


async def test_nobody_registers_without_a_credential_or_with_one_that_only_reads(
    house: HubFixture, http: aiohttp.ClientSession
) -> None:
    _, token = await house.tokens.create("reader", {"operator.read"})

    assert (await Phone(house, http, token.reveal()).register())[0] == 403
    assert (await Phone(house, http, "nothing").register())[0] == 401


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ("text", "expected a JSON object"),
        ({"type": "explode"}, "expected one of update_location"),
        ({"type": "update_location", "data": {"gps": [1]}}, "gps"),
        ({"type": "register_sensor", "data": {"unique_id": "x"}}, "name"),
        ({"type": "update_sensor_states", "data": {}}, "expected a list"),
        ({"_type": "location", "lat": "north"}, "gps"),
    ],
)
async def test_bad_input_is_named(phone: Phone, body: Any, named: str) -> None:
    status, answer = await phone.post(body)

    assert status == 400
    assert named in answer["error"]["message"]


async def test_a_device_that_floods_is_told_to_wait(phone: Phone) -> None:
    answers = [await phone.send("get_zones") for _ in range(PER_MINUTE + 1)]

    assert {status for status, _ in answers[:PER_MINUTE]} == {200}
    assert answers[-1][0] == 429
