"""The tool `nodes`: an agent asks phones and computers for a picture, a place, a notification, or another command."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from hub.core.context import Authority
from hub.core.errors import InvalidRequest, NotFound, Unavailable
from hub.core.phrases import phrase
from hub.core.plain_words import is_plain
from hub.core.schema import All, In, Length, Optional, Range, Required, Schema, boolean, number, string
from hub.models.contract import Image
from hub.models.images import image_type
from hub.nodes.commands import matches
from hub.nodes.offered_tools import GROUP
from hub.nodes.records import NodeRecord
from hub.nodes.registry import NodeRegistry
from hub.tools.contract import Annotations, Tool, ToolCall, ToolResult
from hub.tools.parameters import from_schema

TIMEOUT_S = 60
TIMEOUT_LIMIT_S = 300
FILE_LIMIT_BYTES = 25_000_000
IMAGE_LIMIT_BYTES = 5_000_000
COMMANDS = {
    "notify": "system.notify",
    "camera_list": "camera.list",
    "camera_snap": "camera.snap",
    "camera_clip": "camera.clip",
    "screen_snapshot": "screen.snapshot",
    "screen_record": "screen.record",
    "location_get": "location.get",
    "device_status": "device.status",
}
LOOKS = frozenset({"list", "describe", "skill"})
SUFFIXES = frozenset({"jpg", "jpeg", "png", "webp", "mp4", "mov", "webm", "m4a", "ogg", "wav"})
_EFFECTS = Annotations(destructive=False, open_world=False, egress=True)

_NODES = Schema(
    {
        Required("action", description="notify needs message; invoke needs command; skill needs skill."): In(
            [*sorted(LOOKS), *COMMANDS, "invoke"]
        ),
        Optional("node", description="Its name or id; not needed where one alone can do it."): All(
            string, Length(min=1, max=128)
        ),
        Optional("skill", description="A skill that the node offers, as describe lists them."): All(
            string, Length(min=1, max=64)
        ),
        Optional("message"): All(string, Length(min=1, max=4_000)),
        Optional("title"): All(string, Length(min=1, max=200)),
        Optional("command", description="One of the node's commands, as describe lists them."): All(
            string, Length(min=1, max=128)
        ),
        Optional(
            "params", default=dict, description="What the command takes: facing, maxWidth, durationMs, maxAgeMs, …"
        ): {string: object},
        Optional("no_wait", default=False, description="Have it done when the node next connects."): boolean,
        Optional("timeout_s", default=TIMEOUT_S): All(number, Range(min=1, max=TIMEOUT_LIMIT_S)),
    }
)

Keep = Callable[[ToolCall, bytes, str], Awaitable[str]]
"""Keeps a file with the attachments of a conversation, given its ending; returns its path in the workspace."""


class NodesTool:
    """The tool.

    Args:
        nodes: All nodes.
        keep: Stores pictures and films.
    """

    def __init__(self, nodes: NodeRegistry, keep: Keep) -> None:
        self._nodes = nodes
        self._keep = keep

    def tool(self) -> Tool:
        """Return the tool."""
        return Tool(
            "nodes",
            "Ask the owner's phones and computers: list and describe them, read a skill that one offers, notify, take "
            "a picture or a film, see the screen, get the location, or invoke another command of theirs. To run "
            "programs there, use exec.",
            from_schema(_NODES),
            self._run,
            GROUP,
            _EFFECTS,
            approval=self._approval,
            preview=self._preview,
            timeout_s=TIMEOUT_LIMIT_S + 10,
        )

    def _approval(self, arguments: Mapping[str, Any], authority: Authority) -> str | None:
        action = arguments.get("action")
        if action in LOOKS:
            return None
        if authority.tainted:
            return phrase("text that others wrote is in this conversation, and may be what it is about")
        command = COMMANDS.get(str(action), arguments.get("command", ""))
        if action == "notify" or matches(self._nodes.surfaces.rules.unasked, command):
            return None
        return phrase("it asks a device of yours for {command}", command=command)

    async def _preview(self, call: ToolCall) -> str:
        """Return the device of the call; the approval is bound to it."""
        if call.arguments["action"] in LOOKS:
            return ""
        record = self._node(call.arguments.get("node"), _command(call))
        return f"{record.title} ({record.id})"

    async def _run(self, call: ToolCall) -> ToolResult:
        arguments, action = call.arguments, call.arguments["action"]
        if action == "list":
            listed = [_brief(self._nodes, each) for each in self._nodes.records.all()]
            return ToolResult(_text(listed), trusted=is_plain(listed))
        if action == "describe":
            record = self._node(arguments.get("node"), None)
            return ToolResult(_text(self._nodes.node_data(record)), trusted=False)
        if action == "skill":
            return self._skill(self._node(arguments.get("node"), None), arguments.get("skill", ""))
        command = _command(call)
        record = self._node(arguments.get("node"), command)
        params = dict(arguments["params"])
        if action == "notify":
            if "message" not in arguments:
                raise InvalidRequest("message: needed for the action notify")
            params |= {"title": arguments.get("title", "Homarus"), "body": arguments["message"]}
        if arguments["no_wait"]:
            item = await self._nodes.queue(record.id, command, params)
            told = f"{record.title} will be asked for {command} when it connects ({item.id})."
            return ToolResult(told, trusted=is_plain(record.title))
        limit_s = min(arguments["timeout_s"] + _length_s(params), TIMEOUT_LIMIT_S)
        answer = await self._nodes.invoke(
            record.id, command, params, timeout_s=limit_s, key=call.id, on_progress=call.update
        )
        return await self._result(call, record, answer)

    def _skill(self, record: NodeRecord, name: str) -> ToolResult:
        """Return an approved node's instructions for a task: words from outside, like everything it says."""
        offered = self._nodes.skills.get(record.id, {}) if record.approved_ms is not None else {}
        if name not in offered:
            told = f"{record.title} offers no skill {name!r}; it offers: {', '.join(offered) or 'none'}"
            raise NotFound(told, outside=not is_plain([record.title, *offered]))
        return ToolResult(offered[name], trusted=False)

    async def _result(self, call: ToolCall, record: NodeRecord, answer: Mapping[str, Any]) -> ToolResult:
        """Return a node's answer, with its picture or film stored as a file."""
        encoded, shown = answer.get("base64"), {key: value for key, value in answer.items() if key != "base64"}
        if not isinstance(encoded, str):
            told = _text(shown) if shown else f"{record.title} did it."
            return ToolResult(told, trusted=not shown and is_plain(record.title))
        data = _decoded(encoded)
        mime_type, ending = image_type(data), str(answer.get("format", "")).lower()
        suffix = f".{ending}" if ending in SUFFIXES else ".jpg" if mime_type else ".bin"
        shown["file"] = await self._keep(call, data, suffix)
        seen = mime_type is not None and len(data) <= IMAGE_LIMIT_BYTES
        media = (Image(mime_type, base64.b64encode(data).decode()),) if mime_type is not None and seen else ()
        return ToolResult(_text(shown), {"node": record.id, "file": shown["file"]}, media, trusted=False)

    def _node(self, given: str | None, command: str | None) -> NodeRecord:
        """Return the node of a call.

        Raises:
            NotFound: There is none with this name, or several.
            Unavailable: No node that is connected can do it.
        """
        if given is not None:
            record = self._nodes.records.find(given)
            if record is None:
                names = [each.title for each in self._nodes.records.all()]
                told = f"there is no one node {given!r:.80}; there are: {', '.join(names) or 'none'}"
                raise NotFound(told, outside=not is_plain(names))
            return record
        able = [each.node.id for each in self._nodes.all() if command in (None, *self._nodes.commands(each.node.id))]
        if len(able) == 1:
            return self._nodes.surfaces.require(able[0])
        if not able:
            raise Unavailable(f"no connected node offers {command or 'a command'} to you")
        titles = [self._nodes.surfaces.require(id).title for id in able]
        raise NotFound(f"several nodes can do this; name one: {', '.join(titles)}", outside=not is_plain(titles))


