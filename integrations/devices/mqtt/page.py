"""The page MQTT of the dashboard; its script listens and publishes through the gateway methods."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aiohttp import web

from hub.core.surfaces import ADMIN, HttpCall, Route
from hub.gateway.pages import Page
from integrations.devices.mqtt.bridge import MqttBridge
from integrations.devices.mqtt.discovery.discovery import Discovery, announcements_data
from integrations.devices.mqtt.methods import DOMAIN, status_of

if TYPE_CHECKING:
    from integrations.devices.mqtt.broker import EmbeddedBroker

ROUTES, PATH = "/mqtt", "/settings/mqtt"
_HERE = Path(__file__).parent
_CHINESE = {
    "MQTT": "MQTT",
    "Connected to the broker.": "已连接到代理。",
    "Not connected": "未连接",
    "Messages": "消息",
    "The embedded broker listens on port {port}.": "内置代理监听端口 {port}。",
    "Listen": "监听",
    "Topic": "主题",
    "Payload": "内容",
    "Publish": "发布",
    "Keep it at the broker": "由代理保留",
    "Published.": "已发布。",
    "This could not be published.": "无法发布。",
    "Announced entities": "已发现的实体",
    "No device has announced itself yet.": "还没有设备发布自己。",
    "Not taken": "未采用",
    "retained": "保留",
}


def mqtt_page(bridge: MqttBridge, discovery: Discovery, broker: EmbeddedBroker | None, zone: str) -> Page:
    """Return the page."""

    async def data(call: HttpCall) -> Mapping[str, Any]:
        return {"status": status_of(bridge, broker), "zone": zone, **announcements_data(discovery)}

    texts = {"zh-CN": _CHINESE}
    return Page(PATH, "MQTT", _HERE / "page.html", data, scope=ADMIN, under="/settings", position=90, texts=texts)


def routes() -> list[Route]:
    """Return the route of the page's script."""

    async def script(call: HttpCall) -> web.StreamResponse:
        text = await asyncio.to_thread((_HERE / "explorer.js").read_text)
        return web.Response(text=text, content_type="text/javascript", headers={"Cache-Control": "no-store"})

    return [Route("GET", f"{ROUTES}/explorer.js", script, DOMAIN, scope=ADMIN, cookie=True)]
