"""The tool of the hub itself: how it is, whether its configuration is valid, and a restart that its owner approves."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import orjson

from hub import __version__
from hub.core.context import Authority
from hub.core.errors import HubError, InvalidRequest
from hub.core.events import Event
from hub.core.phrases import phrase
from hub.core.repairs import Repairs
from hub.core.schema import In, Required, Schema
from hub.core.services import ServiceRegistry
from hub.tools.contract import Annotations, Tool, ToolCall, ToolResult
from hub.tools.parameters import from_schema

if TYPE_CHECKING:
    from hub.host.registrars import HostBus
    from hub.messaging.channels import ChannelRegistry

GROUP = "gateway"
ERRORS_SHOWN = 10
END_LIMIT_S = 60.0
"""How long a restart waits for the run that asked for it, so that its answer is not cut off."""
RESTARTS = Annotations(open_world=False, egress=False)

_log = logging.getLogger(__name__)
_SCHEMA = Schema({Required("action"): In(("status", "check", "restart"))})

Spawn = Callable[..., asyncio.Task[Any]]


class GatewayTool:
    """Looks at the hub and restarts it.

    Args:
        services: Has `hub.check` and `hub.restart`.
        channels: Has the state of each account.
        repairs: Have the open problems.
        bus: Announces the end of the run.
        spawn: Owns what waits for that.
    """

    def __init__(
        self, services: ServiceRegistry, channels: ChannelRegistry, repairs: Repairs, *, bus: HostBus, spawn: Spawn
    ) -> None:
        self._services = services
        self._channels = channels
        self._repairs = repairs
        self._bus = bus
        self._spawn = spawn
        self._restarting = False

    def tool(self) -> Tool:
        """Return the tool."""
        return Tool(
            "gateway",
            "The hub you run in: status, check (whether its configuration is valid), restart (asks your owner; once "
            "your answer is given). You can change neither its configuration nor its version.",
            from_schema(_SCHEMA),
            self._run,
            GROUP,
            RESTARTS,
            approval=why_ask,
        )

    async def _run(self, call: ToolCall) -> ToolResult:
        match call.arguments["action"]:
            case "status":
                return self._status()
            case "check":
                return ToolResult.of(
                    {"valid": not (errors := await self._errors(call)), "errors": errors[:ERRORS_SHOWN]}
                )
        if errors := await self._errors(call):
            raise InvalidRequest(f"the configuration has {len(errors)} errors (action check); it is not restarted")
        if not self._restarting:
            self._restarting = True
            self._spawn(self._restart(call), name="restart the hub")
        return ToolResult.of({"status": "accepted", "note": "the hub restarts once you have answered"})

    def _status(self) -> ToolResult:
        repairs = self._repairs.all()
        told = {
            "version": __version__,
            "channels": [
                {"channel": each.channel.name, "account": each.channel.account, "state": str(each.status.state)}
                for each in self._channels.all()
            ],
            # Without their titles, which words from outside may be in.
            "problems": [{"source": each.source, "severity": str(each.severity)} for each in repairs],
        }
        return ToolResult(orjson.dumps(told).decode(), details=told | {"titles": [str(each.title) for each in repairs]})

    async def _errors(self, call: ToolCall) -> list[Any]:
        checked = await self._services.call("hub", "check", context=call.context, wants_response=True)
        return list((checked or {}).get("errors", ()))

    async def _restart(self, call: ToolCall) -> None:
        ended = asyncio.Event()

        def finished(event: Event) -> None:
            if event.data["run_id"] == call.run_id:
                ended.set()

        unlisten = self._bus.listen("run_finished", finished)
        try:
            async with asyncio.timeout(END_LIMIT_S):
                await ended.wait()
        except TimeoutError:
            _log.warning("run %s goes on; the hub restarts all the same", call.run_id)
        finally:
            unlisten()
            self._restarting = False
        try:
            await self._services.call("hub", "restart", context=call.context)
        except HubError as error:
            _log.error("the hub was not restarted: %s", error.message)


def why_ask(arguments: Mapping[str, Any], authority: Authority) -> str | None:
    """Return why the owner has to approve a call."""
    return phrase("it restarts the hub") if arguments.get("action", "restart") == "restart" else None
