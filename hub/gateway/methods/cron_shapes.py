"""Scheduled things in the shape of the protocol's cron jobs, and back. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, tzinfo
from typing import Any

from msgspec.structs import replace

from hub.automation.editing.schedule_editor import Scheduled
from hub.automation.editing.schedule_request import Do, ScheduleRequest, at_trigger, cron_trigger, every_trigger
from hub.core.errors import InvalidRequest
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
    positive_seconds,
)

SUMMARY_LIMIT = 2_000

_TEXT = All(str, Length(min=1, max=8_000))
_NAME = All(str, Length(min=1, max=512))
_MS = All(integer, Range(min=0))

SCHEDULE = AnyOf(
    Schema({Required("kind"): "at", Required("at"): AnyOf(_NAME, _MS)}),
    Schema({Required("kind"): "at", Required("atMs"): _MS}),
    Schema({Required("kind"): "every", Required("everyMs"): _MS, Optional("anchorMs"): _MS}),
    Schema(
        {
            Required("kind"): "cron",
            Required("expr"): _NAME,
            Optional("tz"): AnyOf(None, _NAME),
            Optional("staggerMs"): _MS,
        }
    ),
)
PAYLOAD = AnyOf(
    Schema({Required("kind"): "systemEvent", Optional("text"): _TEXT}),
    Schema({Required("kind"): "message", Optional("text"): _TEXT}),
    Schema(
        {
            Required("kind"): "agentTurn",
            Optional("message"): _TEXT,
            Optional("model"): AnyOf(None, _NAME),
            Optional("thinking"): AnyOf(None, In(("off", "minimal", "low", "medium", "high"))),
            Optional("timeoutSeconds"): AnyOf(None, _MS),
            Optional("deliver"): boolean,
            Optional("channel"): _NAME,
            Optional("to"): _NAME,
            Optional("bestEffortDeliver"): boolean,
        }
    ),
)
DELIVERY = Schema(
    {
        Optional("mode"): In(("none", "announce", "webhook")),
        Optional("channel"): AnyOf(None, _NAME),
        Optional("to"): AnyOf(None, str),
        Optional("accountId"): AnyOf(None, _NAME),
        Optional("bestEffort"): boolean,
    }
)
FIELDS: Mapping[Any, Any] = {
    Optional("name"): All(str, Length(min=1, max=100)),
    Optional("agentId"): AnyOf(None, _NAME),
    Optional("sessionKey"): AnyOf(None, _NAME),
    Optional("description"): AnyOf(None, All(str, Length(max=1_000))),
    Optional("enabled"): boolean,
    Optional("deleteAfterRun"): boolean,
    Optional("schedule"): SCHEDULE,
    Optional("sessionTarget"): _NAME,
    Optional("wakeMode"): In(("now", "next-heartbeat")),
    Optional("payload"): PAYLOAD,
    Optional("delivery"): AnyOf(None, DELIVERY),
}
_KINDS = {"systemEvent": Do.EVENT, "agentTurn": Do.RUN, "message": Do.REMIND}


def new_wish(params: Mapping[str, Any], default_agent: str, now: float, zone: tzinfo) -> ScheduleRequest:
    """Return what the parameters of `cron.add` ask for.

    Raises:
        InvalidRequest: It names what is missing, or does not fit together.
    """
    for key in ("schedule", "payload"):
        if key not in params:
            raise InvalidRequest(f"{key}: it is missing")
    trigger = _trigger(params["schedule"], now, zone)
    do = _KINDS[params["payload"]["kind"]]
    agent = params.get("agentId") or default_agent
    fresh = ScheduleRequest(
        trigger,
        do,
        "",
        agent,
        session="main" if do is Do.EVENT else "isolated",
        address="none" if do is Do.EVENT else "last",
        once=params.get("deleteAfterRun", trigger["trigger"] == "at"),
    )
    return changed_wish(fresh, params, now, zone)


def changed_wish(wish: ScheduleRequest, patch: Mapping[str, Any], now: float, zone: tzinfo) -> ScheduleRequest:
    """Return a wish with what a patch states.

    Raises:
        InvalidRequest: Something of it does not fit together.
    """
    payload, delivery = patch.get("payload"), patch.get("delivery")
    if payload is not None:
        wish = _with_payload(wish, payload)
        if delivery is None and payload["kind"] == "agentTurn" and "deliver" in payload:
            mode = "announce" if payload["deliver"] else "none"
            delivery = {"mode": mode, **{key: payload[key] for key in ("channel", "to") if key in payload}}
    if "schedule" in patch:
        wish = replace(wish, trigger=_trigger(patch["schedule"], now, zone))
    if delivery is not None:
        wish = replace(wish, address=_address(delivery))
    if "sessionTarget" in patch:
        wish = replace(wish, session=_session(patch["sessionTarget"], patch.get("sessionKey")))
    wish = replace(
        wish,
        name=patch.get("name", wish.name),
        agent_id=patch.get("agentId") or wish.agent_id,
        description=patch.get("description", wish.description) or "",
        enabled=patch.get("enabled", wish.enabled),
        once=patch.get("deleteAfterRun", wish.once),
        wake=patch["wakeMode"] == "now" if "wakeMode" in patch else wish.wake,
    )
    if wish.do is Do.EVENT and wish.session == "isolated":
        raise InvalidRequest('sessionTarget: a system event is for a session; use "main", or an agentTurn')
    if not wish.text:
        raise InvalidRequest("payload: say what is to be said")
    return wish


def shown_job(found: Scheduled, running: bool) -> dict[str, Any]:
    """Return something scheduled as a job."""
    wish, status = found.wish, found.status
    created = found.created_ms or 0
    state: dict[str, Any] = {}
    if status is not None:
        if status.next_run is not None:
            state["nextRunAtMs"] = int(status.next_run * 1000)
        if status.last_triggered is not None:
            state["lastRunAtMs"] = int(status.last_triggered * 1000)
            state["lastRunStatus"] = state["lastStatus"] = "error" if status.failures else "ok"
        if running and status.last_triggered is not None:
            state["runningAtMs"] = int(status.last_triggered * 1000)
        if status.error or status.paused:
            state["lastError"] = status.error or status.paused
        state["consecutiveErrors"] = status.failures
    job: dict[str, Any] = {
        "id": found.id,
        "agentId": wish.agent_id,
        "name": wish.name or found.id,
        "enabled": wish.enabled and (status is None or status.state != "off"),
        "deleteAfterRun": wish.once,
        "createdAtMs": created,
        "updatedAtMs": created,
        "schedule": _shown_schedule(wish.trigger),
        "sessionTarget": wish.session if wish.session in {"main", "isolated"} else f"session:{wish.session}",
        "wakeMode": "now" if wish.wake else "next-heartbeat",
        "payload": _shown_payload(wish),
        "delivery": _shown_delivery(wish),
        "state": state,
    }
    if wish.description:
        job["description"] = wish.description
    if found.made_by is not None:
        job["madeBy"] = found.made_by
    return job


def shown_run(trace: Mapping[str, Any], next_ms: int | None, answer: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return a trace, and what the agent answered in it, as an entry of the run log."""
    started, finished = _ms(trace.get("started")), _ms(trace.get("finished"))
    outcome = trace.get("outcome")
    entry: dict[str, Any] = {
        "ts": finished or started or 0,
        "jobId": str(trace.get("automation_id")),
        "jobName": trace.get("alias"),
        "runId": trace.get("run_id"),
        "action": "finished" if finished is not None else "started",
        "status": "ok" if outcome in {"finished", "stopped", None} else "error",
        "outcome": outcome,
        "runAtMs": started,
    }
    if started is not None and finished is not None:
        entry["durationMs"] = finished - started
    if trace.get("error"):
        entry["error"] = trace["error"]
    if next_ms is not None:
        entry["nextRunAtMs"] = next_ms
    return entry | _told(answer or {})


