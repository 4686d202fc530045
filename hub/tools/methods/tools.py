"""`tools.catalog|effective|explain|invoke|run`, and what answers `POST /tools/invoke`: the tools, and using one."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Any

import orjson
from aiohttp import web
from msgspec import Struct

from hub.agent.agents import Agent, Agents
from hub.automation.services.addresses import Addresses
from hub.core.context import Authority, Context, ToolPolicy
from hub.core.errors import Forbidden, HubError, NotFound
from hub.core.events import Event
from hub.core.ids import new_id
from hub.core.schema import All, AnyOf, In, Length, Optional, Required, Schema, boolean
from hub.core.surfaces import READ, WRITE, HttpCall, Method, MethodCall, Route
from hub.core.tasks import TaskOwner
from hub.messaging.channels import ChannelRegistry
from hub.messaging.contract import Address, ChatType
from hub.models.registry import ModelRegistry
from hub.security.redaction import Redactor
from hub.sessions.keys import ROOMS, SessionKey, main_key
from hub.sessions.store import SessionStore
from hub.tools.approvals import EVENT_APPROVAL_REQUESTED
from hub.tools.contract import Tool, ToolResult
from hub.tools.invoke import ToolCallRequest, invoke_tool
from hub.tools.policy import explain_tool, is_listed, profile_policy
from hub.tools.registry import ToolRegistry

_log = logging.getLogger(__name__)

OWNER = "gateway"
BODY_LIMIT_BYTES = 2 * 1024 * 1024

NAME = All(str, Length(min=1, max=64))
KEY = AnyOf(None, All(str, Length(min=1, max=2048)))

_BODY = Schema(
    {
        Required("tool"): NAME,
        Optional("action", default=None): AnyOf(None, All(str, Length(max=200))),
        Optional("args", default=dict): dict,
        Optional("sessionKey", default=None): KEY,
        Optional("dryRun", default=False): boolean,
    }
)
_SOMEBODY: Mapping[str, Authority] = {
    "owner": Authority("owner", person="owner", owner=True),
    "person": Authority("peer:person", person="person"),
    "guest": Authority("peer:guest"),
}
_PROFILES = ("minimal", "coding", "messaging", "full")
"""Those that the protocol knows, too."""


class ToolMethodDependencies(Struct, frozen=True):
    """The parts of the hub that the methods use."""

    agents: Agents
    sessions: SessionStore
    models: ModelRegistry
    tools: ToolRegistry
    channels: ChannelRegistry
    addresses: Addresses
    redactor: Redactor
    tasks: TaskOwner
    policies_of_subagent: Callable[[str], tuple[ToolPolicy, ...]]


class ToolMethods:
    """The methods about tools, and the answer of the route that uses one."""

    def __init__(self, needs: ToolMethodDependencies) -> None:
        self._needs = needs

    def methods(self) -> list[Method]:
        """Return the methods."""
        explain = Schema(
            {
                Required("name"): NAME,
                Optional("sessionKey", default=None): KEY,
                Optional("as", default="owner"): In(list(_SOMEBODY)),
                Optional("tainted", default=False): boolean,
            }
        )
        effective = Schema({Required("sessionKey"): All(str, Length(min=1, max=2048)), Optional("agentId"): str})
        invoke = Schema(
            {
                Required("name"): NAME,
                Optional("args", default=dict): dict,
                Optional("sessionKey", default=None): KEY,
                Optional("idempotencyKey"): All(str, Length(min=1, max=256)),
            }
        )
        run = Schema(
            {
                Required("name"): NAME,
                Optional("args", default=dict): dict,
                Optional("sessionKey", default=None): KEY,
                Optional("wait", default=True, description="For the owner's approval, if it takes one."): boolean,
            }
        )
        return [
            Method("tools.catalog", self._catalog, OWNER, Schema({Optional("agentId"): str}), READ),
            Method("tools.effective", self._effective, OWNER, effective, READ),
            Method("tools.explain", self._explain, OWNER, explain, READ),
            Method("tools.invoke", self._invoke, OWNER, invoke, WRITE, acts=True),
            Method("tools.run", self._run, OWNER, run, WRITE, acts=True),
        ]

    def route(self) -> Route:
        """Return `POST /tools/invoke`, which uses a tool over HTTP."""
        return Route(
            "POST",
            "/tools/invoke",
            self._answer,
            OWNER,
            scope=WRITE,
            body=_BODY,
            body_limit=BODY_LIMIT_BYTES,
            show_error=_show_error,
        )

    async def _catalog(self, call: MethodCall) -> Mapping[str, Any]:
        agents, tools = self._needs.agents, self._needs.tools
        agent = agents.get(call.params.get("agentId") or agents.default().id)
        policies = await self._policies(agent, main_key(agent.id), call.caller.authority)
        usable = {tool.name for tool in tools.available(call.caller.authority, policies)}
        entries = [entry | {"available": entry["name"] in usable} for entry in tools.catalog()]
        groups: dict[str, list[dict[str, Any]]] = {}
        for entry in entries:
            profiles = [name for name in _PROFILES if profile_policy(name).permits(entry["name"], entry["group"])]
            groups.setdefault(entry["group"], []).append({**_named(entry), "defaultProfiles": profiles})
        return {
            "agentId": agent.id,
            "profiles": [{"id": name, "label": name.capitalize()} for name in _PROFILES],
            "tools": entries,
            "groups": [
                {"id": group, "label": group, "source": "core", "tools": tools} for group, tools in groups.items()
            ],
        }

    async def _effective(self, call: MethodCall) -> Mapping[str, Any]:
        """Return the caller's tools in a session, narrowed by its room."""
        key, agent = self._place(call.params["sessionKey"])
        authority = await self._in_room(call.caller.authority, key)
        policies = await self._policies(agent, key, authority)
        usable = {tool.name for tool in self._needs.tools.available(authority, policies)}
        entries = [
            _named(entry) | {"rawDescription": entry["description"]}
            for entry in self._needs.tools.catalog()
            if entry["name"] in usable
        ]
        group = {"id": "core", "label": "Built-in tools", "source": "core", "tools": entries}
        profile = "custom" if policies or self._needs.tools.rules.policies else "full"
        return {"agentId": agent.id, "profile": profile, "groups": [group] if entries else []}

    async def _explain(self, call: MethodCall) -> Mapping[str, Any]:
        """Return the verdict of each rule on a tool in a session, and the deciding one."""
        tool = self._tool(call.params["name"])
        key, agent = self._place(call.params["sessionKey"])
        session = self._needs.sessions.get(key)
        tainted = call.params["tainted"] or (session is not None and session.tainted)
        authority = await self._in_room(_SOMEBODY[call.params["as"]].narrow(tainted=tainted), key)
        policies = await self._policies(agent, key, authority)
        verdicts = list(explain_tool(tool, authority, policies, self._needs.tools.rules))
        against = next((verdict for verdict in verdicts if not verdict.permits), None)
        return {
            "tool": tool.name,
            "group": tool.group,
            "agentId": agent.id,
            "sessionKey": key,
            "model": await self._model_of(agent, key),
            "as": call.params["as"],
            "tainted": authority.tainted,
            "allowed": against is None,
            "decidedBy": against.layer if against else None,
            "reason": against.reason if against else None,
            "layers": [{"layer": verdict.layer, "permits": verdict.permits} for verdict in verdicts],
        }

    async def _invoke(self, call: MethodCall) -> Mapping[str, Any]:
        params = call.params
        result = await self._use(params["name"], params["args"], params["sessionKey"], call.context)
        answer = {"ok": not result.is_error, "toolName": params["name"], "source": "core"}
        if result.is_error:
            return {**answer, "error": {"code": "tool_error", "message": result.output.removeprefix("error: ")}}
        return {**answer, "output": _output(result)}

    async def _run(self, call: MethodCall) -> Mapping[str, Any]:
        """Call a tool as an agent would in a session: with its taint, its room's rights, and all rules.

        Without `wait`, a call that takes an approval goes on waiting for it after the answer.
        """
        needs, params = self._needs, call.params
        key, agent = self._place(params["sessionKey"])
        session = needs.sessions.get(key)
        authority = call.context.authority.narrow(tainted=session is not None and session.tainted)
        authority = await self._in_room(authority, key)
        id, loop = new_id(), asyncio.get_running_loop()
        asked: asyncio.Future[str] = loop.create_future()

        def note(event: Event) -> None:
            if not asked.done():
                asked.set_result(event.data["id"])

        forget = needs.tools.bus.listen(EVENT_APPROVAL_REQUESTED, note, {"run_id": f"tool-{id}"})
        policies = await self._policies(agent, key, authority)
        calling = self._call(id, params["name"], params["args"], key, agent.id, call.context.child(authority), policies)
        task = needs.tasks.spawn(calling, name=f"tool {params['name']} of a client")
        try:
            first: set[asyncio.Future[Any]] = {task} if params["wait"] else {task, asked}
            await asyncio.wait(first, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            task.cancel()
            raise
        finally:
            forget()
        if not task.done():
            task.add_done_callback(lambda done: _tell_failure(params["name"], done))
            return {"status": "approval_required", "output": "", "approval_id": asked.result()}
        result = task.result()
        status = "ok"
        if result.is_error:
            status = "denied" if result.details.get("code") == Forbidden.code else "error"
        answer = {"status": status, "output": result.output, "details": dict(result.details)}
        return {**answer, "approval_id": asked.result()} if asked.done() else answer

    async def _answer(self, call: HttpCall) -> web.StreamResponse:
        body = call.body
        arguments = dict(body["args"])
        if body["action"] is not None:
            arguments.setdefault("action", body["action"])
        if body["dryRun"]:
            key, agent = self._place(body["sessionKey"])
            await self._usable(body["tool"], call.known_caller.authority, agent, key)
            return _json({"ok": True, "result": {"dryRun": True, "tool": body["tool"], "args": arguments}})
        result = await self._use(body["tool"], arguments, body["sessionKey"], call.context())
        if result.is_error:
            message = result.output.removeprefix("error: ")
            return _json({"ok": False, "error": {"type": "tool_error", "message": message}}, 400)
        return _json({"ok": True, "result": _output(result)})

    async def _use(
        self, name: str, arguments: Mapping[str, Any], session_key: str | None, context: Context
    ) -> ToolResult:
        key, agent = self._place(session_key)
        policies = await self._usable(name, context.authority, agent, key)
        return await self._call(new_id(), name, arguments, key, agent.id, context, policies)

    async def _call(
        self,
        id: str,
        name: str,
        arguments: Mapping[str, Any],
        key: str,
        agent_id: str,
        context: Context,
        policies: tuple[ToolPolicy, ...],
    ) -> ToolResult:
        # What somebody else than the owner has a tool do follows words from outside; see `acting`.
        context = context if context.authority.owner else context.tainted()
        request = ToolCallRequest(id, name, arguments, context, agent_id, key, f"tool-{id}", policies=policies)
        return await invoke_tool(self._needs.tools, request, redact=self._needs.redactor.redact)

    async def _usable(self, name: str, authority: Authority, agent: Agent, key: str) -> tuple[ToolPolicy, ...]:
        """Return the policies for a tool that the caller may use in a session.

        Raises:
            NotFound: There is no such tool for this caller.
        """
        tools = self._needs.tools
        policies = await self._policies(agent, key, authority)
        tool = tools.get(name)
        if tool is None or not is_listed(tool, authority, policies, tools.rules):
            raise NotFound(f"there is no tool {name!r:.80} for this caller; tools.explain says which rule decides")
        return policies

    def _tool(self, name: str) -> Tool:
        tool = self._needs.tools.get(name)
        if tool is None:
            raise NotFound(f"there is no tool {name!r:.80}; homarus tools list shows them")
        return tool

    def _place(self, session_key: str | None) -> tuple[str, Agent]:
        agents = self._needs.agents
        default = agents.default().id
        key = SessionKey.parse(session_key or main_key(default), default_agent=default)
        return str(key), agents.get(key.agent)

    async def _policies(self, agent: Agent, key: str, authority: Authority) -> tuple[ToolPolicy, ...]:
        """Return the policies of a tool in a session, for calling and for describing it alike."""
        return agent.policies_in(key, authority, self._needs.tools.rules, await self._model_of(agent, key))

    async def _model_of(self, agent: Agent, key: str | None) -> str:
        session = self._needs.sessions.get(key) if key else None
        return (await self._needs.models.resolve((session and session.model) or agent.model)).ref

    async def _in_room(self, authority: Authority, key: str) -> Authority:
        """Return an authority as a room (`hub.messaging.access.access.authorize`) or a subagent narrows it."""
        for policy in self._needs.policies_of_subagent(key):
            authority = authority.narrow(policy=policy)
        parsed = SessionKey.parse(key)
        if parsed.kind not in ROOMS or parsed.channel is None or parsed.id is None:
            return authority
        place = await self._needs.addresses.of_session(key)
        address = place.address if place else Address(parsed.channel, parsed.id, chat_type=ChatType(parsed.kind.value))
        attached = self._needs.channels.get(address.channel, address.account)
        group = attached.access.group_settings(address) if attached else None
        if group is None:
            return authority
        authority = authority.narrow(scopes=(), owner=False)
        for policy in group.tools:
            authority = authority.narrow(policy=policy)
        return authority


def _named(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return a tool in the protocol's shape."""
    return {
        "id": entry["name"],
        "label": entry["label"],
        "description": entry["description"],
        "source": "core",
        "risk": "high"
        if entry["annotations"]["destructive"]
        else "low"
        if entry["annotations"]["read_only"]
        else "medium",
    }


def _tell_failure(name: str, done: asyncio.Task[ToolResult]) -> None:
    """Log the failure of a call that ran after its answer; a refusal by the owner is not a failure."""
    if done.cancelled() or done.exception() is not None:
        return
    result = done.result()
    if result.is_error and result.details.get("code") != Forbidden.code:
        _log.warning("the tool %s failed after it was approved: %.300s", name, result.output)


def _show_error(error: HubError) -> Mapping[str, Any]:
    return {"ok": False, "error": {"code": error.code, "type": error.code.lower(), "message": error.message}}


def _output(result: ToolResult) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": result.output}], "details": dict(result.details)}


def _json(data: Mapping[str, Any], status: int = 200) -> web.Response:
    body = orjson.dumps(data, default=str)
    return web.Response(
        body=body, status=status, content_type="application/json", headers={"Cache-Control": "no-store"}
    )
