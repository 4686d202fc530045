"""The page of the dashboard that shows the servers, and the address of the hub's own."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aiohttp import web

from hub.config.spans import Tagged
from hub.core.errors import Conflict, InvalidRequest
from hub.core.schema import SchemaError
from hub.core.surfaces import ADMIN, HttpCall, Route
from hub.gateway.pages import Page
from integrations.tools.mcp.methods import servers_data
from integrations.tools.mcp.schema import server_name
from integrations.tools.mcp.servers import DOMAIN, McpServers

if TYPE_CHECKING:
    from hub.host import IntegrationHost

ROUTES, PATH = "/mcp-servers", "/tools/mcp"
FORM_LIMIT_BYTES = 1_024
SERVER_LIMIT_BYTES = 32_768
SETTLE_S = 2.0
CHINESE = {
    "MCP": "MCP",
    "Servers": "服务器",
    "Command": "命令",
    "Tools": "工具",
    "State": "状态",
    "connecting": "连接中",
    "connected": "已连接",
    "failed": "失败",
    "disabled": "已停用",
    "sign_in": "等待登录",
    "Sign in": "登录",
    "Accept": "接受",
    "Address": "地址",
    "Changed tools: {tools}": "已更改的工具：{tools}",
    "No MCP servers are configured.": "尚未配置 MCP 服务器。",
    "Add a server": "添加服务器",
    "Name": "名称",
    "Command of a program": "程序的命令",
    "Or its address": "或其地址",
    "Authorization header, if it needs one": "Authorization 标头（如需要）",
    "Add": "添加",
    "This hub as a server": "本中心作为服务器",
    "Other programs use this hub's tools at this address, with a token, or by the command:": (
        "其他程序可凭令牌通过此地址使用本中心的工具，或运行以下命令："
    ),
    "Only tools that read are offered.": "仅提供只读工具。",
    "Tools that change something are offered too; each call of them asks you.": (
        "也提供会做出更改的工具；每次调用都会询问您。"
    ),
    "It is off. To let other programs use this hub's tools, set mcp: server: enabled: true in configuration.yaml.": (
        "已关闭。要让其他程序使用本中心的工具，请在 configuration.yaml 中设置 mcp: server: enabled: true。"
    ),
}


def servers_page(servers: McpServers, settings: Mapping[str, Any]) -> Page:
    """Return the page.

    Args:
        settings: `mcp.server` of the checked configuration.
    """

    async def data(call: HttpCall) -> Mapping[str, Any]:
        with suppress(TimeoutError):  # whoever has just signed in or added a server sees what came of it
            async with asyncio.timeout(SETTLE_S):
                for each in servers.connections.values():
                    await each.settled.wait()
        url = f"{call.request.scheme}://{call.request.host}/mcp" if settings["enabled"] else ""
        return {"servers": servers_data(servers), "url": url, "read_only": settings["read_only"]}

    template = Path(__file__).with_name("page.html")
    return Page(PATH, "MCP", template, data, scope=ADMIN, under="/tools", position=45, texts={"zh-CN": CHINESE})


def add_route(host: IntegrationHost) -> Route:
    """Return the route of the page's form, which writes a server into the configuration."""

    async def add(call: HttpCall) -> web.StreamResponse:
        form = {key: str(value).strip() for key, value in (await call.request.post()).items()}
        try:
            name, words = server_name(form.get("name", "")), shlex.split(form.get("command", ""))
        except (SchemaError, ValueError) as error:
            raise InvalidRequest(f"name or command: {error}") from error
        if name in (host.config.raw.get(DOMAIN) or {}).get("servers", {}):
            raise Conflict(f"there is a server {name} already; change it in the configuration")
        value: dict[str, Any] = {"command": words[0], "args": words[1:]} if words else {}
        if form.get("url"):
            value["url"] = form["url"]
        secrets = {}
        if form.get("authorization"):
            secret = f"mcp_{name}_authorization"
            value["headers"] = {"Authorization": Tagged("!secret", secret)}
            secrets[secret] = form["authorization"]
        await host.configure((DOMAIN, "servers", name), value, secrets)
        return web.Response(status=303, headers={"Location": PATH})

    return Route("POST", f"{ROUTES}/add", add, DOMAIN, scope=ADMIN, cookie=True, body_limit=SERVER_LIMIT_BYTES)


def accept_route(servers: McpServers) -> Route:
    """Return the route of the page's button."""

    async def accept(call: HttpCall) -> web.StreamResponse:
        await servers.accept(str((await call.request.post()).get("server", "")))
        return web.Response(status=303, headers={"Location": PATH})

    return Route("POST", f"{ROUTES}/accept", accept, DOMAIN, scope=ADMIN, cookie=True, body_limit=FORM_LIMIT_BYTES)
