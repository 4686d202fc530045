"""The page of devices: pairing requests, paired devices with their permitted commands, and a QR code for a phone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from aiohttp import web

from hub.core.errors import HubError
from hub.core.schema import All, In, Length, Optional, Required, Schema, string
from hub.core.surfaces import HttpCall
from web.core.form import read_fields
from web.core.live import Frame
from web.core.method_client import MethodClient
from web.core.render import RenderedPage, Renderer, json_response, see_other, wants_json

PATH = "/devices/phones"

_ID = All(string, Length(min=1, max=128))
PAIR = Schema(
    {
        Optional("access", default="full"): In(["full", "limited", "node"]),
        Optional("url", default=""): All(string, Length(max=512)),
    }
)
ANSWER = Schema(
    {
        Required("kind"): In(["device", "node"]),
        Required("id"): _ID,
        Required("answer"): In(["approve", "reject"]),
    }
)
RENAME = Schema({Required("id"): _ID, Required("name"): All(string, Length(min=1, max=64))})
REMOVE = Schema({Required("id"): _ID})


class DevicesPage:
    """The page and its forms, for administrators.

    Args:
        client: Where devices and nodes are listed, approved and changed.
    """

    def __init__(self, renderer: Renderer, client: MethodClient) -> None:
        self._renderer = renderer
        self._client = client

    async def show(self, call: HttpCall) -> web.StreamResponse:
        """`GET /devices`: pending requests, and all devices."""
        return await self._show(call, {})

    async def pair(self, call: HttpCall) -> web.StreamResponse:
        """`POST /devices/pair`: show a QR code that lets one device in."""
        fields = read_fields(call, PAIR)
        params = {"bootstrapProfile": fields["access"]} | ({"publicUrl": fields["url"]} if fields["url"] else {})
        try:
            made = await self._client.ask(call, "device.pair.setupCode", params)
        except HubError as error:
            if wants_json(call.request):
                raise
            return await self._show(call, {"error": error.message, "url": fields["url"]}, status=error.http_status)
        if wants_json(call.request):
            return json_response(made)
        return await self._show(
            call, {"made": {"accessDowngraded": False, **made, "until": self._renderer.when(made["expiresAtMs"])}}
        )

    async def answer(self, call: HttpCall) -> web.StreamResponse:
        """`POST /devices/answer`: approve or refuse a device, or a node's commands."""
        fields = read_fields(call, ANSWER)
        done = await self._client.ask(call, f"{fields['kind']}.pair.{fields['answer']}", {"requestId": fields["id"]})
        return json_response(done) if wants_json(call.request) else see_other(PATH)

    async def rename(self, call: HttpCall) -> web.StreamResponse:
        """`POST /devices/rename`: give a device another name, as a node too."""
        fields = read_fields(call, RENAME)
        done = await self._everywhere(
            call,
            ("device.pair.rename", {"deviceId": fields["id"], "label": fields["name"]}),
            ("node.rename", {"nodeId": fields["id"], "displayName": fields["name"]}),
        )
        return json_response(done) if wants_json(call.request) else see_other(PATH)

    async def remove(self, call: HttpCall) -> web.StreamResponse:
        """`POST /devices/remove`: forget a device; its connections are closed."""
        id = read_fields(call, REMOVE)["id"]
        done = await self._everywhere(
            call, ("node.pair.remove", {"nodeId": id}), ("device.pair.remove", {"deviceId": id})
        )
        return json_response(done) if wants_json(call.request) else see_other(PATH)

    async def state(self, topic: str, language: str) -> Sequence[Frame]:
        """Return the frame that shows pending requests and all devices."""
        listed = await self._client.read("device.pair.list")
        nodes = await self._client.read("node.list")
        html = self._renderer.fragment("devices", language, **self._shown(listed, nodes))
        return ({"t": "html", "id": "devices", "html": html},)

    async def _everywhere(self, call: HttpCall, *calls: tuple[str, Mapping[str, Any]]) -> dict[str, Any]:
        """Call several methods of which one must succeed: a device may be known as such, as a node, or as both.

        Raises:
            HubError: None of them did anything.
        """
        answers: dict[str, Any] = {}
        failed: HubError | None = None
        for method, params in calls:
            try:
                answers |= await self._client.ask(call, method, params)
            except HubError as error:
                if error.code != "NOT_FOUND":
                    raise
                failed = error
        if not answers and failed is not None:
            raise failed
        return answers

    async def _show(self, call: HttpCall, asked: Mapping[str, Any], *, status: int = 200) -> web.StreamResponse:
        listed, nodes = await self._client.ask(call, "device.pair.list"), await self._client.ask(call, "node.list")
        data = {**self._shown(listed, nodes), "made": None, "error": None, "url": "", **asked}
        return await self._renderer.respond(call, RenderedPage("devices", "Devices", data, PATH, status, secret=True))

    def _shown(self, listed: Mapping[str, Any], nodes: Mapping[str, Any]) -> dict[str, Any]:
        """Return pending requests and one entry for each device, whether paired by a key, a node, or both."""
        by_id: dict[str, dict[str, Any]] = {each["deviceId"]: dict(each) for each in listed["paired"]}
        waiting = [
            {
                "kind": "device",
                "id": each["requestId"],
                "name": each.get("displayName") or each.get("clientId") or each["deviceId"][:12],
                "platform": each.get("platform"),
                "address": each.get("remoteIp"),
                "wants": [each["role"], *each["scopes"]],
            }
            for each in listed["pending"]
        ]
        for node in nodes["nodes"]:
            entry = by_id.setdefault(node["nodeId"], {"deviceId": node["nodeId"], "roles": ["node"], "scopes": []})
            entry |= {key: node.get(key) for key in ("displayName", "platform", "commands", "version", "lastSeenAtMs")}
            entry["connected"] = node["connected"] or entry.get("connected", False)
            if "pendingRequestId" in node:
                waiting.append(
                    {
                        "kind": "node",
                        "id": node["pendingRequestId"],
                        "name": node["displayName"],
                        "platform": node["platform"],
                        "address": node.get("remoteIp"),
                        "wants": node["pendingDeclaredCommands"],
                    }
                )
        return {"asking": waiting, "devices": [self._device(each) for each in by_id.values()]}

    def _device(self, entry: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "id": entry["deviceId"],
            "name": entry.get("displayName") or entry.get("clientId") or entry["deviceId"][:12],
            "platform": entry.get("platform"),
            "version": entry.get("version"),
            "roles": entry["roles"],
            "scopes": entry["scopes"],
            "commands": entry.get("commands") or [],
            "connected": entry.get("connected", False),
            "seen": self._renderer.when(entry.get("lastSeenAtMs")),
            "seen_iso": self._renderer.iso(entry.get("lastSeenAtMs")),
        }