def _trigger(schedule: Mapping[str, Any], now: float, zone: tzinfo) -> dict[str, Any]:
    match schedule["kind"]:
        case "at":
            ms = schedule.get("atMs", schedule.get("at"))
            return at_trigger(ms / 1000 if isinstance(ms, int) else ms, now, zone)
        case "every":
            anchor = schedule.get("anchorMs")
            return every_trigger(schedule["everyMs"] / 1000, now, zone, None if anchor is None else anchor / 1000)
        case _:
            return cron_trigger(schedule["expr"], schedule.get("tz"), schedule.get("staggerMs", 0) / 1000)


def _with_payload(wish: ScheduleRequest, payload: Mapping[str, Any]) -> ScheduleRequest:
    do = _KINDS[payload["kind"]]
    if do is not wish.do:
        session = "main" if do is Do.EVENT else "isolated"
        wish = replace(wish, do=do, session=session, address="none" if do is Do.EVENT else "last")
    text = payload.get("message", payload.get("text", wish.text))
    timeout = payload.get("timeoutSeconds", wish.timeout_s)
    return replace(
        wish,
        text=text,
        model=payload.get("model", wish.model),
        thinking=payload.get("thinking", wish.thinking),
        timeout_s=float(timeout) if timeout else None,
    )


def _address(delivery: Mapping[str, Any]) -> Mapping[str, Any] | str:
    mode = delivery.get("mode", "announce")
    if mode == "none":
        return "none"
    if mode == "webhook":
        raise InvalidRequest("delivery: give the automation a `notify` with the URL instead of the mode webhook")
    channel, to = delivery.get("channel") or "last", delivery.get("to")
    if channel == "last" and not to:
        return "last"
    if channel == "last" or not to:
        raise InvalidRequest("delivery: give channel and to, or neither")
    account = delivery.get("accountId")
    return {"channel": channel, "to": to} | ({"account": account} if account else {})


