"""The page MQTT of the dashboard: messages as they come, publishing, and what announced itself."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aiohttp import web

from hub.core.errors import NotFound
from hub.core.schema import Schema
from hub.gateway.calls.contract import ADMIN, HttpCall, Route
from hub.gateway.pages import Page
from integrations.devices.mqtt.bridge import MqttBridge
from integrations.devices.mqtt.discovery.discovery import Discovery, listed
from integrations.devices.mqtt.methods import DOMAIN, LOOK, status_of
from integrations.devices.mqtt.services import PUBLISH
from integrations.devices.mqtt.taps import Taps

if TYPE_CHECKING:
    from integrations.devices.mqtt.broker import EmbeddedBroker

PATH = "/mqtt"
PICTURE_TYPES = ("image/jpeg", "image/png", "image/webp", "image/gif")
_HERE = Path(__file__).parent
_CHINESE = {
    "MQTT": "MQTT",
    "Connected to the broker.": "已连接到代理。",
    "Not connected: {reason}": "未连接：{reason}",
    "The embedded broker listens on port {port}.": "内置代理监听端口 {port}。",
    "Listen": "监听",
    "Topic": "主题",
    "Payload": "内容",
    "Time": "时间",
    "Publish": "发布",
    "Keep it at the broker": "由代理保留",
    "Published.": "已发布。",
    "This could not be published.": "无法发布。",
    "Announced entities": "已发现的实体",
    "Entity": "实体",
    "Device": "设备",
    "Announced by": "发布者",
    "No device has announced itself yet.": "还没有设备发布自己。",
    "Not taken": "未采用",
    "retained": "保留",
}


class MqttPage:
    """The page and its routes."""

    def __init__(
        self, bridge: MqttBridge, taps: Taps, discovery: Discovery, broker: EmbeddedBroker | None = None
    ) -> None:
        self._bridge, self._taps, self._discovery, self._broker = bridge, taps, discovery, broker

    def page(self) -> Page:
        """Return the page."""
        texts = {"zh-CN": _CHINESE}
        return Page(PATH, "MQTT", _HERE / "page.html", self._data, scope=ADMIN, icon="list", position=62, texts=texts)

    def routes(self) -> list[Route]:
        """Return the routes of its script, its messages, its form and the pictures of cameras."""
        publish = Schema(PUBLISH)
        return [
            Route("GET", f"{PATH}/explorer.js", self._script, DOMAIN, scope=ADMIN, cookie=True),
            Route("POST", f"{PATH}/messages", self._messages, DOMAIN, scope=ADMIN, body=Schema(LOOK), cookie=True),
            Route("POST", f"{PATH}/publish", self._publish, DOMAIN, scope=ADMIN, body=publish, cookie=True),
            Route("GET", f"{PATH}/picture/{{entity}}", self._picture, DOMAIN, scope=ADMIN, cookie=True),
        ]

    async def _data(self, call: HttpCall) -> Mapping[str, Any]:
        return {"status": status_of(self._bridge, self._broker), **listed(self._discovery)}

    async def _script(self, call: HttpCall) -> web.StreamResponse:
        text = await asyncio.to_thread((_HERE / "explorer.js").read_text)
        return web.Response(text=text, content_type="text/javascript", headers={"Cache-Control": "no-store"})

    async def _messages(self, call: HttpCall) -> web.StreamResponse:
        look = call.body
        return web.json_response(await self._taps.look(look["topic"], look["after"], look["wait"]))

    async def _publish(self, call: HttpCall) -> web.StreamResponse:
        said = call.body
        await self._bridge.publish(said["topic"], said["payload"], qos=said["qos"], retain=said["retain"])
        return web.json_response({})

    async def _picture(self, call: HttpCall) -> web.StreamResponse:
        entity = self._discovery.entity(call.params["entity"])
        if entity is None or entity.picture is None:
            raise NotFound("there is no such picture")
        data, kind = entity.picture
        headers = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
        shown = kind if kind in PICTURE_TYPES else "application/octet-stream"
        return web.Response(body=data, content_type=shown, headers=headers)
