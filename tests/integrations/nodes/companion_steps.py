"""The steps of a companion app after its sign-in, the same at a real Home Assistant core and at the hub.

`python -m tests.integrations.nodes.companion_steps URL` asks a core that was just installed (`hass` with `api:`,
`auth:`, `onboarding:`, `mobile_app:`, `zone:`), and writes the shapes of its answers to `companion_shapes.json`.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import aiohttp

SHAPES = Path(__file__).with_name("companion_shapes.json")
CLIENT = "https://home-assistant.io/android"
REGISTRATION = {
    "app_id": "io.homeassistant.companion.android",
    "app_name": "Home Assistant",
    "app_version": "2026.8.1-full (1)",
    "device_name": "Pixel 7",
    "manufacturer": "Google",
    "model": "Pixel 7",
    "os_name": "Android",
    "os_version": "35",
    "supports_encryption": False,
    "app_data": {
        "push_token": "token-of-firebase",
        "push_url": "https://mobile-apps.home-assistant.io/api/sendPush/android/v1",
        "push_websocket_channel": True,
    },
    "device_id": "a1b2c3",
}
SENSOR = {"unique_id": "battery_level", "name": "Battery", "type": "sensor", "state": 80}
NOTICE = {"title": "Door", "message": "Somebody rings", "data": {"tag": "door"}}


async def steps(http: aiohttp.ClientSession, url: str, access: str) -> dict[str, Any]:
    """Take the steps; return the answers by name."""
    answers: dict[str, Any] = {}
    headers = {"Authorization": f"Bearer {access}"}

    async def get(path: str) -> None:
        async with http.get(f"{url}{path}", headers=headers) as answer:
            answers[f"GET {path}"] = [answer.status, await answer.json()]

    await get("/api/")
    await get("/api/config")
    async with http.post(f"{url}/api/mobile_app/registrations", json=REGISTRATION, headers=headers) as answer:
        registered = await answer.json()
        answers["registration"] = [answer.status, registered]
    webhook = registered["webhook_id"]

    async def send(type: str, data: Any = None) -> None:
        async with http.post(f"{url}/api/webhook/{webhook}", json={"type": type, "data": data}) as answer:
            answers[type] = [answer.status, await answer.json(content_type=None)]

    await send("register_sensor", SENSOR)
    await send("update_sensor_states", [{"unique_id": "battery_level", "type": "sensor", "state": 79}])
    await send("update_sensor_states", [{"unique_id": "none", "type": "sensor", "state": 1}])
    await send("update_location", {"gps": [52.5, 13.4], "gps_accuracy": 5})
    await send("get_zones")
    await send("get_config")
    await send("fire_event", {"event_type": "my_event", "event_data": {}})
    ws = await http.ws_connect(f"{url}/api/websocket")
    await ws.send_json({"type": "auth", "access_token": access})
    answers["auth_required"], answers["auth_ok"] = await ws.receive_json(), await ws.receive_json()
    last, events = 0, []

    async def ask(type: str, **more: Any) -> Any:
        nonlocal last
        last += 1
        await ws.send_json({"id": last, "type": type, **more})
        while (said := await ws.receive_json()).get("id") != last or said["type"] == "event":
            events.append(said)
        answers[f"ws {type}"] = said
        return said

    for type in ("supported_features", "auth/current_user", "get_config", "get_states", "ping", "lovelace/nothing"):
        await ask(type, **({"features": {}} if type == "supported_features" else {}))
    for kind in ("device_registry/list", "entity_registry/list", "entity_registry/list_for_display"):
        await ask(f"config/{kind}")
    await ask("subscribe_entities", entity_ids=["zone.home"])
    answers["first entities"] = await ws.receive_json()
    await ask("mobile_app/push_notification_channel", webhook_id=webhook, support_confirm=True)
    await ask("call_service", domain="zone", service="nothing")
    last += 1
    call = {"domain": "notify", "service": "mobile_app_pixel_7", "service_data": NOTICE}
    await ws.send_json({"id": last, "type": "call_service", **call})
    while (said := await ws.receive_json())["type"] != "event" or "hass_confirm_id" not in said["event"]:
        assert said.get("success", True), said
    answers["notification"] = said
    confirm = said["event"]["hass_confirm_id"]
    await ask("mobile_app/push_notification_confirm", webhook_id=webhook, confirm_id=confirm)
    await ask("unsubscribe_events", subscription=last + 99)
    await ws.send_json({"id": 1, "type": "ping"})
    while (said := await ws.receive_json()).get("id") != 1:
        pass
    answers["id again"] = said
    await ws.close()
    return answers


def shape(value: Any) -> Any:
    """Return a value with types in place of what it holds; a list is what its first item is."""
    if isinstance(value, dict):
        return {key: shape(each) for key, each in value.items()}
    if isinstance(value, list):
        return [shape(each) for each in value[:2]] if value and isinstance(value[0], int) else [*map(shape, value[:1])]
    return "number" if isinstance(value, int | float) and not isinstance(value, bool) else type(value).__name__


async def _ask_core(url: str) -> None:
    async with aiohttp.ClientSession() as http:
        user = {"client_id": CLIENT, "name": "Anna", "username": "anna", "password": "secret", "language": "en"}
        async with http.post(f"{url}/api/onboarding/users", json=user) as answer:
            code = (await answer.json())["auth_code"]
        form = {"client_id": CLIENT, "grant_type": "authorization_code", "code": code}
        found: dict[str, Any] = {}
        async with http.post(f"{url}/auth/token", data=form) as answer:
            found["token"] = [answer.status, await answer.json()]
        access, refresh = found["token"][1]["access_token"], found["token"][1]["refresh_token"]
        form = {"client_id": CLIENT, "grant_type": "refresh_token", "refresh_token": refresh}
        async with http.post(f"{url}/auth/token", data=form) as answer:
            found["refreshed"] = [answer.status, await answer.json()]
        async with http.post(f"{url}/auth/token", data={**form, "refresh_token": "wrong"}) as answer:
            found["wrong refresh"] = [answer.status, await answer.json()]
        found |= await steps(http, url, access)
    SHAPES.write_text(json.dumps({name: shape(each) for name, each in found.items()}, indent=1) + "\n")


if __name__ == "__main__":
    asyncio.run(_ask_core(sys.argv[1]))
