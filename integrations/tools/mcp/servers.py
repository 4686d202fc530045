"""The servers of the configuration and their tools, which appear and disappear with them."""

from __future__ import annotations

import asyncio
import importlib
import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from hub.core.context import Authority
from hub.core.errors import HubError, NotFound
from hub.core.phrases import phrase
from hub.host import IntegrationHost
from hub.tools.contract import Parameters, Tool, ToolCall, ToolResult
from hub.tools.parameters import from_json_schema
from integrations.tools.mcp.coming_back import CALLBACK, McpSignIns
from integrations.tools.mcp.connection import McpConnection, McpNeeds
from integrations.tools.mcp.definition import (
    describe_tool,
    fingerprint,
    is_offered,
    parameters,
    risks,
    tool_name,
)
from integrations.tools.mcp.eliciting import McpQuestions
from integrations.tools.mcp.reading import resource_tools

if TYPE_CHECKING:
    from mcp.client.auth import OAuthClientProvider
    from mcp.types import Tool as McpTool

_log = logging.getLogger(__name__)

DOMAIN = "mcp"
GROUP = "mcp"
KNOWN_LIMIT = 1_000
"""Definitions that are remembered of one server."""
CALL_GRACE_S = 5.0
SDK = ("mcp.client", "mcp.client.sse", "mcp.client.streamable_http", "mcp.client.subscriptions")


class OfferedTool(Struct, frozen=True):
    """A tool of a server.

    Attributes:
        said: Its server's description, cleaned.
        own: The server's name for it.
        mark: The hash of its definition.
        changed: Whether its definition differs from when it was first seen.
        remove: Takes it from the agents.
    """

    tool: Tool
    said: str
    own: str
    mark: str
    changed: bool
    remove: Callable[[], object] = bool

    def same(self, other: OfferedTool) -> bool:
        """Whether its definition is unchanged."""
        return (self.mark, self.changed) == (other.mark, other.changed)


