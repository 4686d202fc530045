"""The page of channels: accounts with state and access, pairing requests, and unsent messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote, urlencode

from aiohttp import web

from hub.core.errors import HubError
from hub.core.schema import All, In, Length, Optional, Required, Schema, string
from hub.core.surfaces import HttpCall
from web.channels.pairing_card import PairingCard
from web.core.form import read_fields, read_lists
from web.core.live import Frame
from web.core.method_client import MethodClient
from web.core.render import RenderedPage, Renderer, json_response, see_other, wants_json
from web.core.texts import CHANNEL_STATES, DM_POLICIES, GROUP_POLICIES, MESSAGE_STATES, PAIRING_STATES

PATH = "/channels"

_NAME = All(string, Length(min=1, max=128))
ONE = Schema({Required("channel"): _NAME, Optional("account", default="default"): _NAME})
PAIR = Schema(
    {
        Required("channel"): _NAME,
        Required("id"): _NAME,
        Required("answer"): In(["approve", "deny"]),
        Optional("code", default=""): All(string, Length(max=128)),
        Optional("person", default=""): All(string, Length(max=128)),
    }
)
REVOKE = Schema({Required("channel"): _NAME, Required("identity"): All(string, Length(min=1, max=512))})
MESSAGE = Schema({Required("id"): _NAME, Required("do"): In(["retry", "drop"])})
UNDELIVERED_LIMIT = 50
WORDS_LIMIT = 80
UNDELIVERED = {"state": ["unknown", "dead"], "limit": UNDELIVERED_LIMIT}


class ChannelsPage:
    """The page and its forms, for administrators.

    Args:
        client: Where accounts are listed, tried, added and removed, and all else is asked for.
        pairing: The card of those who ask to write.
    """

    def __init__(self, renderer: Renderer, client: MethodClient, pairing: PairingCard) -> None:
        self._renderer = renderer
        self._client = client
        self._pairing = pairing

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

    async def pair(self, call: HttpCall) -> web.StreamResponse:
        """`POST /channels/pairing`: approve somebody by their code, or refuse them."""
        fields = read_fields(call, PAIR)
        params = {"channel": fields["channel"], "code": fields["id"]}
        if fields["answer"] == "approve":
            params |= {"code": fields["code"].strip(), "id": fields["id"]}
            params |= {"person": fields["person"]} if fields["person"] else {}
        try:
            decided = await self._client.ask(call, f"pairing.{fields['answer']}", params)
        except HubError as error:
            if wants_json(call.request):
                raise
            refused = {"id": fields["id"], "error": error.message}
            return await self._show(call, {"refused": refused}, status=error.http_status)
        return json_response(decided) if wants_json(call.request) else await self._show(call, {"decided": decided})

    async def revoke(self, call: HttpCall) -> web.StreamResponse:
        """`POST /channels/revoke`: forget that somebody was paired, or refused."""
        answer = await self._client.ask(call, "pairing.revoke", read_fields(call, REVOKE))
        return json_response(answer) if wants_json(call.request) else see_other(PATH)

    async def message(self, call: HttpCall) -> web.StreamResponse:
        """`POST /channels/message`: send a failed or uncertain message again, or drop it."""
        fields = read_fields(call, MESSAGE)
        answer = await self._client.ask(call, f"outbox.{fields['do']}", {"id": fields["id"]})
        return json_response(answer) if wants_json(call.request) else see_other(PATH)

    async def state(self, topic: str, language: str) -> Sequence[Frame]:
        """Return the frames that show the accounts, and the messages that were not sent."""
        outbox = await self._client.read("outbox.list", UNDELIVERED)
        access = await self._client.read("pairing.list", {"all": True})
        accounts = self._accounts(await self._client.read("channels.status"), access, outbox)
        undelivered = self._undelivered(outbox)
        return (
            {"t": "html", "id": "channels", "html": self._renderer.fragment("channels", language, accounts=accounts)},
            {
                "t": "html",
                "id": "undelivered",
                "html": self._renderer.fragment("undelivered", language, undelivered=undelivered),
            },
        )

    async def _show(self, call: HttpCall, asked: Mapping[str, Any], *, status: int = 200) -> web.StreamResponse:
        kinds = (await self._client.ask(call, "channels.kinds"))["channels"]
        outbox = await self._client.ask(call, "outbox.list", UNDELIVERED)
        access = await self._client.ask(call, "pairing.list", {"all": True})
        data = {
            "accounts": self._accounts(await self._client.ask(call, "channels.status"), access, outbox),
            "pairing": await self._pairing.data(call),
            "undelivered": self._undelivered(outbox),
            "refused": asked.get("refused"),
            "decided": asked.get("decided"),
            "kinds": [{**each, "path": f"{PATH}?{urlencode({'channel': each['channel']})}#add"} for each in kinds],
            "chosen": next((_form(each, asked) for each in kinds if each["channel"] == asked.get("channel")), None),
            "error": asked.get("error"),
            "probed": asked.get("probed"),
        }
        return await self._renderer.respond(call, RenderedPage("channels", "Channels", data, PATH, status))

    def _undelivered(self, outbox: Mapping[str, Any]) -> list[dict[str, Any]]:
        return [
            {
                **each,
                "words": _words(each),
                "state_text": MESSAGE_STATES[each["state"]],
                "path": f"/chat?session={quote(each['sessionKey'], safe='')}" if each["sessionKey"] else None,
                "when": self._renderer.when(each["updatedAtMs"]),
                "iso": self._renderer.iso(each["updatedAtMs"]),
            }
            for each in outbox["messages"]
        ]

    def _accounts(
        self, found: Mapping[str, Any], access: Mapping[str, Any], outbox: Mapping[str, Any]
    ) -> list[dict[str, Any]]:
        allowed = {(each["channel"], each["account"]): each for each in access["allowed"]}
        queued = {(each["channel"], each["account"]): each["count"] for each in outbox["waiting"]}
        decided = [
            {**each, "state_text": PAIRING_STATES[each["state"]]}
            for each in access["requests"]
            if each["state"] in PAIRING_STATES
        ]
        return [
            {
                "channel": channel,
                **each,
                **_lists(allowed.get((channel, each["accountId"]))),
                "decided": [who for who in decided if (who["channel"], who["account"]) == (channel, each["accountId"])],
                "queued": queued.get((channel, each["accountId"]), 0),
                "state_text": CHANNEL_STATES[each["state"]],
                "heard": self._renderer.when(each["lastEventAt"], seconds=True),
                "heard_iso": self._renderer.iso(each["lastEventAt"]),
            }
            for channel in found["channelOrder"]
            for each in found["channelAccounts"][channel]
        ]


def _lists(allowed: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the configured allow lists; empty for an account that is not logged in."""
    if allowed is None:
        return {"dm_text": ""}
    return {
        **allowed,
        "dm_text": DM_POLICIES[allowed["dmPolicy"]],
        "group_text": GROUP_POLICIES[allowed["groupPolicy"]],
    }


def _words(message: Mapping[str, Any]) -> str:
    """Return the first words of a message, or what else it is."""
    words = " ".join((message["text"] or ", ".join(message["media"]) or message["kind"]).split())
    return words if len(words) <= WORDS_LIMIT else f"{words[:WORDS_LIMIT]}…"


def _form(kind: Mapping[str, Any], asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return the form for a further account: the platform's fields, and a name; the rest has defaults."""
    given = asked.get("given", {})
    fields = [
        {
            **field,
            "label": field["name"].replace("_", " ").capitalize(),
            "shown": "" if field["secret"] else given.get(field["name"], ""),
        }
        for field in kind["fields"]
        if field["required"] or field["secret"]
    ]
    return {**kind, "fields": fields, "account": given.get("account", "")}
