"""The page Discovered, and the methods about found services."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from aiohttp import web

from hub.core.schema import All, Length, Optional, Required, Schema, string
from hub.core.surfaces import ADMIN, READ, HttpCall, Method, MethodCall, Route
from hub.gateway.pages import Page
from integrations.network.discovery.found import FoundServices

DOMAIN = "discovery"
ROUTES, PATH = "/discovered", "/devices/found"
FORM_LIMIT_BYTES = 16_384
SECRET_PREFIX = "secret."  # noqa: S105  the beginning of a field's name
CHINESE = {
    "Found": "发现",
    "Anybody in the network can announce anything, by any name. Nothing is connected to before you set it up.": (
        "网络中的任何人都可以用任何名称发布任何服务。在您设置之前，Homarus 不会连接其中任何一个。"
    ),
    "We found {kind}": "我们发现了 {kind}",
    "What is written into the configuration": "将写入配置的内容",
    "Known here": "已知的服务",
    "Set up": "设置",
    "Ignore": "忽略",
    "new": "新发现",
    "seen": "无需设置",
    "ignored": "已忽略",
    "configured": "已配置",
    "Nothing has announced itself yet. Hue bridges, MQTT brokers and others appear here by themselves.": (
        "尚未发现任何设备或服务。Hue 网桥、MQTT 代理等会自动出现在这里。"
    ),
    "Homarus hub": "Homarus 中心",
    "OpenClaw gateway": "OpenClaw 网关",
    "MQTT broker": "MQTT 代理",
    "Ollama server": "Ollama 服务器",
    "Wyoming satellite": "Wyoming 语音卫星",
    "ESPHome device": "ESPHome 设备",
    "Encryption key": "加密密钥",
    "HomeKit accessory": "HomeKit 配件",
    "Matter device": "Matter 设备",
    "Philips Hue bridge": "飞利浦 Hue 网桥",
    "Printer": "打印机",
}
_ID = All(string, Length(min=1, max=64))
_SECRETS = {All(string, Length(max=64)): All(string, Length(max=16_384))}


def discovery_page(found: FoundServices) -> Page:
    """Return the page."""

    async def data(call: HttpCall) -> Mapping[str, Any]:
        return {"services": found.as_dicts()}

    template = Path(__file__).with_name("page.html")
    return Page(
        *(PATH, "Found", template, data),
        scope=ADMIN,
        under="/devices",
        position=60,
        badge=found.waiting,
        texts={"zh-CN": CHINESE},
    )


def routes(found: FoundServices) -> list[Route]:
    """Return the routes of the page's buttons."""

    async def ignore(call: HttpCall) -> web.StreamResponse:
        await found.ignore(str((await call.request.post()).get("id", "")))
        return web.Response(status=303, headers={"Location": PATH})

    async def set_up(call: HttpCall) -> web.StreamResponse:
        form = {key: str(value) for key, value in (await call.request.post()).items()}
        secrets = {key.removeprefix(SECRET_PREFIX): form[key] for key in form if key.startswith(SECRET_PREFIX)}
        await found.set_up(form.get("id", ""), secrets, form.get("at", ""))
        return web.Response(status=303, headers={"Location": PATH})

    return [
        Route("POST", f"{ROUTES}/{path}", handler, DOMAIN, scope=ADMIN, cookie=True, body_limit=FORM_LIMIT_BYTES)
        for path, handler in (("ignore", ignore), ("set-up", set_up))
    ]


def methods(found: FoundServices) -> list[Method]:
    """Return `discovery.list|ignore|set_up`."""

    async def list_(call: MethodCall) -> Mapping[str, Any]:
        return {"found": found.as_dicts()}

    async def ignore(call: MethodCall) -> Mapping[str, Any]:
        await found.ignore(call.params["id"])
        return {}

    async def set_up(call: MethodCall) -> Mapping[str, Any]:
        await found.set_up(call.params["id"], call.params["secrets"])
        return {}

    return [
        Method("discovery.list", list_, DOMAIN, Schema({}), READ),
        Method("discovery.ignore", ignore, DOMAIN, Schema({Required("id"): _ID}), acts=True),
        Method(
            "discovery.set_up",
            set_up,
            DOMAIN,
            Schema({Required("id"): _ID, Optional("secrets", default=dict): _SECRETS}),
            acts=True,
        ),
    ]
