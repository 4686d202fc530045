"""The pages of agents: who answers, and one agent to set up whole; what is wrong stays in the form, at its field."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import quote, unquote, urlencode

from aiohttp import web

from hub.core.errors import Forbidden, HubError, InvalidRequest
from hub.core.phrases import phrase
from hub.core.schema import All, Length, Optional, Required, Schema, string
from hub.core.surfaces import ADMIN, HttpCall
from hub.models.thinking import LEVELS
from web.agents.model_names import ModelNames
from web.chat.markdown import Markdown
from web.core.form import read_fields, read_lists, wrong_fields
from web.core.formats import money, title_of
from web.core.i18n import Catalogue, catalogue
from web.core.method_client import MethodClient
from web.core.page_parts import page_part
from web.core.render import RenderedPage, Renderer, json_response, see_other, wants_json
from web.core.texts import THINKING_LEVELS, TOOL_GROUPS, TOOL_RISKS
from web.core.tool_texts import tool_texts
from web.skills.tools_page import ICONS, risk_of

PATH = "/agents"
ONE = f"{PATH}/agent"
NEW = f"{PATH}/new"
CHARACTER = "SOUL.md"
MEMORY = "memory"
DAYS = 30
CHARACTER_LIMIT = 200_000
MODELS_LIMIT = 200
WHOLE = "whole"
"""A field of the form that has all switches: of another one, those that are missing are not off."""
RISKS = ("read", "outside", "change", "destroy")
"""The worst last."""
BUDGET_FIELDS = ("cost_usd", "tokens", "then", "budget")
FIELDS = ("id", "name", "emoji", "avatar", "content", "model", "thinking", "tools", "channels", "chats", *BUDGET_FIELDS)
"""Where an error can stand; what belongs to none of them stands above the form."""

_ID = {Required("id"): All(string, Length(min=1, max=64))}
ID = Schema(_ID)
PICTURE = Schema({**_ID, Optional("file", default=b""): bytes, Optional("do", default=""): string})
PREVIEW = Schema({Required("text"): All(string, Length(max=CHARACTER_LIMIT))})

AS_IT_LIKES = phrase("As the model likes")

Typed = Mapping[str, Sequence[str]]


class AgentsPage:
    """The pages and their forms.

    Args:
        client: Where agents, their files, tools, channels and cost are asked for, and changed.
    """

    def __init__(self, renderer: Renderer, client: MethodClient) -> None:
        self._renderer = renderer
        self._client = client
        self._markdown = Markdown()

    async def show(self, call: HttpCall) -> web.StreamResponse:
        """`GET /agents`: the agents, what each runs on and what it cost."""
        found = await self._client.ask(call, "agents.list")
        names = await ModelNames.of(self._client, call, self._words(call).gettext)
        used = await page_part(self._client.ask(call, "models.usage", {"days": DAYS, "by": "agent"}))
        cost = {each["agent"]: each for each in (used["shown"] or {"rows": []})["rows"]}
        may_change = call.known_caller.authority.has(ADMIN)
        agents = [
            {
                **_agent(each, names),
                "default": each["id"] == found["defaultId"],
                "path": _path(each["id"]) if may_change else "",
                "used": _used(cost.get(each["id"])),
            }
            for each in found["agents"]
        ]
        data = {
            "agents": agents,
            "may_change": may_change,
            "days": DAYS,
            "unknown_use": used["error"],
            "places": await page_part(self._places(call, found)) if may_change else None,
        }
        return await self._renderer.respond(call, RenderedPage("agents", "Agents", data, PATH))

    async def _places(self, call: HttpCall, found: Mapping[str, Any]) -> list[dict[str, str]]:
        """Return the chat apps, each with the agent that answers there."""
        names = {each["id"]: each.get("name") or each["id"] for each in found["agents"]}
        state = await self._client.ask(call, "agents.get", {"agentId": found["defaultId"]})
        shown = _channels(state["bindings"], await self._accounts(call), found["defaultId"], names, None)
        return [{"label": each["label"], "agent": each["other"] or names[found["defaultId"]]} for each in shown]

    async def agent(self, call: HttpCall) -> web.StreamResponse:
        """`GET /agents/agent?id=…`: one agent."""
        return await self._show(call, call.request.query.get("id", ""))

    async def new(self, call: HttpCall) -> web.StreamResponse:
        """`GET /agents/new`: the form of a further agent."""
        return await self._new(call, {}, None)

    async def create(self, call: HttpCall) -> web.StreamResponse:
        """`POST /agents/new`: add an agent, and go on to set it up."""
        typed = read_lists(call)
        params = {name: value for name in ("name", "emoji", "model") if (value := _one(typed, name))}
        try:
            made = await self._client.ask(call, "agents.create", {"name": "", **params})
        except HubError as error:
            if wants_json(call.request):
                raise
            return await self._new(call, typed, error)
        return json_response(made) if wants_json(call.request) else see_other(f"{_path(made['agentId'])}&told=made")

    async def save(self, call: HttpCall) -> web.StreamResponse:
        """`POST /agents/agent`: write what changed of an agent; its character is a file in its workspace."""
        typed = read_lists(call)
        id = _one(typed, "id")
        change = {}
        try:
            state = await self._client.ask(call, "agents.get", {"agentId": id})
            accounts = await self._accounts(call)
            change = _changes(state, accounts, typed)
            if change:
                await self._client.ask(call, "agents.update", {"agentId": id, **change})
            if "character" in typed:
                params = {"agentId": id, "name": CHARACTER, "content": _one(typed, "character", strip=False)}
                await self._client.ask(call, "agents.files.set", params)
        except HubError as error:
            if wants_json(call.request):
                raise
            return await self._show(call, id, typed, error)
        return json_response({"ok": True}) if wants_json(call.request) else see_other(f"{_path(id)}&told=saved")

    async def picture(self, call: HttpCall) -> web.StreamResponse:
        """`POST /agents/picture`: give an agent a picture, or take it away."""
        fields = read_fields(call, PICTURE, files=("file",))
        data = fields["file"]
        avatar = None if fields["do"] == "remove" else f"data:image/png;base64,{base64.b64encode(data).decode()}"
        try:
            if avatar is not None and not data:
                raise InvalidRequest(phrase("Choose a picture first."), details={"field": "avatar"})
            await self._client.ask(call, "agents.update", {"agentId": fields["id"], "avatar": avatar})
        except HubError as error:
            if wants_json(call.request):
                raise
            return await self._show(call, fields["id"], None, error)
        return (
            json_response({"ok": True}) if wants_json(call.request) else see_other(f"{_path(fields['id'])}&told=saved")
        )

    async def preview(self, call: HttpCall) -> web.StreamResponse:
        """`POST /agents/preview`: a character as it reads, as HTML in JSON."""
        text = read_fields(call, PREVIEW)["text"]
        return json_response({"html": await self._html(text)})

    async def make_default(self, call: HttpCall) -> web.StreamResponse:
        """`POST /agents/default`: let an agent answer where no other does."""
        id = read_fields(call, ID)["id"]
        return await self._done(call, id, "agents.update", {"agentId": id, "default": True}, f"{_path(id)}&told=saved")

    async def remove(self, call: HttpCall) -> web.StreamResponse:
        """`POST /agents/remove`: take an agent out of the configuration; its workspace stays."""
        id = read_fields(call, ID)["id"]
        return await self._done(call, id, "agents.delete", {"agentId": id}, PATH)

    # --- below ---

    async def _done(
        self, call: HttpCall, id: str, method: str, params: Mapping[str, Any], then: str
    ) -> web.StreamResponse:
        try:
            answer = await self._client.ask(call, method, params)
        except HubError as error:
            if wants_json(call.request):
                raise
            return await self._show(call, id, None, error)
        return json_response(answer) if wants_json(call.request) else see_other(then)

    async def _new(self, call: HttpCall, typed: Typed, error: HubError | None) -> web.StreamResponse:
        names = await ModelNames.of(self._client, call, self._words(call).gettext)
        wrong = wrong_fields(error, FIELDS)
        data = {
            "value": {name: _one(typed, name) for name in ("name", "emoji", "model")},
            "wrong": wrong,
            "problem": wrong[""],
            "models": names.choices()[:MODELS_LIMIT],
        }
        status = error.http_status if error is not None else 200
        return await self._renderer.respond(call, RenderedPage("agent_new", "New agent", data, PATH, status))

    async def _show(
        self, call: HttpCall, id: str, typed: Typed | None = None, error: HubError | None = None
    ) -> web.StreamResponse:
        state = await self._client.ask(call, "agents.get", {"agentId": id})
        try:
            file = (await self._client.ask(call, "agents.files.get", {"agentId": id, "name": CHARACTER}))["file"]
            character = file.get("content", "")
        except Forbidden:
            character = None
        found = await self._client.ask(call, "agents.list")
        listed = next(each for each in found["agents"] if each["id"] == id)
        names = await ModelNames.of(self._client, call, self._words(call).gettext)
        groups = _groups(state["tools"], typed)
        accounts = await self._accounts(call)
        agents = {each["id"]: each.get("name") or each["id"] for each in found["agents"]}
        if typed is not None and character is not None:
            character = _one(typed, "character", strip=False)
        values = _values(state, typed)
        wrong = wrong_fields(error, FIELDS)
        data = {
            "agent": {**_agent(listed, names), "default": state["default"], "avatar": state["avatar"] or ""},
            "told": call.request.query.get("told", "") if error is None else "",
            "value": values,
            "wrong": wrong,
            "problem": wrong[""],
            "budget_wrong": next((wrong[name] for name in BUDGET_FIELDS if wrong[name]), ""),
            "character": character,
            "character_html": await self._html(character) if character else "",
            "models": names.choices(values["model"])[:MODELS_LIMIT],
            "answers": _agent(listed, names)["model"],
            "thinking": self._thinking(call),
            "channels": _channels(state["bindings"], accounts, id, agents, typed),
            "chats": await self._chats(call, state["chats"], typed),
            "other_bindings": [
                ", ".join(f"{title_of(name)} {value}" for name, value in each.items())
                for each in state["otherBindings"]
                if not {"channel", "peer"} <= each.keys() <= {"channel", "account", "peer"}
            ],
            "memory": next((each for each in groups if each["name"] == MEMORY), None),
            "groups": [each for each in groups if each["name"] != MEMORY],
        }
        page = RenderedPage("agent", "Agents", data, PATH, error.http_status if error is not None else 200)
        return await self._renderer.respond(call, page)

    def _words(self, call: HttpCall) -> Catalogue:
        return catalogue(self._renderer.preferences(call).language)

    def _thinking(self, call: HttpCall) -> list[tuple[str, str]]:
        words = self._words(call)
        options = {"": AS_IT_LIKES, **{level: THINKING_LEVELS[level] for level in LEVELS}}
        return [(level, words.gettext(text)) for level, text in options.items()]

    async def _html(self, text: str) -> str:
        await self._markdown.prepare([text])
        return self._markdown.render_kept(text)

    async def _chats(
        self, call: HttpCall, bound: Sequence[Mapping[str, Any]], typed: Typed | None
    ) -> list[dict[str, str]]:
        """Return the single chats of an agent as a picker shows them, by name where they are known."""
        values = _typed_chats(typed) if typed is not None and WHOLE in typed else [*map(_chat_value, bound)]
        known = (await self._client.ask(call, "channels.directory"))["chats"] if values else []
        names = {(each["channel"], each["peer"]): each["name"] for each in known if each["name"]}
        shown = []
        for value in values:
            try:
                chat = _chat(value)
            except InvalidRequest:  # it is told at the field
                shown.append({"value": value, "text": value})
                continue
            place = (chat["channel"], chat["peer"])
            shown.append({"value": value, "text": names.get(place) or ":".join(place)})
        return shown

    async def _accounts(self, call: HttpCall) -> list[tuple[str, str, str]]:
        """Return the accounts of chat apps, as (channel, account, name)."""
        found = await self._client.ask(call, "channels.status")
        return [
            (
                channel,
                each["accountId"],
                each["label"] if each["accountId"] == "default" else f"{each['label']} · {each['accountId']}",
            )
            for channel in found["channelOrder"]
            for each in found["channelAccounts"][channel]
        ]


def _agent(each: Any, names: ModelNames) -> dict[str, Any]:
    ref = (each.get("model") or {}).get("primary") or ""
    picture = each["identity"].get("avatar") or ""
    return {
        "id": each["id"],
        "name": each.get("name") or each["id"],
        "emoji": each.get("emoji", ""),
        "image": picture if picture.startswith("/") else "",
        "model": names.name(ref),
        "thinking": THINKING_LEVELS.get(each.get("thinking") or "", ""),
        "talk": f"/chat?session=agent:{each['id']}:main",
    }


def _path(id: str) -> str:
    return f"{ONE}?{urlencode({'id': id})}"


def _used(sum: Mapping[str, Any] | None) -> str:
    """Return what an agent cost, or its tokens where no price is known."""
    if sum is None:
        return "–"
    return money(sum["cost_usd"]) if sum["cost_usd"] else f"{sum['tokens']:,}"


def _one(typed: Typed, name: str, *, strip: bool = True) -> str:
    text = (typed.get(name) or [""])[-1]
    return text.strip() if strip else text


def _values(state: Mapping[str, Any], typed: Typed | None) -> dict[str, str]:
    """Return the values of the plain fields: the typed ones, else those of the configuration."""
    if typed is not None and WHOLE in typed:
        return {name: _one(typed, name) for name in ("name", "emoji", "model", "thinking", "cost_usd", "then")}
    stated, budget = state["stated"], state["budget"]
    return {
        **{name: str(stated[name] or "") for name in ("name", "emoji", "model", "thinking")},
        "cost_usd": f"{budget['cost_usd']:g}" if budget.get("cost_usd") else "",
        "then": str(budget.get("then") or "stop"),
    }


def _changes(state: Mapping[str, Any], accounts: Sequence[tuple[str, str, str]], typed: Typed) -> dict[str, Any]:
    """Return what a posted form changes, as `agents.update` takes it.

    Raises:
        InvalidRequest: The budget is no number.
    """
    now, posted = _values(state, None), _values(state, typed)
    change: dict[str, Any] = {
        name: posted[name] or None for name in ("name", "emoji", "model", "thinking") if posted[name] != now[name]
    }
    if posted["cost_usd"] != now["cost_usd"] or (posted["cost_usd"] and posted["then"] != now["then"]):
        change["budget"] = {"cost_usd": _dollars(posted["cost_usd"]), "then": posted["then"] or None}
    if WHOLE not in typed:
        return change
    tools = _switches(state["tools"], typed)
    if tools:
        change["tools"] = tools
    chats = _typed_chats(typed)
    if accounts and sorted(chats) != sorted(map(_chat_value, state["chats"])):
        change["chats"] = [_chat(each) for each in chats]
    bound = {(each["channel"], each["account"]) for each in state["bindings"] if each["agent"] == state["agentId"]}
    wanted = {(channel, account) for channel, account, _ in accounts if f"channel.{channel}.{account}" in typed}
    mine = {(channel, account) for channel, account, _ in accounts if {(channel, account), (channel, None)} & bound}
    if wanted != mine:
        known = {(channel, account) for channel, account, _ in accounts} | {
            (channel, None) for channel, _, _ in accounts
        }
        rest = [pair for pair in bound if pair not in known]
        change["channels"] = [
            *_whole(accounts, wanted),
            *({"channel": name, "account": account} for name, account in rest),
        ]
    return change


def _typed_chats(typed: Typed) -> list[str]:
    """Return the chats of a posted form; without script they are one text."""
    parts = [part.strip() for each in typed.get("chats", ()) for part in each.split(",")]
    return list(dict.fromkeys(part for part in parts if part))


def _chat_value(chat: Mapping[str, Any]) -> str:
    """Return a chat in one word: channel, account, kind and id."""
    return "/".join(quote(chat.get(name) or "", safe="") for name in ("channel", "account", "kind", "peer"))


def _chat(value: str) -> dict[str, str]:
    """Return the chat of such a word.

    Raises:
        InvalidRequest: It is none.
    """
    parts = [unquote(part) for part in value.split("/")]
    if len(parts) == 1 and ":" in value:  # typed by hand: telegram:123456
        channel, _, peer = value.partition(":")
        parts = [channel, "", "", peer]
    if len(parts) != 4 or not (parts[0] and parts[3]):
        told = phrase("Choose a person, a group or a room, or write an address such as telegram:123456.")
        raise InvalidRequest(told, details={"field": "chats"})
    return {name: part for name, part in zip(("channel", "account", "kind", "peer"), parts, strict=True) if part}


def _dollars(text: str) -> float | None:
    try:
        return float(text.removeprefix("$").replace(",", ".")) if text else None
    except ValueError as error:
        raise InvalidRequest(phrase("A number was expected, such as 0.50."), details={"field": "cost_usd"}) from error


def _whole(accounts: Iterable[tuple[str, str, str]], wanted: set[tuple[str, str]]) -> list[dict[str, str]]:
    """Return channels and accounts as bindings: a channel whose accounts are all chosen, as a whole."""
    of: dict[str, list[str]] = {}
    for channel, account, _ in accounts:
        of.setdefault(channel, []).append(account)
    found = []
    for channel, every in of.items():
        chosen = [account for account in every if (channel, account) in wanted]
        if len(chosen) == len(every):
            found.append({"channel": channel})
        else:
            found += [{"channel": channel, "account": account} for account in chosen]
    return found


def _switches(tools: Iterable[Mapping[str, Any]], typed: Typed) -> dict[str, bool]:
    """Return the tools and groups whose switches are not as they were shown; a group goes before its tools."""
    found: dict[str, bool] = {}
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for each in tools:
        groups.setdefault(each["group"], []).append(each)
    for group, every in groups.items():
        of = [each for each in every if not each["barred"]]
        was, on = any(each["on"] for each in of), f"tool.group:{group}" in typed
        if (
            of
            and was != on
            and not (on is False and any(f"tool.{each['name']}" in typed and not each["on"] for each in of))
        ):
            found[f"group:{group}"] = on
            continue
        for each in of:
            if each["on"] != (wanted := f"tool.{each['name']}" in typed):
                found[each["name"]] = wanted
    return found


def _groups(tools: Iterable[Mapping[str, Any]], typed: Typed | None) -> list[dict[str, Any]]:
    """Return the tools by group as switches, each with what it may do at worst."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for each in tools:
        risk = risk_of(each["annotations"])
        on = each["on"] if typed is None or WHOLE not in typed else f"tool.{each['name']}" in typed
        shown = {**each, **tool_texts(each), "on": on, "risk": risk, "risk_text": TOOL_RISKS[risk]}
        groups.setdefault(each["group"], []).append(shown)
    order = {name: at for at, name in enumerate(TOOL_GROUPS)}
    found = []
    for name in sorted(groups, key=lambda name: (order.get(name, len(order)), name)):
        of = groups[name]
        risk = max((each["risk"] for each in of), key=RISKS.index)
        usable = [each for each in of if not each["barred"]]
        on = any(each["on"] for each in usable)
        if typed is not None and WHOLE in typed:
            on = f"tool.group:{name}" in typed
        found.append(
            {
                "name": name,
                "title": TOOL_GROUPS.get(name) or title_of(name),
                "icon": ICONS.get(name, "wrench"),
                "tools": of,
                "count": sum(each["on"] for each in usable),
                "on": on,
                "barred": not usable,
                "risk": risk,
                "risk_text": TOOL_RISKS[risk],
            }
        )
    return found


def _channels(
    bindings: Iterable[Mapping[str, Any]],
    accounts: Iterable[tuple[str, str, str]],
    id: str,
    agents: Mapping[str, str],
    typed: Typed | None,
) -> list[dict[str, Any]]:
    """Return the accounts as switches, each with another agent that answers there now."""
    holders: dict[tuple[str, str | None], str] = {}
    for each in bindings:
        holders.setdefault((each["channel"], each["account"]), each["agent"])
    found = []
    for channel, account, label in accounts:
        holder = holders.get((channel, account)) or holders.get((channel, None), "")
        name = f"channel.{channel}.{account}"
        on = holder == id if typed is None or WHOLE not in typed else name in typed
        other = agents.get(holder, holder) if holder and holder != id else ""
        found.append({"name": name, "label": label, "on": on, "other": other})
    return found
