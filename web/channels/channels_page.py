"""The page of channels: the accounts with their state, a form that adds one with a live test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from aiohttp import web

from hub.core.errors import HubError
from hub.core.schema import All, Length, Optional, Required, Schema, string
from hub.gateway.calls.contract import HttpCall
from web.core.form import read_fields, read_lists
from web.core.live import Frame
from web.core.method_client import MethodClient
from web.core.render import RenderedPage, Renderer, json_response, see_other, wants_json
from web.core.texts import CHANNEL_STATES

PATH = "/channels"

_NAME = All(string, Length(min=1, max=128))
ONE = Schema({Required("channel"): _NAME, Optional("account", default="default"): _NAME})


class ChannelsPage:
    """The page and its forms, for administrators.

    Args:
        client: Where accounts are listed, tried, added and removed.
    """

    def __init__(self, renderer: Renderer, client: MethodClient) -> None:
        self._renderer = renderer
        self._client = client

    async def show(self, call: HttpCall) -> web.StreamResponse:
        """`GET /channels[?channel=…]`: the accounts, and the form for a further one."""
        return await self._show(call, {"channel": call.request.query.get("channel", "")})

    async def probe(self, call: HttpCall) -> web.StreamResponse:
        """`POST /channels/probe`: try an account."""
        fields = read_fields(call, ONE)
        answer = await self._client.ask(call, "channels.probe", fields)
        if wants_json(call.request):
            return json_response(answer)
        return await self._show(call, {"probed": {**fields, **answer}})

    async def add(self, call: HttpCall) -> web.StreamResponse:
        """`POST /channels/add`: add an account; one that does not work is not kept, and the form says why."""
        values = {name: texts[-1].strip() for name, texts in read_lists(call).items()}
        channel = values.pop("channel", "")
        given = {name: value for name, value in values.items() if value}
        try:
            answer = await self._client.ask(call, "channels.add", {"channel": channel, "account": given})
        except HubError as error:
            if wants_json(call.request):
                raise
            asked = {"channel": channel, "given": given, "error": error.message}
            return await self._show(call, asked, status=error.http_status)
        return json_response(answer) if wants_json(call.request) else see_other(PATH)

    async def remove(self, call: HttpCall) -> web.StreamResponse:
        """`POST /channels/remove`: take an account out of the configuration."""
        answer = await self._client.ask(call, "channels.remove", read_fields(call, ONE))
        return json_response(answer) if wants_json(call.request) else see_other(PATH)

    async def state(self, topic: str, language: str) -> Sequence[Frame]:
        """Return the frame that shows the accounts."""
        accounts = self._accounts(await self._client.read("channels.status"))
        html = self._renderer.fragment("channels", language, accounts=accounts)
        return ({"t": "html", "id": "channels", "html": html},)

    async def _show(self, call: HttpCall, asked: Mapping[str, Any], *, status: int = 200) -> web.StreamResponse:
        kinds = (await self._client.ask(call, "channels.kinds"))["channels"]
        data = {
            "accounts": self._accounts(await self._client.ask(call, "channels.status")),
            "kinds": [{**each, "path": f"{PATH}?{urlencode({'channel': each['channel']})}#add"} for each in kinds],
            "chosen": next((_form(each, asked) for each in kinds if each["channel"] == asked.get("channel")), None),
            "error": asked.get("error"),
            "probed": asked.get("probed"),
        }
        return await self._renderer.respond(call, RenderedPage("channels", "Channels", data, PATH, status))

    def _accounts(self, found: Mapping[str, Any]) -> list[dict[str, Any]]:
        return [
            {
                "channel": channel,
                **each,
                "state_text": CHANNEL_STATES[each["state"]],
                "heard": self._renderer.when(each["lastEventAt"], seconds=True),
                "heard_iso": self._renderer.iso(each["lastEventAt"]),
            }
            for channel in found["channelOrder"]
            for each in found["channelAccounts"][channel]
        ]


def _form(kind: Mapping[str, Any], asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return the form for a further account: what the platform needs, and a name; all else has defaults."""
    given = asked.get("given", {})
    fields = [
        {
            **field,
            "label": field["name"].replace("_", " ").capitalize(),
            "shown": "" if field["secret"] else given.get(field["name"], ""),
        }
        for field in kind["fields"]
        if field["required"]
    ]
    return {**kind, "fields": fields, "account": given.get("account", "")}
