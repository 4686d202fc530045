"""`agents.get|create|update|delete`: agents as they are written in the configuration, which keeps its comments."""

from __future__ import annotations

import asyncio
import base64
import binascii
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from hub.agent import editing
from hub.agent.agents import Agent, Agents
from hub.agent.workspace.avatar import AVATAR_LIMIT_BYTES, read_avatar
from hub.agent.workspace.workspace import Workspaces
from hub.config.errors import ConfigInvalid
from hub.config.store import ConfigStore, ReloadResult
from hub.core.errors import HubError, InvalidRequest
from hub.core.executors import FILES
from hub.core.phrases import phrase
from hub.core.schema import (
    All,
    AnyOf,
    In,
    Length,
    Optional,
    Range,
    Required,
    Schema,
    boolean,
    integer,
    number,
    slug,
    string,
)
from hub.core.surfaces import ADMIN, LARGE_FRAME_BYTES, Method, MethodCall
from hub.messaging.inbound import ChatType
from hub.models.choosing import choose_model
from hub.models.contract import AUTO
from hub.models.images import image_type
from hub.models.registry import ModelRegistry
from hub.models.schema import model_ref
from hub.models.thinking import LEVELS
from hub.tools.registry import ToolRegistry
from hub.tools.switches import enabled_tools, named_tools, switch_tools

OWNER = "gateway"
CHANNELS_LIMIT = 100
CHATS_LIMIT = 200
TOOLS_LIMIT = 1_000
_PICTURE = re.compile(r"data:image/[a-z+.-]{1,20};base64,([A-Za-z0-9+/=\s]*)")
_ENDINGS = {"image/png": "png", "image/jpeg": "jpg", "image/gif": "gif", "image/webp": "webp"}
_PICTURE_CHARS = AVATAR_LIMIT_BYTES * 2

_ID = All(string, Length(min=1, max=64))
_KEYS = {
    Optional("name"): AnyOf(None, All(string, Length(max=100))),
    Optional("emoji"): AnyOf(None, All(string, Length(max=16))),
    Optional("model", description="auto, provider/model or an alias; null for models.default"): AnyOf(None, model_ref),
    Optional("thinking"): AnyOf(None, In(LEVELS)),
    Optional("tools", description="Tools, or group:<group>, that are switched on or off"): All(
        {_ID: boolean}, Length(max=TOOLS_LIMIT)
    ),
    Optional("channels", description="All channels, or accounts of them, that it answers"): All(
        [{Required("channel"): slug, Optional("account"): AnyOf(None, _ID)}], Length(max=CHANNELS_LIMIT)
    ),
    Optional("chats", description="People, groups and rooms that it answers, by the platform's ids"): All(
        [
            {
                Required("channel"): slug,
                Optional("account"): AnyOf(None, _ID),
                Required("peer"): All(string, Length(min=1, max=512)),
                Optional("kind"): AnyOf(None, In([each.value for each in ChatType])),
            }
        ],
        Length(max=CHATS_LIMIT),
    ),
    Optional("budget", description="What it may spend a day; null for no bound of its own"): AnyOf(
        None,
        {
            Optional("cost_usd"): AnyOf(None, All(number, Range(min=0, min_included=False, max=1_000_000))),
            Optional("tokens"): AnyOf(None, All(integer, Range(min=1, max=10**15))),
            Optional("then"): AnyOf(None, In(["warn", "stop"])),
        },
    ),
}
_AVATAR = {
    Optional("avatar", description="A picture in its workspace, or data:image/png;base64,…; null for none"): AnyOf(
        None, All(string, Length(max=_PICTURE_CHARS))
    ),
}
_WORKSPACE = {Optional("workspace"): AnyOf(None, All(string, Length(min=1, max=1_024)))}


