"""Home Assistant's companion apps, pointed at the hub: what they do from the first page to a pressed button.

The app is a double that takes the steps of the apps' sources: `AuthenticationService.kt`,
`IntegrationRepositoryImpl.kt`, `WebSocketCoreImpl.kt`, `NotificationActionReceiver.kt` (Android) and
`OnboardingAuthDetails.swift` (iPhone).
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import aiohttp
import pytest

from hub.core.clock import ManualClock
from hub.core.context import SYSTEM, Context
from hub.core.errors import HubError
from hub.entities.description import EntityDescription
from hub.gateway.component.access import AccessComponent
from hub.nodes.shown import EVENT_ACTION, EVENT_CLEARED
from integrations.nodes.mobile_app.app_push import CONFIRM_S
from integrations.nodes.mobile_app.app_sign_in import ACCESS_LIFE_S
from tests.hub_fixture import HubFixture
from tests.integrations.nodes.companion_steps import CLIENT, REGISTRATION, SHAPES, shape, steps

BACK = "homeassistant://auth-callback"


class App:
    """The app: `sign_in`, `register` and `connect` are its first start."""

    def __init__(self, house: HubFixture, http: aiohttp.ClientSession) -> None:
        self.house, self.http = house, http
        self.access = self.refresh = self.webhook = ""
        self.id = 0

    async def page(self, **changes: str) -> str:
        query = {"response_type": "code", "client_id": CLIENT, "redirect_uri": BACK, **changes}
        async with self.http.get(f"{self.house.url}/auth/authorize", params=query) as answer:
            assert answer.status == 200
            return await answer.text()

    async def allow(self, **changes: Any) -> tuple[int, Any]:
        """What the page posts when its owner agrees."""
        body = {"client_id": CLIENT, "redirect_uri": BACK, **changes}
        headers = {"Origin": self.house.url}
        async with self.http.post(f"{self.house.url}/auth/authorize", json=body, headers=headers) as answer:
            return answer.status, await answer.json()

    async def owner_signs_in(self) -> None:
        code = await self.house.component(AccessComponent)._codes.create()
        async with self.http.post(f"{self.house.url}/api/login", json={"code": code}) as answer:
            assert answer.status == 200

    async def token(self, **form: str) -> tuple[int, Any]:
        async with self.http.post(f"{self.house.url}/auth/token", data={"client_id": CLIENT, **form}) as answer:
            return answer.status, await answer.json(content_type=None)

    async def sign_in(self, **changes: Any) -> None:
        await self.owner_signs_in()
        status, answer = await self.allow(state="s1", **changes)
        assert status == 200, answer
        query = parse_qs(urlsplit(answer["url"]).query)
        assert (answer["url"].partition("?")[0], query["state"]) == (BACK, ["s1"])
        status, said = await self.token(grant_type="authorization_code", code=query["code"][0])
        assert status == 200, said
        self.access, self.refresh = said["access_token"], said["refresh_token"]
        self.http.cookie_jar.clear()

    async def get(self, path: str) -> tuple[int, Any]:
        headers = {"Authorization": f"Bearer {self.access}"}
        async with self.http.get(f"{self.house.url}{path}", headers=headers) as answer:
            return answer.status, await answer.json()

    async def register(self, **changes: Any) -> Any:
        headers = {"Authorization": f"Bearer {self.access}"}
        url = f"{self.house.url}/api/mobile_app/registrations"
        async with self.http.post(url, json={**REGISTRATION, **changes}, headers=headers) as answer:
            assert answer.status == 201
            body = await answer.json()
        self.webhook = body["webhook_id"]
        return body

    async def send(self, type: str, data: Any = None) -> tuple[int, Any]:
        url = f"{self.house.url}/api/webhook/{self.webhook}"
        async with self.http.post(url, json={"type": type, "data": data}) as answer:
            return answer.status, await answer.json(content_type=None)

    async def connect(self, token: str | None = None) -> Any:
        """Open the WebSocket; Android sends its token before it has read anything."""
        self.ws = await self.http.ws_connect(f"{self.house.url}/api/websocket")
        await self.ws.send_json({"type": "auth", "access_token": self.access if token is None else token})
        assert (await self.ws.receive_json())["type"] == "auth_required"
        return await self.ws.receive_json()

    async def ask(self, type: str, **more: Any) -> Any:
        self.id += 1
        await self.ws.send_json({"id": self.id, "type": type, **more})
        while (said := await self.ws.receive_json())["id"] != self.id or said["type"] == "event":
            pass
        return said


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[App]:
    sections = {
        "hub": {"name": "Test", "latitude": 52.5, "longitude": 13.4},
        "mobile_app": {},
        "people": [{"id": "anna", "name": "Anna", "owner": True}],
        "input_boolean": {"tea": {"name": "Tea"}},
    }
    house = HubFixture(
        tmp_path / "home",
        "http://127.0.0.1:9",
        sections=sections,
        integrations=("mobile_app",),
        without=("config watch", "memory", "model accounts", "sandboxes", "skills"),
        clock=ManualClock(1_790_000_000),
    )
    jar = aiohttp.CookieJar(unsafe=True)
    connector = aiohttp.TCPConnector(force_close=True)
    async with house, aiohttp.ClientSession(cookie_jar=jar, connector=connector) as http:
        yield App(house, http)


async def test_an_app_signs_in_registers_reports_and_is_notified(app: App) -> None:
    heard: list[Any] = []
    for type in (EVENT_ACTION, EVENT_CLEARED):
        app.house.bus.listen(type, lambda event: heard.append((event.type, event.data)))
    assert 'data-state="signin"' in await app.page()
    await app.sign_in()

    assert (await app.get("/api/"))[1] == {"message": "API running."}
    status, config = await app.get("/api/config")
    assert (status, config["location_name"], config["version"][:2]) == (200, "Test", "20")
    registered = await app.register()
    assert (registered["cloudhook_url"], registered["remote_ui_url"], registered["secret"]) == (None, None, None)
    assert (await app.send("get_config"))[1]["hass_device_id"] in app.house.entities.registry.devices
    sensor = {"unique_id": "battery_level", "name": "Battery", "type": "sensor", "state": 80}
    assert (await app.send("register_sensor", sensor))[0] == 201
    assert (await app.send("update_location", {"gps": [52.5, 13.4], "gps_accuracy": 5}))[0] == 200
    assert app.house.states.get("device_tracker.pixel_7") is not None

    assert (await app.connect())["type"] == "auth_ok"
    user = (await app.ask("auth/current_user"))["result"]
    assert (user["is_admin"], user["is_owner"]) == (False, False)
    channel = await app.ask("mobile_app/push_notification_channel", webhook_id=app.webhook, support_confirm=True)
    assert channel == {"id": 2, "type": "result", "success": True, "result": None}
    data = {"tag": "door", "image": "/local/door.jpg", "actions": [{"action": "OPEN", "title": "Open"}]}
    call = {"title": "Door", "message": "Somebody rings", "data": data}
    sending = asyncio.ensure_future(
        app.house.services.call("notify", "mobile_app_pixel_7", call, context=Context(SYSTEM), wants_response=True)
    )
    event = (await app.ws.receive_json())["event"]
    confirmed = await app.ask(
        "mobile_app/push_notification_confirm", webhook_id=app.webhook, confirm_id=event["hass_confirm_id"]
    )

    assert (await sending, confirmed["success"]) == ({"shown_on": "Pixel 7", "way": "app"}, True)
    assert (event["title"], event["message"], event["data"]["actions"]) == ("Door", "Somebody rings", data["actions"])
    assert event["data"]["image"].startswith("/local/door.jpg?authSig=")
    pressed = {"action": "OPEN", "tag": "door", "message": "Somebody rings", "device_id": "a1b2c3"}
    assert (await app.send("fire_event", {"event_type": EVENT_ACTION, "event_data": pressed}))[0] == 200
    cleared = {"event_type": EVENT_CLEARED, "event_data": {"tag": "door"}}
    assert (await app.send("fire_event", cleared))[0] == 200
    made_up = {"event_type": EVENT_ACTION, "event_data": {"action": "UNLOCK"}}
    assert (await app.send("fire_event", made_up))[0] == 400
    assert [type for type, _ in heard] == [EVENT_ACTION, EVENT_CLEARED]
    assert heard[0][1]["device_id"] in app.house.entities.registry.devices
    await app.ws.close()


async def test_an_app_that_does_not_confirm_or_is_closed_gets_it_another_way_or_the_caller_hears(app: App) -> None:
    await app.sign_in()
    await app.register()
    await app.connect()
    call = {"message": "Hello"}

    async def notify() -> Any:
        context = Context(SYSTEM)
        return await app.house.services.call("notify", "mobile_app_pixel_7", call, context=context)

    await app.ask("mobile_app/push_notification_channel", webhook_id=app.webhook, support_confirm=True)
    sending = asyncio.ensure_future(notify())
    await app.ws.receive_json()
    await app.house.clock.advance(CONFIRM_S + 1)  # type: ignore[attr-defined]
    with pytest.raises(HubError, match="did not confirm"):
        await sending
    with pytest.raises(HubError, match="is not connected"):
        await notify()
    await app.ws.close()


async def test_what_an_app_asks_over_its_websocket_is_answered(app: App) -> None:
    await app.sign_in()
    await app.connect()

    wrong = [
        await app.ask("lovelace/config"),
        await app.ask("subscribe_events", event_type="message_received"),
        await app.ask("mobile_app/push_notification_channel", webhook_id="x"),
        await app.ask("call_service", domain="hub", service="stop"),
    ]
    codes = [each["error"]["code"] for each in wrong]
    assert codes == ["unknown_command", "unauthorized", "not_found", "unauthorized"]
    await app.ask("subscribe_entities", entity_ids=["input_boolean.tea"])
    first = (await app.ws.receive_json())["event"]
    target = {"entity_id": "input_boolean.tea"}
    done = await app.ask("call_service", domain="input_boolean", service="turn_on", target=target)
    assert (first["a"]["input_boolean.tea"]["s"], done["success"]) == ("off", True)
    assert app.house.states.get("input_boolean.tea").state == "on"  # type: ignore[union-attr]
    for type in ("get_states", "get_services", "get_panels", "get_config", "config/entity_registry/list_for_display"):
        assert (await app.ask(type))["success"], type
    for kind in ("area", "floor", "label", "device", "entity"):
        assert (await app.ask(f"config/{kind}_registry/list"))["success"], kind
    app.id -= 1
    assert (await app.ask("ping"))["error"]["code"] == "id_reuse"
    assert (await app.ask("ping"))["type"] == "pong"
    await app.ws.close()


async def test_an_app_changes_events_of_a_calendar_and_moves_items_of_a_list(app: App) -> None:
    done: list[tuple[str, dict[str, Any]]] = []

    def command(name: str) -> Any:
        async def run(data: Any) -> None:
            done.append((name, {key: str(value) for key, value in data.items() if value}))

        return run

    names = {"calendar": ("create_event", "update_event", "delete_event"), "todo": ("move_item",)}
    for domain, commands in names.items():
        made = {name: command(name) for name in commands}
        app.house.entities.add(EntityDescription(domain, domain, "Ours"), made, source="calendar")
    await app.sign_in()
    await app.connect()
    which = {"entity_id": "calendar.ours", "uid": "u", "recurrence_id": "20261201", "recurrence_range": "THISANDFUTURE"}
    event = {"dtstart": "2026-12-01", "dtend": "2026-12-02", "summary": "Bins", "rrule": "FREQ=WEEKLY"}

    answers = [
        await app.ask("calendar/event/create", entity_id="calendar.ours", event=event),
        await app.ask("calendar/event/update", **which, event={**event, "rrule": ""}),
        await app.ask("calendar/event/delete", **which),
        await app.ask("todo/item/move", entity_id="todo.ours", uid="b", previous_uid="a"),
        await app.ask("calendar/event/create", entity_id="calendar.ours", event={**event, "rrule": "FREQ=HOURLY"}),
        await app.ask("calendar/event/delete", entity_id="calendar.ours"),
    ]

    assert [each["success"] for each in answers] == [True, True, True, True, False, False]
    told = {"summary": "Bins", "start_date": "2026-12-01", "end_date": "2026-12-02"}
    one = {key: value for key, value in which.items() if key != "entity_id"}
    assert done == [
        ("create_event", {**told, "rrule": "FREQ=WEEKLY"}),
        ("update_event", {**one, **told}),
        ("delete_event", one),
        ("move_item", {"item": "b", "previous_item": "a"}),
    ]
    await app.ws.close()


async def test_a_token_is_renewed_ends_by_time_and_is_revoked_with_all_that_hangs_on_it(app: App) -> None:
    await app.sign_in()
    await app.register()
    await app.connect()
    first = app.access
    [listed] = app.house.tokens.list()

    await app.house.clock.advance(ACCESS_LIFE_S + 1)  # type: ignore[attr-defined]
    late = (await app.get("/api/"))[0]
    status, said = await app.token(grant_type="refresh_token", refresh_token=app.refresh)
    app.access = said["access_token"]
    again = (await app.get("/api/"))[0]
    as_refresh = await app.token(grant_type="refresh_token", refresh_token=app.access)
    async with app.http.post(f"{app.house.url}/auth/revoke", data={"token": app.refresh}) as answer:
        revoked = answer.status

    assert (listed.name, sorted(listed.scopes)) == ("Home Assistant (Android)", ["operator.read", "operator.write"])
    assert (late, status, again, revoked) == (401, 200, 200, 200)
    assert "refresh_token" not in said
    assert first != app.access
    assert as_refresh[1]["error"] == "invalid_grant"
    assert (await app.get("/api/"))[0] == 401
    assert (await app.send("get_zones"))[0] == 410
    assert (await app.token(grant_type="refresh_token", refresh_token=app.refresh))[1]["error"] == "invalid_grant"
    assert (await app.ws.receive()).type in (aiohttp.WSMsgType.CLOSE, aiohttp.WSMsgType.CLOSED, aiohttp.WSMsgType.ERROR)
    assert (await app.connect())["type"] == "auth_invalid"


@pytest.mark.parametrize(
    ("client", "back"),
    [
        (CLIENT, "https://evil.example/steal"),
        ("https://evil.example", BACK),
        ("https://evil.example", "https://good.example/x"),
        ("http://evil.example", "https://evil.example/x"),
        ("javascript:alert(1)", BACK),
        ("https://home-assistant.io/android", "javascript:alert(1)"),
    ],
)
async def test_no_code_goes_to_an_address_that_is_not_the_apps(app: App, client: str, back: str) -> None:
    await app.owner_signs_in()

    assert 'data-state="refused"' in await app.page(client_id=client, redirect_uri=back)
    assert (await app.allow(client_id=client, redirect_uri=back))[0] == 400
    assert app.house.tokens.list() == []


async def test_a_code_is_for_one_app_and_one_use_and_only_an_owner_gives_one(app: App) -> None:
    refused, _ = await app.allow()
    await app.owner_signs_in()
    assert 'data-state="ask"' in await app.page()
    _, answer = await app.allow()
    code = parse_qs(urlsplit(answer["url"]).query)["code"][0]

    of_another = await app.token(grant_type="authorization_code", code=code, client_id="https://home-assistant.io/iOS")
    used_up = await app.token(grant_type="authorization_code", code=code)
    wrong = [(await app.token(grant_type="authorization_code", code=f"x{n}"))[0] for n in range(12)]

    assert refused == 401
    assert (of_another[0], of_another[1]["error"], used_up[0]) == (400, "invalid_request", 400)
    assert wrong[-1] == 429
    assert (await app.token(grant_type="password"))[1]["error"] == "unsupported_grant_type"


OTHERWISE = (
    "ws config/device_registry/list.result[0].config_entries_subentries.",  # devices come without config entries
    "get_zones",  # the core had none to tell; ours are states
    "ws call_service.error.translation_",  # the message is there, in the home's language
    "ws config/entity_registry/list_for_display.result.entities[0].",  # of another first entity
    "ws get_states.result[0].attributes.",  # of another first entity
)


def differences(theirs: Any, ours: Any, place: str = "") -> list[str]:
    """What a core answers and the hub does not, or in another type; more than a core answers is no difference."""
    found: list[str] = []
    if isinstance(theirs, dict) and isinstance(ours, dict):
        found += [f"{place}.{key}" for key in theirs.keys() - ours.keys()]
        for key in theirs.keys() & ours.keys():
            found += differences(theirs[key], ours[key], f"{place}.{key}")
    elif isinstance(theirs, list) and isinstance(ours, list):
        for index, (one, other) in enumerate(zip(theirs, ours, strict=False)):
            found += differences(one, other, f"{place}[{index}]")
    elif theirs != ours and "NoneType" not in (theirs, ours):
        found.append(f"{place}: {theirs} and {ours}")
    return found


async def test_the_answers_have_the_shape_of_a_real_cores(app: App) -> None:
    await app.sign_in()
    status, refreshed = await app.token(grant_type="refresh_token", refresh_token=app.refresh)
    wrong = await app.token(grant_type="refresh_token", refresh_token="wrong")

    ours = await steps(app.http, app.house.url, app.access)
    ours |= {"refreshed": [status, refreshed], "wrong refresh": list(wrong)}

    theirs = json.loads(SHAPES.read_text())
    found = sorted(each for name in ours for each in differences(theirs[name], shape(ours[name]), name))
    assert [each for each in found if not each.startswith(OTHERWISE)] == []
