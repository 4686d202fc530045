"""The page of channels: accounts with state and access, pairing requests, and unsent messages."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from aiohttp import web

from hub.core.errors import HubError, InvalidRequest, NotFound
from hub.core.phrases import phrase
from hub.core.schema import All, In, Length, Optional, Required, Schema, string
from hub.core.surfaces import HttpCall
from hub.gateway.access.hosts import is_loopback_host
from web.channels.guides import ACCOUNT_LABELS, CHOICE_LABELS, GUIDES, guide_of
from web.channels.identity_names import IdentityNames
from web.channels.pairing_card import PairingCard
from web.core.form import read_fields, read_lists, wrong_fields
from web.core.formats import title_of
from web.core.live import Frame
from web.core.method_client import MethodClient
from web.core.preferences import local_path
from web.core.render import RenderedPage, Renderer, json_response, see_other, wants_json
from web.core.texts import CHANNEL_STATES, DM_POLICIES, GROUP_POLICIES, MESSAGE_STATES, PAIRING_STATES, REQUIRED

PATH = "/channels"
PEOPLE = f"{PATH}/people"
UNSENT = f"{PATH}/unsent"
ADD = f"{PATH}/add"
ACCOUNT = f"{PATH}/account"
LINK = f"{PATH}/link"
LOOK_S = 3
"""How often the page with a code looks whether it was scanned."""

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
BEGIN_LINK = Schema(
    {
        **ONE.schema,
        Optional("number", default=""): All(string, Length(max=32)),
        Optional("pasted", default=""): All(string, Length(max=8_192)),
    }
)
REVOKE = Schema({Required("channel"): _NAME, Required("identity"): All(string, Length(min=1, max=512))})
SEND = Schema(
    {
        **ONE.schema,
        Optional("to", default=""): All(string, Length(max=4_000)),
        Optional("message", default=""): All(string, Length(max=100_000)),
    }
)
MESSAGE = Schema({Required("id"): _NAME, Required("do"): In(["retry", "drop"])})
UNDELIVERED_LIMIT = 50
WORDS_LIMIT = 80
UNDELIVERED = {"state": ["unknown", "dead"], "limit": UNDELIVERED_LIMIT}


class ChannelsPage:
    """The pages and their forms, for administrators.

    Args:
        client: Calls the methods for accounts and everything else.
        pairing: The card of those who ask to write.
    """

    def __init__(self, renderer: Renderer, client: MethodClient, pairing: PairingCard) -> None:
        self._renderer = renderer
        self._client = client
        self._pairing = pairing

    async def show(self, call: HttpCall) -> web.StreamResponse:
        """`GET /channels`: the accounts; without one, the chat apps to choose from."""
        return await self._show(call, PATH, {"accounts": await self.accounts(call), "kinds": await self.kinds(call)})

    async def people(self, call: HttpCall) -> web.StreamResponse:
        """`GET /channels/people`: who asks to write, and who may."""
        return await self._people(call, {})

    async def unsent(self, call: HttpCall) -> web.StreamResponse:
        """`GET /channels/unsent`: the messages that may not have been sent."""
        outbox = await self._client.ask(call, "outbox.list", UNDELIVERED)
        return await self._show(call, UNSENT, {"undelivered": self._undelivered(outbox)})

    async def account(self, call: HttpCall) -> web.StreamResponse:
        """`GET /channels/account?channel=…[&account=…]`: one account, its test, and who may write there."""
        query = call.request.query
        return await self._account(call, {"channel": query.get("channel", ""), "account": query.get("account", "")}, {})

    async def choose(self, call: HttpCall) -> web.StreamResponse:
        """`GET /channels/add[?channel=…][&back=…]`: the chat apps, and the form for one."""
        query = call.request.query
        return await self._add(call, {"channel": query.get("channel", ""), "back": query.get("back", "")})

    async def probe(self, call: HttpCall) -> web.StreamResponse:
        """`POST /channels/probe`: try an account."""
        fields = read_fields(call, ONE)
        answer = await self._client.ask(call, "channels.probe", fields)
        if wants_json(call.request):
            return json_response(answer)
        return await self._account(call, fields, {"probed": answer})

    async def send(self, call: HttpCall) -> web.StreamResponse:
        """`POST /channels/send`: send a message to somebody, to see that it arrives."""
        fields = read_fields(call, SEND)
        params = {"channel": fields["channel"], "accountId": fields["account"], "to": fields["to"].strip()}
        try:
            if not params["to"]:
                raise InvalidRequest(phrase("Say to whom."), details={"field": "to"})
            answer = await self._client.ask(call, "message.send", {**params, "message": fields["message"]})
        except HubError as error:
            if wants_json(call.request):
                raise
            wrong = wrong_fields(error, ("to", "message"))
            told = {"send": {**fields, "error": wrong["to"] or wrong[""], "message_error": wrong["message"]}}
            return await self._account(call, fields, told, status=error.http_status)
        if wants_json(call.request):
            return json_response(answer)
        failed = answer["state"] in ("dead", "unknown", "stopped")
        said = {"error": answer["error"] or MESSAGE_STATES[answer["state"]]} if failed else {"state": answer["state"]}
        return await self._account(call, fields, {"send": {**fields, **said}})

    async def add(self, call: HttpCall) -> web.StreamResponse:
        """`POST /channels/add`: add an account; one that does not work is not kept, and the form says why."""
        values = {name: texts[-1].strip() for name, texts in read_lists(call).items()}
        channel, back, way = (values.pop(name, "") for name in ("channel", "back", "way"))
        given = {name: value for name, value in values.items() if value}
        try:
            account = await self._by_way(call, channel, way, given)
            answer = await self._client.ask(call, "channels.add", {"channel": channel, "account": account})
        except HubError as error:
            if wants_json(call.request):
                raise
            asked = {"channel": channel, "back": back, "given": given, "way": way, "error": error}
            return await self._add(call, asked, status=error.http_status)
        if wants_json(call.request):
            return json_response(answer)
        return see_other(local_path(back) if back else _account_path(channel, answer["account"]["accountId"]))

    async def link(self, call: HttpCall) -> web.StreamResponse:
        """`GET /channels/link?channel=…&account=…[&paste=1]`: the code to scan, or the page to sign in on, until done.

        With `paste` it stays as it is, so that the address can be typed at which a sign-in ended.
        """
        query = call.request.query
        asked = {"channel": query.get("channel", ""), "account": query.get("account") or "default"}
        step = await self._client.ask(call, "channels.link", {**asked, "begin": False})
        if step["linked"] and not wants_json(call.request):
            return see_other(_account_path(**asked))
        code = step["qr"]
        if code is not None:
            import segno

            code = segno.make(code, error="l").svg_data_uri(scale=5, border=3, light="#fff")
        accounts = (await self._client.ask(call, "channels.status"))["channelAccounts"][asked["channel"]]
        of = next(each for each in accounts if each["accountId"] == asked["account"])
        paste = bool(query.get("paste"))
        told = {"label": of["label"], "signs_in": of["signsIn"], "paste": paste}
        page = RenderedPage("channel_link", "Channels", {**asked, **step, "qr": code, **told}, PATH, secret=True)
        response = await self._renderer.respond(call, page)
        if not step["error"] and not paste:
            response.headers["Refresh"] = str(LOOK_S)
        return response

    async def begin_link(self, call: HttpCall) -> web.StreamResponse:
        """`POST /channels/link`: begin to link an account to a phone."""
        fields = read_fields(call, BEGIN_LINK)
        more = {name: value for name in ("number", "pasted") if (value := fields.pop(name).strip())}
        try:
            step = await self._client.ask(call, "channels.link", {**fields, **more})
        except HubError as error:
            if wants_json(call.request):
                raise
            return await self._account(call, fields, {"link_error": error.message}, status=error.http_status)
        if wants_json(call.request):
            return json_response(step)
        return see_other(f"{LINK}?{urlencode(fields)}")

    async def remove(self, call: HttpCall) -> web.StreamResponse:
        """`POST /channels/remove`: take an account out of the configuration."""
        answer = await self._client.ask(call, "channels.remove", read_fields(call, ONE))
        return json_response(answer) if wants_json(call.request) else see_other(PATH)

    async def pair(self, call: HttpCall) -> web.StreamResponse:
        """`POST /channels/pairing`: let somebody in by the code they were shown, or refuse them."""
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
            refused = {**fields, "error": error.message}
            return await self._people(call, {"refused": refused}, status=error.http_status)
        return json_response(decided) if wants_json(call.request) else await self._people(call, {"decided": decided})

    async def revoke(self, call: HttpCall) -> web.StreamResponse:
        """`POST /channels/revoke`: forget that somebody was paired, or refused."""
        answer = await self._client.ask(call, "pairing.revoke", read_fields(call, REVOKE))
        return json_response(answer) if wants_json(call.request) else see_other(PEOPLE)

    async def message(self, call: HttpCall) -> web.StreamResponse:
        """`POST /channels/message`: send a message again that was not surely sent, or drop it."""
        fields = read_fields(call, MESSAGE)
        answer = await self._client.ask(call, f"outbox.{fields['do']}", {"id": fields["id"]})
        return json_response(answer) if wants_json(call.request) else see_other(UNSENT)

    async def state(self, topic: str, language: str) -> Sequence[Frame]:
        """Return the frames that show the accounts, and the messages that were not sent."""
        outbox = await self._client.read("outbox.list", UNDELIVERED)
        access = await self._client.read("pairing.list", {"all": True})
        accounts = self._accounts(await self._client.read("channels.status"), access, outbox)
        told = {"channels": {"accounts": accounts}, "writers": {"accounts": accounts}}
        told["undelivered"] = {"undelivered": self._undelivered(outbox)}
        return [
            {"t": "html", "id": id, "html": self._renderer.fragment(id, language, **values)}
            for id, values in told.items()
        ]

    async def _people(self, call: HttpCall, asked: Mapping[str, Any], *, status: int = 200) -> web.StreamResponse:
        data = {
            "pairing": await self._pairing.data(call),
            "refused": asked.get("refused"),
            "decided": asked.get("decided"),
            "accounts": await self.accounts(call),
        }
        return await self._show(call, PEOPLE, data, status)

    async def _account(
        self, call: HttpCall, wanted: Mapping[str, Any], told: Mapping[str, Any], *, status: int = 200
    ) -> web.StreamResponse:
        name = wanted["account"] or "default"
        every = await self.accounts(call)
        found = next(
            (each for each in every if (each["channel"], each["accountId"]) == (wanted["channel"], name)), None
        )
        if found is None:
            raise NotFound(f"There is no account {name} of {wanted['channel'] or 'that channel'}.")
        data = {"account": found, "probed": told.get("probed"), "send": told.get("send")}
        data["link_error"] = told.get("link_error")
        data["page"] = None
        if "pageUrl" in found:
            data["page"] = page_of(found["pageUrl"], call.request.host, secure=call.request.secure)
        return await self._show(call, ACCOUNT, data, status)

    async def _add(self, call: HttpCall, asked: Mapping[str, Any], *, status: int = 200) -> web.StreamResponse:
        back = local_path(asked["back"]) if asked["back"] else ""
        kinds = await self.kinds(call, back)
        chosen = next((_form(each, asked) for each in kinds if each["channel"] == asked["channel"]), None)
        return await self._show(call, ADD, {"kinds": kinds, "chosen": chosen, "back": back}, status)

    async def _by_way(self, call: HttpCall, channel: str, way: str, given: Mapping[str, str]) -> dict[str, str]:
        """Return what was typed, without the fields of the ways that were not chosen.

        Raises:
            InvalidRequest: The chosen way lacks a field.
        """
        kinds = (await self._client.ask(call, "channels.kinds"))["channels"] if way else []
        none: list[Mapping[str, Any]] = []
        ways = next((each["ways"] for each in kinds if each["channel"] == channel), none)
        chosen: Mapping[str, Any] = next((each for at, each in enumerate(ways) if str(at) == way), {"needs": ()})
        if lacking := next((name for name in chosen["needs"] if name not in given), None):
            raise InvalidRequest(REQUIRED, details={"field": lacking})
        other = {name for each in ways if each is not chosen for name in (*each["needs"], *each["may"])}
        return {name: value for name, value in given.items() if name not in other}

    async def _show(self, call: HttpCall, path: str, data: Mapping[str, Any], status: int = 200) -> web.StreamResponse:
        name = {PATH: "channels"}.get(path, f"channel_{path.rpartition('/')[2]}")
        place = path if path in (PEOPLE, UNSENT) else PATH
        page = RenderedPage(name, "Channels", data, place, status, secret=path == ADD)
        return await self._renderer.respond(call, page)

    async def kinds(self, call: HttpCall, back: str = "") -> list[dict[str, Any]]:
        """Return the chat apps that can be added; `back` is the page after that, instead of the account's."""
        then = {"back": back} if back else {}
        kinds = (await self._client.ask(call, "channels.kinds"))["channels"]
        shown = [
            {
                **each,
                "path": f"{ADD}?{urlencode({'channel': each['channel'], **then})}",
                "icon": guide_of(each["channel"]).icon,
                "line": guide_of(each["channel"]).line,
                "steps": guide_of(each["channel"]).steps,
            }
            for each in kinds
        ]
        order = list(GUIDES)
        return sorted(shown, key=lambda each: order.index(each["channel"]) if each["channel"] in GUIDES else len(order))

    async def accounts(self, call: HttpCall) -> list[dict[str, Any]]:
        """Return the accounts as pages show them."""
        outbox = await self._client.ask(call, "outbox.list", UNDELIVERED)
        access = await self._client.ask(call, "pairing.list", {"all": True})
        return self._accounts(await self._client.ask(call, "channels.status"), access, outbox)

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
        names = IdentityNames(access, found["channelLabels"])
        queued = {(each["channel"], each["account"]): each["count"] for each in outbox["waiting"]}
        decided = [
            {**each, **names.shown(each["identity"]), "state_text": PAIRING_STATES[each["state"]]}
            for each in access["requests"]
            if each["state"] in PAIRING_STATES
        ]
        return [
            {
                "channel": channel,
                **each,
                **_lists(allowed.get((channel, each["accountId"])), names),
                "decided": [who for who in decided if (who["channel"], who["account"]) == (channel, each["accountId"])],
                "queued": queued.get((channel, each["accountId"]), 0),
                "state_text": CHANNEL_STATES[each["state"]],
                "path": _account_path(channel, each["accountId"]),
                "icon": guide_of(channel).icon,
                "heard": self._renderer.when(each["lastEventAt"]),
            }
            for channel in found["channelOrder"]
            for each in found["channelAccounts"][channel]
        ]


