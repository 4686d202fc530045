"""`agent`: an agent started or ended a run, called a tool, reached its budget, or requested an approval."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.automation.contract import TriggerHost, TriggerKind
from hub.automation.definition.fields import match_text
from hub.automation.definition.phrases import join_words
from hub.automation.triggers.arming import report_errors
from hub.core.events import Event, Unsubscribe
from hub.core.phrases import phrase
from hub.core.schema import In, Invalid, Optional, Required
from hub.sessions.keys import SessionKey

EVENTS = {
    "run_started": "run_started",
    "run_ended": "run_finished",
    "tool_called": "tool_finished",
    "budget_reached": "budget_reached",
    "approval_asked": "approval_requested",
}
"""What happened → event on the bus.

`budget_reached` is `{agent_id, automation_id, budget, spent, limit}`; `budget` is cost_usd or tokens.
"""
_FILTERS: Mapping[str, frozenset[str]] = {
    "run_started": frozenset({"agent", "session"}),
    "run_ended": frozenset({"agent", "session", "status"}),
    "tool_called": frozenset({"agent", "session", "tool", "status"}),
    "budget_reached": frozenset({"agent"}),
    "approval_asked": frozenset({"agent", "session"}),
}
_KEYS = {"agent": "agent_id", "session": "session_key", "status": "status", "tool": "name"}
"""Key of the trigger → key of the event's data."""
_TOLD: Mapping[str, tuple[str, ...]] = {
    "run_started": ("run_id", "agent_id", "session_key", "model"),
    "run_ended": ("run_id", "agent_id", "session_key", "status", "stop", "model", "reply", "usage", "error"),
    "tool_called": ("run_id", "agent_id", "session_key", "call_id", "name", "status", "is_error", "duration_ms"),
    "budget_reached": ("agent_id", "automation_id", "budget", "spent", "limit"),
    "approval_asked": ("id", "code", "kind", "title", "text", "session_key", "run_id"),
}


def _rule(config: dict[str, Any]) -> dict[str, Any]:
    on = config["on"]
    for key in _KEYS:
        if key in config and key not in _FILTERS[on]:
            raise Invalid(phrase("{key} does not apply to {on}", key=key, on=on), path=[key])
    return config


def _arm(config: Mapping[str, Any], host: TriggerHost) -> Unsubscribe:
    on: str = config["on"]
    where = {_KEYS[key]: config[key] for key in _KEYS if key in config}
    agents: frozenset[str] | None = None
    if on == "approval_asked" and "agent" in config:  # its event names the session alone
        agents = frozenset(where.pop("agent_id"))

    def happened(event: Event) -> None:
        if agents is not None and _agent_of(event.data.get("session_key")) not in agents:
            return
        facts = {key: event.data[key] for key in _TOLD[on] if key in event.data}
        # What a run answers and what it asks may come from words that it read.
        tainted = event.context.authority.tainted
        host.fire({"on": on, "agent": facts, "description": _words(on, facts)}, event.context, tainted=tainted)

    return host.parts.bus.listen(EVENTS[on], happened, where or None)


def _agent_of(session_key: str | None) -> str | None:
    return SessionKey.parse(session_key).agent if session_key else None


def _words(on: str, facts: Mapping[str, Any]) -> str:
    who = f"agent {facts.get('agent_id') or '?'}"
    match on:
        case "run_started":
            return f"{who} began a run"
        case "run_ended":
            return f"a run of {who} ended: {facts.get('status')}"
        case "tool_called":
            return f"{who} called {facts.get('name')}"
        case "budget_reached":
            return f"{who} reached its budget"
        case _:
            return f"an approval was asked: {facts.get('title')}"


def _explain(config: Mapping[str, Any]) -> str:
    who = (
        phrase("the agent {agents}", agents=join_words(config["agent"], "or"))
        if "agent" in config
        else phrase("an agent")
    )
    match config["on"]:
        case "run_started":
            said = phrase("when {who} begins a run", who=who)
        case "run_ended":
            said = phrase("when a run of {who} ends", who=who)
        case "tool_called":
            tool = join_words(config["tool"], "or") if "tool" in config else phrase("a tool")
            said = phrase("when {who} has called {tool}", who=who, tool=tool)
        case "budget_reached":
            said = phrase("when {who} reaches its budget", who=who)
        case _:
            said = phrase("when {who} asks for an approval", who=who)
    if "status" in config:
        said = phrase("{said} with the status {status}", said=said, status=join_words(config["status"], "or"))
    if "session" in config:
        said = phrase("{said} in the session {session}", said=said, session=join_words(config["session"], "or"))
    return said


KIND = TriggerKind(
    name="agent",
    fields={
        Required("on", description="run_started, run_ended, tool_called, budget_reached or approval_asked."): In(
            tuple(EVENTS)
        ),
        Optional("agent", description="Which agent: one or a list."): match_text,
        Optional("session", description="Which session: a session key or a list."): match_text,
        Optional("status", description="How it ended: ok, error, aborted, …: one or a list."): match_text,
        Optional("tool", description="Which tool: one or a list."): match_text,
    },
    arm=report_errors(_arm),
    explain=_explain,
    description="An agent did something.",
    rule=_rule,
)