def _command(call: ToolCall) -> str:
    action = call.arguments["action"]
    command = COMMANDS.get(action) or call.arguments.get("command")
    if not command:
        raise InvalidRequest("command: needed for the action invoke")
    if command.startswith(("system.run", "system.execApprovals")):
        raise InvalidRequest("command: run programs of a node with exec and host: node")
    return str(command)


def _length_s(params: Mapping[str, Any]) -> float:
    """Return how long a film is to be: it takes that time beside what its answer takes."""
    length_ms = params.get("durationMs")
    return max(0.0, length_ms / 1_000) if isinstance(length_ms, int | float) else 0.0


def _decoded(encoded: str) -> bytes:
    if len(encoded) > FILE_LIMIT_BYTES * 4 // 3 + 4:
        raise InvalidRequest(f"the node sent a file of more than {FILE_LIMIT_BYTES} bytes")
    try:
        return base64.b64decode(encoded, validate=True)
    except binascii.Error:
        raise InvalidRequest("the node sent a file that is not base64") from None


def _brief(nodes: NodeRegistry, record: NodeRecord) -> dict[str, Any]:
    connected = nodes.get(record.id) is not None
    return {
        "node": record.title,
        "id": record.id[:12],
        "platform": record.platform,
        "connected": connected,
        "commands": sorted(nodes.commands(record.id) if connected else record.commands),
    }


def _text(data: Any) -> str:
    return json.dumps(data, ensure_ascii=False)