def _lists(allowed: Mapping[str, Any] | None, names: IdentityNames) -> dict[str, Any]:
    """Return the configured allow lists; empty for an account that is not logged in."""
    if allowed is None:
        return {"dm_text": ""}
    return {
        **allowed,
        "writers": [names.shown(each, allowed["channel"]) for each in allowed["allowFrom"]],
        "group_writers": [names.shown(each, allowed["channel"]) for each in allowed["groupAllowFrom"]],
        "dm_text": DM_POLICIES[allowed["dmPolicy"]],
        "group_text": GROUP_POLICIES[allowed["groupPolicy"]],
    }


def page_of(url: str, host: str, *, secure: bool) -> dict[str, Any]:
    """Return the `url` of a channel's page, its `qr` code, and whether other devices reach it (`far`).

    Args:
        url: The address as the hub knows it.
        host: By which the viewer reaches the hub; one that is not of this machine alone counts, with a proxy or tunnel.
        secure: Whether the viewer came over https.
    """
    import segno

    parts = urlsplit(url)
    if not is_loopback_host(host):
        parts = parts._replace(scheme="https" if secure else "http", netloc=host)
    url = parts.geturl()
    code = segno.make(url, error="l").svg_data_uri(scale=4, border=3, light="#fff")
    return {"url": url, "qr": code, "far": not is_loopback_host(parts.netloc)}