class AgentEditMethods:
    """The methods.

    Args:
        agents: The agents in force.
        workspaces: Where their pictures are written.
        models: The models.
        tools: What can be switched.
        config: The files.
        apply: Puts a changed configuration into force.
    """

    def __init__(
        self,
        agents: Agents,
        workspaces: Workspaces,
        models: ModelRegistry,
        tools: ToolRegistry,
        config: ConfigStore,
        apply: Callable[[ReloadResult], Awaitable[None]],
    ) -> None:
        self._agents = agents
        self._workspaces = workspaces
        self._models = models
        self._tools = tools
        self._config = config
        self._apply = apply
        self._changing = asyncio.Lock()

    def methods(self) -> list[Method]:
        """Return the methods."""
        one = {Required("agentId"): _ID}
        name = {Required("name"): All(string, Length(max=100)), Optional("id"): slug}
        create = Schema({**_KEYS, **_WORKSPACE, **name})
        update = Schema({**_KEYS, **_AVATAR, **_WORKSPACE, **one, Optional("default"): In([True])})
        return [
            Method("agents.get", self._get, OWNER, Schema(one), ADMIN),
            Method("agents.create", self._create, OWNER, create, ADMIN, acts=True),
            Method("agents.update", self._update, OWNER, update, ADMIN, acts=True, frame_limit=LARGE_FRAME_BYTES),
            Method("agents.delete", self._delete, OWNER, Schema(one), ADMIN, acts=True),
        ]

    async def _get(self, call: MethodCall) -> Mapping[str, Any]:
        await self._renew()
        agent, raw = self._agents.get(call.params["agentId"]), self._config.current.raw
        place = editing.place_of(raw, agent.id)
        item = editing.configured_agents(raw)[place] if place is not None else {}
        catalog = self._tools.catalog()
        named = [(each["name"], each["group"]) for each in catalog]
        own, general = self._rules(agent.id), self._config.current.or_default("tools")
        off = {each["name"] for each in catalog if each["optional"]}
        off -= named_tools(named, own) | named_tools(named, general)
        mine = enabled_tools(named, own) - off
        everybody = enabled_tools(named, general)
        return {
            "agentId": agent.id,
            **agent.as_dict(),
            "stated": {key: item.get(key) for key in editing.PLAIN_KEYS},
            "tools": [
                {**each, "on": each["name"] in mine, "barred": each["name"] not in everybody} for each in catalog
            ],
            "bindings": [
                {"agent": owner, "channel": channel, "account": account}
                for owner, channel, account in editing.bound_channels(raw)
            ],
            "chats": editing.bound_chats(raw, agent.id),
            "otherBindings": [dict(each) for each in editing.other_bindings(raw, agent.id)],
            "budget": dict(editing.budget_of(raw, agent.id)),
        }

    async def _create(self, call: MethodCall) -> Mapping[str, Any]:
        params = dict(call.params)
        async with self._changing:
            await self._renew()
            agents = self._agents.all()
            id = params.get("id") or editing.free_id(agents, params["name"])
            await self._check_model(params)
            await self._check_workspace(id, params)
            item = {"id": id} | {key: params[key] for key in editing.PLAIN_KEYS if params.get(key)}
            if params.get("tools"):
                item["tools"] = self._switched({}, params["tools"])
            raw = self._config.current.raw
            edits = editing.add_agent(raw, agents, item)
            rest: dict[str, Any] = {key: params[key] for key in ("channels", "chats", "budget") if key in params}
            if rest:
                edits |= editing.change_agent(raw, agents, id, rest)
            await self._write(edits)
            agent = self._agents.get(id)
        return {"ok": True, "agentId": id, "name": agent.name, "workspace": str(agent.workspace)}

    async def _update(self, call: MethodCall) -> Mapping[str, Any]:
        change = dict(call.params)
        async with self._changing:
            await self._renew()
            agent = self._agents.get(change["agentId"])
            await self._check_model(change)
            await self._check_workspace(agent.id, change)
            if "tools" in change:
                change["tools"] = self._switched(self._rules(agent.id), change["tools"])
            picture = await self._picture(agent, change)
            edits = editing.change_agent(self._config.current.raw, self._agents.all(), agent.id, change)
            if picture is not None:
                await FILES.run(self._workspaces.ensure, agent.id)
                await FILES.run(self._workspaces.root(agent.id).write_bytes, change["avatar"], picture)
            await self._write(edits)
        return {"ok": True, "agentId": agent.id}

    async def _delete(self, call: MethodCall) -> Mapping[str, Any]:
        async with self._changing:
            await self._renew()
            agent = self._agents.get(call.params["agentId"])
            edits, bindings = editing.remove_agent(self._config.current.raw, agent)
            await self._write(edits)
        kept = str(agent.workspace)
        return {"ok": True, "agentId": agent.id, "removedBindings": bindings, "keptWorkspace": kept}

    def _rules(self, id: str) -> Mapping[str, Any]:
        """Return the rules for tools of an agent, as validated."""
        listed = self._config.current.or_default("agents")
        return next((each["tools"] for each in listed if each["id"] == id), {})

    def _switched(self, rules: Mapping[str, Any], switches: Mapping[str, bool]) -> dict[str, Any]:
        catalog = self._tools.catalog()
        optional = [each["name"] for each in catalog if each["optional"]]
        return switch_tools([(each["name"], each["group"]) for each in catalog], rules, switches, optional)

    async def _check_model(self, change: Mapping[str, Any]) -> None:
        if change.get("model") in (None, AUTO):
            return
        try:
            await choose_model(self._models, change["model"])
        except HubError as error:
            error.details["field"] = "model"
            raise

    async def _check_workspace(self, id: str, change: Mapping[str, Any]) -> None:
        if not (given := change.get("workspace")):
            return
        try:
            await FILES.run(self._workspaces.refuse_unfit, given, id)
        except (HubError, OSError, RuntimeError, ValueError) as error:  # no home of a user, or a null byte
            raise InvalidRequest(str(error), details={"field": "workspace"}) from error

    async def _picture(self, agent: Agent, change: dict[str, Any]) -> bytes | None:
        """Return the picture to write, with its name in the change from then on."""
        given = change.get("avatar")
        if not given:
            return None
        try:
            found = _PICTURE.fullmatch(given)
            if found is None:
                await FILES.run(read_avatar, agent.workspace, given)
                return None
            data = base64.b64decode(found[1], validate=True)
            ending = _ENDINGS.get(image_type(data) or "")
            if ending is None or len(data) > AVATAR_LIMIT_BYTES:
                raise InvalidRequest(phrase("Expected a PNG, JPEG, GIF or WebP picture of at most 1 MiB."))
        except binascii.Error as error:
            raise InvalidRequest(str(error), details={"field": "avatar"}) from error
        except HubError as error:
            error.details["field"] = "avatar"
            raise
        change["avatar"] = f"avatar.{ending}"
        return data

    async def _write(self, edits: editing.Edits) -> None:
        if not edits:
            return
        try:
            await asyncio.to_thread(self._config.editor.change, edits)
        except ConfigInvalid as error:
            first = error.errors[0]
            told = f"{first.message} ({first.hint})" if first.hint else first.message
            raise InvalidRequest(told, details={**error.details, "field": editing.field_of(first.keys)}) from error
        await self._renew()

    async def _renew(self) -> None:
        """Apply the present files: a program may have written an agent just before."""
        await self._apply(await self._config.reload())
