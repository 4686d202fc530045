"""The registry of tools and their visibility."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from msgspec.structs import replace

from hub.core.clock import ALWAYS, Lease
from hub.core.context import Authority, ToolPolicy
from hub.core.errors import Conflict, InvalidRequest, LimitExceeded
from hub.core.events import EventBus
from hub.core.secret import Secret
from hub.tools.approval import AskOwner
from hub.tools.contract import FREE, AroundCalls, Confinement, Tool, ToolCall
from hub.tools.policy import ToolRules, belongs_here, is_listed, refusal
from hub.tools.profiles import TOOL_ALIASES

EVENT_TOOLS_CHANGED = "tools_changed"
TOOL_LIMIT = 2_000
AVAILABLE_KEPT = 64

_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")


class ToolRegistry:
    """Knows every tool; fires `tools_changed` with `name` and `registered` when one comes or goes.

    Attributes:
        bus: Invocations are published here too.
        rules: The configured rules for tools.
        ask: Asks the owner about a call that needs approval; without it such calls are refused.
        around: Is asked before each call, and told after it.
        confine: Returns the limits of a conversation in a sandbox, by agent, conversation and authority.
        secrets: Returns the secrets that a call names in some of its arguments.
        lease: Waited for before each call.
    """

    def __init__(self, bus: EventBus, rules: ToolRules | None = None, ask: AskOwner | None = None) -> None:
        self.bus = bus
        self.rules = rules or ToolRules()
        self.ask = ask
        self.lease: Lease = ALWAYS
        self.around: AroundCalls | None = None
        self.confine: Callable[[str, str, Authority], Confinement] = lambda _agent, _session, _authority: FREE
        self.secrets: Callable[[ToolCall, frozenset[str]], Mapping[str, Secret]] = lambda call, arguments: {}
        self._tools: dict[str, Tool] = {}
        self._available: dict[tuple[bool, bool, tuple[ToolPolicy, ...], tuple[ToolPolicy, ...]], tuple[Tool, ...]] = {}

    def configure(self, rules: ToolRules) -> None:
        """Replace the rules; they apply from the next call on."""
        self.rules = rules
        self._available.clear()

    def register(self, tool: Tool) -> Callable[[], None]:
        """Add a tool.

        Returns:
            A function that removes it; calling it twice does no harm.

        Raises:
            InvalidRequest: Its name is malformed.
            Conflict: There is a tool with that name.
            LimitExceeded: There are already 2 000 tools.
        """
        if not _NAME.fullmatch(tool.name):
            raise InvalidRequest(f"{tool.name!r:.80} is not the name of a tool; expected a-z, 0-9 and _, at most 64")
        if tool.name in TOOL_ALIASES:
            raise Conflict(f"{tool.name} is another name of the tool {TOOL_ALIASES[tool.name]}")
        if tool.name in self._tools:
            raise Conflict(f"there is already a tool {tool.name}")
        if len(self._tools) >= TOOL_LIMIT:
            raise LimitExceeded(f"there are already {TOOL_LIMIT} tools; {tool.name} was not added")
        self._tools[tool.name] = tool
        self._available.clear()
        self.bus.fire(EVENT_TOOLS_CHANGED, {"name": tool.name, "registered": True})

        def remove() -> None:
            if self._tools.get(tool.name) is tool:
                del self._tools[tool.name]
                self._available.clear()
                self.bus.fire(EVENT_TOOLS_CHANGED, {"name": tool.name, "registered": False})

        return remove

    def get(self, name: str) -> Tool | None:
        """Return a tool by its name or an alias, or None when there is none."""
        return self._tools.get(name) or self._tools.get(TOOL_ALIASES.get(name, ""))

    def all(self) -> list[Tool]:
        """Return every tool, by name."""
        return [self._tools[name] for name in sorted(self._tools)]

    def available(self, authority: Authority, policy: ToolPolicy | Iterable[ToolPolicy] = ()) -> list[Tool]:
        """Return the tools visible to an authority, by group and name, so that the order is stable.

        Args:
            authority: The authority whose rights count.
            policy: Further policies, all of which must permit a tool.
        """
        policies = (policy,) if isinstance(policy, ToolPolicy) else tuple(policy)
        # All that `is_listed` looks at, besides the tools; the same few ask again and again.
        key = (authority.owner, belongs_here(authority), authority.tool_policies, policies)
        found = self._available.get(key)
        if found is None:
            if len(self._available) >= AVAILABLE_KEPT:
                self._available.clear()
            shown = [tool for tool in self._tools.values() if is_listed(tool, authority, policies, self.rules)]
            found = self._available[key] = tuple(sorted(shown, key=lambda tool: (tool.group, tool.name)))
        return list(found)

    def refusal_reason(self, call: ToolCall) -> str | None:
        """Return why a call that waited may not proceed under the present rules; None if it may."""
        tool = self.get(call.name)
        if tool is None:
            return f"there is no tool {call.name} any more"
        # Which optional tools an agent has was judged when the call began, by the agent's own rules.
        return refusal(replace(tool, optional=False), call.context.authority, (), self.rules)

    def catalog(self) -> list[dict[str, Any]]:
        """Return every tool as plain data, by group and name."""
        return [describe_tool(tool) for tool in sorted(self._tools.values(), key=lambda tool: (tool.group, tool.name))]


def describe_tool(tool: Tool) -> dict[str, Any]:
    """Return a tool as plain data."""
    annotations = tool.annotations
    return {
        "name": tool.name,
        "label": tool.label or tool.name.replace("_", " ").capitalize(),
        "optional": tool.optional,
        "description": tool.description,
        "group": tool.group,
        "parameters": dict(tool.parameters.json_schema),
        "annotations": {
            "read_only": annotations.read_only,
            "destructive": annotations.destructive,
            "idempotent": annotations.idempotent,
            "open_world": annotations.open_world,
            "owner_only": annotations.owner_only,
            "parallel_safe": annotations.parallel_safe,
        },
        "timeout_s": tool.timeout_s,
    }