def _words(message: Mapping[str, Any]) -> str:
    """Return the first words of a message, or its kind."""
    words = " ".join((message["text"] or ", ".join(message["media"]) or message["kind"]).split())
    return words if len(words) <= WORDS_LIMIT else f"{words[:WORDS_LIMIT]}…"


def _account_path(channel: str, account: str) -> str:
    return f"{ACCOUNT}?{urlencode({'channel': channel, 'account': account})}"


def _is_needed(field: Mapping[str, Any], ways: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether something stands in a field: its way needs it, or one of its choices is always taken."""
    own = [name for way in ways for name in (*way["needs"], *(way["may"] if field["choices"] else ()))]
    return field["name"] in own or bool(field["choices"] and field["default"] is not None)


def _form(kind: Mapping[str, Any], asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return the form for a further account: the fields that set-up asks for, by their way, and a name.

    The typed values stay, secrets too; an error is shown at the field that it names.
    """
    given, error = asked.get("given", {}), asked.get("error")
    fields = [
        {
            **field,
            "needed": field["required"] or _is_needed(field, kind["ways"]),
            "label": ACCOUNT_LABELS.get(field["name"]) or title_of(field["name"]),
            "value": given.get(field["name"], ""),
            "options": [
                ("" if each == field["default"] else each, CHOICE_LABELS.get(each, each))
                for each in field["choices"] or ()
            ],
        }
        for field in kind["fields"]
        if field["asked"]
    ]
    said = error.message if error is not None else ""
    names = [error.details["field"]] if error is not None and "field" in error.details else re.findall(r"\w+", said)
    wrong = next((each["name"] for name in names for each in fields if each["name"] == name), None)
    for field in fields:
        field["error"] = said if field["name"] == wrong else ""
    ways = [
        {**way, "fields": [each for each in fields if each["name"] in (*way["needs"], *way["may"])]}
        for way in kind["ways"]
    ]
    chosen = next((at for at, way in enumerate(ways) if any(each["value"] for each in way["fields"])), 0)
    return {
        **kind,
        "fields": [each for each in fields if not any(each in way["fields"] for way in ways)],
        "ways": ways,
        "way": int(asked["way"]) if asked.get("way", "").isdecimal() else chosen,
        "account": given.get("account", ""),
        "error": "" if wrong else said,
    }
