"""The connection to one server: made, kept, and made again when it ends, less and less often."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from hub.core.clock import Clock
from hub.core.errors import HubError, Unavailable
from hub.core.tasks import TaskOwner
from hub.security.egress import Egress
from hub.tools.approval import visible_line
from hub.tools.contract import ToolCall, ToolResult
from integrations.tools.mcp.eliciting import McpQuestions
from integrations.tools.mcp.results import answer, failure

if TYPE_CHECKING:
    from mcp.client import Client, IncomingMessage, Transport
    from mcp.client._transport import TransportStreams
    from mcp.client.auth import OAuthClientProvider
    from mcp.types import ElicitRequestParams, ElicitResult, Tool as McpTool

    from integrations.tools.mcp.stdio import McpProgram

_log = logging.getLogger(__name__)

TOOLS_LIMIT = 200
PAGES_LIMIT = 20
CONNECT_S = 30.0
RETRY_FIRST_S = 1.0
RETRY_LIMIT_S = 300.0
STEADY_S = 60.0
"""A connection that lasted so long starts again with the shortest pause."""
LIST_PAUSE_S = 1.0
"""Between two lists of tools, however often a server says that they changed."""
REASON_LIMIT = 300
CLIENT_NAME = "homarus"


class McpState(StrEnum):
    """The states of a connection."""

    CONNECTING = "connecting"
    SIGN_IN = "sign_in"
    CONNECTED = "connected"
    FAILED = "failed"
    DISABLED = "disabled"


class McpNeeds(Struct, frozen=True):
    """The parts of the hub that a connection uses.

    Attributes:
        folder: The working directory of its program.
        questions: Asks people a server's questions.
        signed: Returns what signs its requests, for a server with `oauth`.
    """

    egress: Egress
    clock: Clock
    folder: Path
    questions: McpQuestions
    signed: Callable[[McpConnection], OAuthClientProvider] | None = None


class McpConnection:
    """One server, as configured.

    Args:
        listed: Takes its tools each time that they are listed.

    Attributes:
        state, reason: How it is, and why.
        client: The SDK's client while it is connected.
        sign_in: The address where a person must sign in first.
        settled: Set while it is not just being connected.
        offers: Its capabilities, by the names of the protocol: tools, resources, prompts.
    """

    def __init__(
        self,
        name: str,
        settings: Mapping[str, Any],
        needs: McpNeeds,
        listed: Callable[[McpConnection, list[McpTool]], Awaitable[None]],
    ) -> None:
        self.name = name
        self.settings = settings
        self.state = McpState.CONNECTING if settings["enabled"] else McpState.DISABLED
        self.reason = ""
        self.client: Client | None = None
        self.sign_in = ""
        self.offers: frozenset[str] = frozenset()
        self._needs = needs
        self._listed = listed
        self.settled = asyncio.Event()
        self._become(self.state)
        self._wake = asyncio.Event()
        self._ended = False
        self._program: McpProgram | None = None
        self._deadline: asyncio.Timeout | None = None
        self._calls: list[ToolCall] = []

    async def keep(self) -> None:
        """Connect, and again whenever the connection ends, until cancelled."""
        pause, logged, clock = RETRY_FIRST_S, "", self._needs.clock
        while True:
            begun = clock.monotonic()
            self._become(McpState.CONNECTING)
            try:
                await self._serve()
                self.reason = "the connection ended"
            except Exception as error:  # whatever a server does ends its own connection only
                self.reason = _why(error)
            finally:
                self.client = None
                self._become(McpState.FAILED)
            if self._program is not None and (said := self._program.errors.decode("utf-8", "replace").strip()):
                self.reason = f"{self.reason}: {_shown(said[-REASON_LIMIT:])}"
            if self.reason != logged:
                logged = self.reason
                _log.warning("MCP server %s: %s", self.name, logged)
            pause = RETRY_FIRST_S if clock.monotonic() - begun > STEADY_S else pause
            await clock.sleep(pause)
            pause = min(pause * 2, RETRY_LIMIT_S)

    async def call(self, tool: str, call: ToolCall) -> ToolResult:
        """Call one of its tools."""
        # Not by the SDK's own call_tool: that checks results against the server's schema, which has no bound on time.
        from mcp.types import CallToolRequest, CallToolRequestParams, CallToolResult

        asked = CallToolRequest(params=CallToolRequestParams(name=tool, arguments=dict(call.arguments)))
        self._calls.append(call)
        try:
            result = await self.ask(asked, CallToolResult)
        finally:
            self._calls.remove(call)
        if isinstance(result, ToolResult):
            return result
        said = result.model_dump(mode="json", by_alias=True, exclude_none=True)
        return answer(said.get("content", []), said.get("structuredContent"), is_error=result.is_error is True)

    async def ask(self, request: Any, kind: type[Any]) -> Any:
        """Send a request; return its result, or its failure as a tool result.

        Raises:
            Unavailable: It is not connected.
        """
        from mcp.shared.exceptions import MCPError
        from mcp.types import CONNECTION_CLOSED, INVALID_REQUEST

        if self.client is None:
            why = f": {self.reason}" if self.reason else ""
            raise Unavailable(f"the MCP server {self.name} is not connected ({self.state.value}{why})")
        try:
            return await self.client.session.send_request(
                request, kind, request_read_timeout_seconds=self.settings["timeout_s"]
            )
        except MCPError as error:
            if error.code == CONNECTION_CLOSED or (error.code == INVALID_REQUEST and "terminated" in error.message):
                self._ended = True
                self._wake.set()
                return failure(
                    f"the MCP server {self.name} ended while it was asked; what it was asked may have been done"
                )
            return failure(_shown(error.message))
        except ValueError as error:  # what the SDK finds wrong with an answer
            _log.debug("MCP server %s answered what is not of the protocol", self.name, exc_info=error)
            return failure("the server answered what is not of the protocol")

    def stale(self) -> None:
        """Schedule a new listing of its tools."""
        self._wake.set()

    def wait_for_person(self, address: str) -> None:
        """Wait for a person to sign in at an address; an empty one ends the wait."""
        self.sign_in = address
        if self.client is not None:
            return
        self._become(McpState.SIGN_IN if address else McpState.CONNECTING)
        if self._deadline is not None:
            loop = asyncio.get_running_loop()
            self._deadline.reschedule(None if address else loop.time() + CONNECT_S)

    # -- below ------------------------------------------------------------------------------------------------------

    def _become(self, state: McpState) -> None:
        self.state = state
        if state is McpState.CONNECTING:
            self.settled.clear()
        else:
            self.settled.set()

    async def _serve(self) -> None:
        """Connect and stay connected; return when the connection ended."""
        from mcp.client import Client
        from mcp.types import Implementation
        from mcp.types.version import MODERN_PROTOCOL_VERSIONS

        self._ended = False
        self._wake.clear()
        client = Client(
            self._watched(self._transport()),
            message_handler=self._heard,
            elicitation_callback=self._elicited,
            client_info=Implementation(name=CLIENT_NAME, version="1"),
            read_timeout_seconds=CONNECT_S,
            cache=None,
        )
        tasks = TaskOwner(f"MCP server {self.name}")
        async with contextlib.AsyncExitStack() as stack:
            stack.push_async_callback(tasks.cancel_all)
            async with asyncio.timeout(CONNECT_S) as self._deadline:
                await stack.enter_async_context(client)
                await self._list(client)
            self.client, self.reason = client, ""
            self._become(McpState.CONNECTED)
            if client.protocol_version in MODERN_PROTOCOL_VERSIONS:
                tasks.spawn(self._follow(client), name="follow its changes")
            while not await self._awoken():
                await self._list(client)
                await self._needs.clock.sleep(LIST_PAUSE_S)

    async def _awoken(self) -> bool:
        """Wait until the connection ends or the tools change; return whether it ended."""
        await self._wake.wait()
        self._wake.clear()
        return self._ended

    def _transport(self) -> Transport:
        settings = self.settings
        if "command" in settings:
            from integrations.tools.mcp.stdio import McpProgram

            variables = {name: value.reveal() for name, value in settings.get("env", {}).items()}
            self._program = McpProgram([settings["command"], *settings.get("args", [])], variables, self._needs.folder)
            return self._program.transport()
        from integrations.tools.mcp.over_http import McpAddress

        headers = {name: value.reveal() for name, value in settings.get("headers", {}).items()}
        sse = settings.get("transport") == "sse" or ("transport" not in settings and settings["url"].endswith("/sse"))
        auth = self._needs.signed(self) if "oauth" in settings and self._needs.signed else None
        return McpAddress(settings["url"], headers, self._needs.egress, sse=sse, auth=auth).transport()

    @contextlib.asynccontextmanager
    async def _watched(self, transport: Transport) -> AsyncIterator[TransportStreams]:
        async with transport as (read, write):
            yield _Watched(read, self._over), write

    def _over(self) -> None:
        self._ended = True
        self._wake.set()

    async def _heard(self, message: IncomingMessage) -> None:
        from mcp.types import ToolListChangedNotification

        if isinstance(message, ToolListChangedNotification):
            self.stale()

    async def _elicited(self, context: Any, params: ElicitRequestParams) -> ElicitResult:
        """Ask the person whose conversation calls a tool of the server now; with several calls nobody knows whose."""
        from mcp.types import ElicitRequestFormParams, ElicitResult

        if len(self._calls) != 1 or not isinstance(params, ElicitRequestFormParams):
            return ElicitResult(action="decline")
        wait_s, schema = self.settings["timeout_s"], params.requested_schema
        try:
            found = await self._needs.questions.answers(self.name, self._calls[0], params.message, schema, wait_s)
        except (HubError, ValueError, KeyError, TypeError, AttributeError) as error:
            _log.info("MCP server %s: what it asked was not answered: %s", self.name, _shown(str(error)))
            return ElicitResult(action="cancel")
        return ElicitResult(action="decline") if found is None else ElicitResult(action="accept", content=found)

    async def _follow(self, client: Client) -> None:
        """Follow change notifications of the newer protocol, which are optional for servers."""
        from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost
        from mcp.shared.exceptions import MCPError

        with contextlib.suppress(ListenNotSupportedError, SubscriptionLost, MCPError, TimeoutError):
            async with client.listen(tools_list_changed=True) as events:
                async for _ in events:
                    self.stale()

    async def _list(self, client: Client) -> None:
        from mcp.types import PaginatedRequestParams

        found: list[McpTool] = []
        cursor: str | None = None
        if client.server_capabilities.tools is not None:
            for _ in range(PAGES_LIMIT):
                page = await client.session.list_tools(params=PaginatedRequestParams(cursor=cursor))
                found += page.tools
                cursor = page.next_cursor
                if cursor is None or len(found) >= TOOLS_LIMIT:
                    break
        self.offers = frozenset(client.server_capabilities.model_dump(exclude_none=True))
        await self._listed(self, found[:TOOLS_LIMIT])


class _Watched:
    """The stream of a server's messages, which says when it ended."""

    def __init__(self, stream: Any, over: Callable[[], None]) -> None:
        self._stream = stream
        self._over = over

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    async def __aenter__(self) -> _Watched:
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, *raised: Any) -> None:
        await self._stream.__aexit__(*raised)

    def __aiter__(self) -> _Watched:
        return self

    async def __anext__(self) -> Any:
        try:
            return await self._stream.__anext__()
        except StopAsyncIteration:
            self._over()
            raise


def _why(error: BaseException) -> str:
    """Return why a connection could not be made or kept, from inside the groups of errors that the SDK raises."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, HubError):
        return error.message
    if isinstance(error, TimeoutError):
        return f"it did not answer within {CONNECT_S:g} s"
    return _shown(str(error)) or type(error).__name__


def _shown(text: str) -> str:
    return visible_line(text[: REASON_LIMIT * 4])[:REASON_LIMIT]