class McpServers:
    """All servers.

    Args:
        section: `mcp.servers` of the checked configuration.
    """

    def __init__(self, host: IntegrationHost, section: Mapping[str, Mapping[str, Any]]) -> None:
        self._host = host
        self._storage = host.storage("definitions")
        self._known: dict[str, dict[str, str]] = {}
        self.sign_ins = McpSignIns()
        folders = self._storage.path.parent / "servers"
        questions = McpQuestions(host.ask, lambda: host.language)
        self.connections = {
            name: McpConnection(
                name, each, McpNeeds(host.egress, host.clock, folders / name, questions, self._signed), self._listed
            )
            for name, each in section.items()
        }
        self.tools: dict[str, dict[str, OfferedTool]] = {name: {} for name in section}

    async def run(self) -> None:
        """Connect to all servers once the hub has started, and stay connected."""
        await self._host.started()
        self._known = await self._storage.load({})
        # It takes most of a second to import.
        await asyncio.to_thread(lambda: [importlib.import_module(each) for each in SDK])
        for name in ("mcp", "httpx2"):
            logging.getLogger(name).setLevel(logging.CRITICAL)  # they log what servers send
        for connection in self.connections.values():
            if connection.settings["enabled"]:
                self._host.spawn(connection.keep(), name=f"keep the MCP server {connection.name}")

    def get(self, name: str) -> McpConnection:
        """Return the connection of a server.

        Raises:
            NotFound: There is none with that name.
        """
        if name not in self.connections:
            names = ", ".join(self.connections) or "none"
            raise NotFound(
                f"there is no MCP server {name!r:.60}; there are: {names} (mcp.servers in the configuration)"
            )
        return self.connections[name]

    def changed_tools(self, name: str) -> list[OfferedTool]:
        """Return the tools of a server whose definition differs from when they were first seen."""
        return [each for each in self.tools[name].values() if each.changed]

    async def accept(self, name: str) -> list[str]:
        """Accept a server's tools as they are now; return those that had changed."""
        changed = self.changed_tools(self.get(name).name)
        self._known.setdefault(name, {}).update({each.own: each.mark for each in changed})
        await self._storage.save(self._known)
        self.connections[name].stale()
        return [each.tool.name for each in changed]

    # -- below ------------------------------------------------------------------------------------------------------

    def _signed(self, connection: McpConnection) -> OAuthClientProvider:
        """Return the request signer of a server, which asks a person to sign in when necessary."""
        from integrations.tools.mcp.signing_in import McpTokens, sign_in

        url, oauth, name, host = connection.settings["url"], connection.settings["oauth"], connection.name, self._host
        redirect = oauth.get("redirect_url") or f"{host.dashboard_url}{CALLBACK}"

        def show(address: str) -> None:
            connection.wait_for_person(address)
            if not address:
                host.repairs.clear(DOMAIN, f"sign_in:{name}")
                return
            title = phrase("Sign in to the MCP server {name}", name=name)
            text = phrase("Open this address in a browser: {address}", address=address)
            host.repairs.raise_(DOMAIN, f"sign_in:{name}", title, text)

        tokens = McpTokens(host.storage("tokens"), host.clock, url, oauth, redirect, hide=host.redactor.register)
        return sign_in(url, oauth.get("scope"), redirect, tokens, self.sign_ins, show)

    async def _listed(self, connection: McpConnection, found: list[McpTool]) -> None:
        """Register a server's listed tools; unchanged ones stay registered."""
        name, before = connection.name, self.tools[connection.name]
        chosen = {tool.name: tool for tool in found if is_offered(tool.name, connection.settings["tools"])}
        marks = {own: fingerprint(tool) for own, tool in chosen.items()}
        await self._remember(name, marks)
        taken = {each: None for server, tools in self.tools.items() if server != name for each in tools}
        now: dict[str, OfferedTool] = {}

        def named(own: str) -> str:
            return tool_name(name, own, {**taken, **now})

        for own, tool in sorted(chosen.items()):
            changed = self._known[name].get(own, marks[own]) != marks[own]
            with suppress(HubError):  # it was logged
                made = self._tool(connection, named(own), tool, changed=changed)
                now[made.name] = OfferedTool(made, describe_tool(name, tool), own, marks[own], changed)
        for reader in resource_tools(connection, named):
            now[reader.name] = OfferedTool(reader, reader.description, reader.name, "", changed=False)
        kept = {each: before[each] for each in now if each in before and before[each].same(now[each])}
        for gone in before.keys() - kept.keys():
            before[gone].remove()
        self.tools[name] = kept
        for each in now.keys() - kept.keys():
            try:
                kept[each] = replace(now[each], remove=self._host.tools.add(now[each].tool))
            except HubError as error:
                _log.warning("MCP server %s: the tool %s is left out: %s", name, each, error.message)
        self._tell(name)

    def _tool(self, connection: McpConnection, ours: str, tool: McpTool, *, changed: bool) -> Tool:
        server, settings = connection.name, connection.settings

        async def run(call: ToolCall) -> ToolResult:
            return await connection.call(tool.name, call)

        def asks(arguments: Mapping[str, Any], authority: Authority) -> str | None:
            return phrase(
                "the MCP server {server} has changed this tool since it was first seen (homarus mcp tools {server})",
                server=server,
            )

        try:
            takes: Parameters = from_json_schema(parameters(tool))
        except HubError as error:
            _log.warning("MCP server %s: the tool %s is left out: %s", server, tool.name[:80], error.message)
            raise
        withheld = f"A tool of the MCP server {server}. Its description has changed, and the owner has not read it yet."
        return Tool(
            ours,
            withheld if changed else describe_tool(server, tool),
            takes,
            run,
            GROUP,
            risks(tool, trusted=settings["trusted"], owner_only=settings["owner_only"]),
            approval=asks if changed else None,
            timeout_s=settings["timeout_s"] + CALL_GRACE_S,
        )

    async def _remember(self, name: str, marks: Mapping[str, str]) -> None:
        known = self._known.setdefault(name, {})
        new = {own: mark for own, mark in marks.items() if own not in known}
        if not new:
            return
        known.update(new)
        for oldest in list(known)[:-KNOWN_LIMIT]:
            del known[oldest]
        self._known = {each: self._known[each] for each in self._known if each in self.connections}
        await self._storage.save(self._known)

    def _tell(self, name: str) -> None:
        changed = self.changed_tools(name)
        if not changed:
            self._host.repairs.clear(DOMAIN, f"changed:{name}")
            return
        self._host.repairs.raise_(
            DOMAIN,
            f"changed:{name}",
            phrase("The MCP server {name} changed tools", name=name),
            phrase(
                "These tools have another definition than when they were first seen: {tools}. Each call of them asks "
                "you until you accept them. `homarus mcp tools {name}` shows them as they are now.",
                tools=[each.own[:60] for each in changed[:10]],
                name=name,
            ),
            command=f"homarus mcp accept {name}",
        )