def _session(target: str, key: str | None) -> str:
    if target in {"main", "isolated"}:
        return target
    if target == "current" and key:
        return key
    if target.startswith("session:"):
        return target.removeprefix("session:")
    raise InvalidRequest("sessionTarget: main, isolated, current with sessionKey, or session:<key>")


def _shown_schedule(trigger: Mapping[str, Any]) -> dict[str, Any]:
    match trigger.get("trigger", trigger.get("platform")):
        case "at":
            return {"kind": "at", "at": str(trigger.get("at"))}
        case "every":
            shown: dict[str, Any] = {"kind": "every", "everyMs": int(positive_seconds(trigger.get("every")) * 1000)}
            anchor = _ms(trigger.get("anchor"))
            return shown if anchor is None else {**shown, "anchorMs": anchor}
        case _:
            shown = {"kind": "cron", "expr": str(trigger.get("expression"))}
            if "time_zone" in trigger:
                shown["tz"] = str(trigger["time_zone"])
            if trigger.get("stagger"):
                shown["staggerMs"] = int(positive_seconds(trigger["stagger"]) * 1000)
            return shown


def _shown_payload(wish: ScheduleRequest) -> dict[str, Any]:
    match wish.do:
        case Do.EVENT:
            return {"kind": "systemEvent", "text": wish.text}
        case Do.REMIND:
            return {"kind": "message", "text": wish.text}
        case Do.RUN:
            chosen = {"model": wish.model, "thinking": wish.thinking, "timeoutSeconds": wish.timeout_s}
            stated = {key: value for key, value in chosen.items() if value is not None}
            return {"kind": "agentTurn", "message": wish.text, **stated}


def _shown_delivery(wish: ScheduleRequest) -> dict[str, Any]:
    if wish.address == "none":
        return {"mode": "none"}
    if isinstance(wish.address, str):
        return {"mode": "announce", "channel": "last"}
    account = wish.address.get("account")
    shown = {"mode": "announce", "channel": wish.address.get("channel"), "to": wish.address.get("to")}
    return shown | ({"accountId": account} if account else {})


def child_of(trace: Mapping[str, Any]) -> str | None:
    """Return the last run of an agent that a traced run began."""
    steps = trace.get("steps")
    found = None
    for entries in steps.values() if isinstance(steps, Mapping) else ():
        for entry in entries if isinstance(entries, list) else ():
            child = entry.get("child") if isinstance(entry, Mapping) else None
            if isinstance(child, Mapping) and isinstance(child.get("run_id"), str):
                found = child["run_id"]
    return found


def _told(answer: Mapping[str, Any]) -> dict[str, Any]:
    shown = {"summary": str(answer.get("reply") or "")[:SUMMARY_LIMIT], "sessionKey": answer.get("session_key")}
    return {key: value for key, value in {**shown, "model": answer.get("model")}.items() if value}


def _ms(text: Any) -> int | None:
    try:
        return int(datetime.fromisoformat(str(text)).timestamp() * 1000)
    except ValueError:
        return None
