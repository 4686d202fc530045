"""The page *Phones and computers*: pairing requests, paired devices, their permissions, and adding one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from aiohttp import web
from msgspec.structs import asdict

from hub.core.errors import HubError
from hub.core.schema import All, In, Length, Optional, Required, Schema, string
from hub.core.surfaces import HttpCall
from web.core.form import read_fields
from web.core.live import Frame
from web.core.method_client import MethodClient
from web.core.render import RenderedPage, Renderer, json_response, see_other, wants_json
from web.devices.reach import HubReach

PATH = "/devices/phones"

_ID = All(string, Length(min=1, max=128))
KINDS = ("phone", "app", "computer")
ACCESS: Mapping[str, str] = {
    "full": "Everything",
    "limited": "All but settings",
    "node": "Only be asked",
}
"""What a device may do, and what it is called."""
EMPTY: Mapping[str, Any] = {"adding": "", "made": None, "opened": "", "error": None, "url": ""}
USUAL = {"phone": "limited", "app": "full", "computer": "node"}
PAIR = Schema(
    {
        Optional("add", default="app"): In(KINDS),
        Optional("access", default=""): In(["", *ACCESS]),
        Optional("url", default=""): All(string, Length(max=512)),
    }
)
REACH = Schema({Optional("add", default="phone"): In(KINDS)})
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
        client: Calls the methods for devices and nodes.
        reach: Knows how devices reach the hub.
    """

    def __init__(self, renderer: Renderer, client: MethodClient, reach: HubReach) -> None:
        self._renderer = renderer
        self._client = client
        self._reach = reach

    async def show(self, call: HttpCall) -> web.StreamResponse:
        """`GET /devices/phones[?add=phone|app|computer]`: who waits, all devices, and how one is added."""
        add = call.request.query.get("add", "")
        return await self._show(call, {"adding": add if add in KINDS else ""})

    async def pair(self, call: HttpCall) -> web.StreamResponse:
        """`POST /devices/pair`: show a code that lets one device in."""
        fields = read_fields(call, PAIR)
        kind, access = fields["add"], fields["access"] or USUAL[fields["add"]]
        url = fields["url"].strip() or self._reach.here(call)
        params = {"bootstrapProfile": access, "includeQr": False} | ({"publicUrl": url} if url else {})
        asked = {"adding": kind, "chosen": access, "url": fields["url"]}
        try:
            made = await self._client.ask(call, "device.pair.setupCode", params)
        except HubError as error:
            if wants_json(call.request):
                raise
            return await self._show(call, {**asked, "error": error.message}, status=error.http_status)
        if wants_json(call.request):
            return json_response(made)
        return await self._show(call, {**asked, "made": self._made(kind, made)})

    async def open(self, call: HttpCall) -> web.StreamResponse:
        """`POST /devices/reach`: make the hub reachable in the home's network, with a certificate."""
        kind = read_fields(call, REACH)["add"]
        try:
            address = await self._reach.open()
        except HubError as error:
            if wants_json(call.request):
                raise
            return await self._show(call, {"adding": kind, "error": error.message}, status=error.http_status)
        if wants_json(call.request):
            return json_response({"url": address})
        return await self._show(call, {"adding": kind, "opened": f"{address}{PATH}?add={kind}"})

    def _made(self, kind: str, made: Mapping[str, Any]) -> dict[str, Any]:
        """Return the data of a code: a link for a browser, the code for the app, a command for a computer."""
        import segno

        parts = urlsplit(made["gatewayUrl"])
        page = f"{'https' if parts.scheme == 'wss' else 'http'}://{parts.netloc}/p#{made['setupCode']}"
        commands = {"phone": page, "app": made["setupCode"], "computer": f"homarus-node run --pair {made['setupCode']}"}
        return {
            "text": commands[kind],
            "qr": segno.make(commands[kind], error="l").svg_data_uri(scale=4, border=3, light="#fff"),
            "until": self._renderer.when(made["expiresAtMs"]),
            "accessDowngraded": made.get("accessDowngraded", False),
        }

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
        data: dict[str, Any] = {
            **self._shown(listed, nodes),
            **EMPTY,
            "access": list(ACCESS.items()),
            **asked,
        }
        data |= {"chosen": data.get("chosen") or USUAL.get(data["adding"], ""), "reach": asdict(self._reach.look(call))}
        return await self._renderer.respond(
            call, RenderedPage("devices", "Phones and computers", data, PATH, status, secret=True)
        )

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
