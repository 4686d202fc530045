"""Schedules and their runs in the shape of the protocol's cron jobs. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from hashlib import sha256
from typing import Any

import orjson

from hub.automation.editing.schedule_editor import Scheduled
from hub.automation.editing.schedule_job import is_webhook
from hub.automation.editing.schedule_request import ScheduledAction, ScheduleRequest
from hub.core.schema import positive_seconds

SUMMARY_LIMIT = 2_000


def job_payload(found: Scheduled, running: bool) -> dict[str, Any]:
    """Return a schedule as a job."""
    request, status = found.request, found.status
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
        "agentId": request.agent_id,
        "name": request.name or found.id,
        "enabled": request.enabled and (status is None or status.state != "off"),
        "deleteAfterRun": request.once,
        "createdAtMs": created,
        "updatedAtMs": created,
        "schedule": _shown_schedule(request.trigger),
        "sessionTarget": request.session if request.session in {"main", "isolated"} else f"session:{request.session}",
        "wakeMode": "now" if request.wake else "next-heartbeat",
        "payload": _shown_payload(request),
        "delivery": _shown_delivery(request),
        "state": state,
    }
    if request.retry is not None:
        job["retry"] = dict(request.retry)
    if request.description:
        job["description"] = request.description
    if found.made_by is not None:
        job["madeBy"] = found.made_by
    written = {key: value for key, value in job.items() if key != "state"}
    job["configRevision"] = f"sha256:{sha256(orjson.dumps(written)).hexdigest()}"
    return job


def run_payload(
    trace: Mapping[str, Any], next_ms: int | None, answer: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return a trace, and the agent's answer in it, as an entry of the run log."""
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


def _shown_payload(request: ScheduleRequest) -> dict[str, Any]:
    match request.do:
        case ScheduledAction.EVENT:
            return {"kind": "systemEvent", "text": request.text}
        case ScheduledAction.REMIND:
            return {"kind": "message", "text": request.text}
        case ScheduledAction.RUN:
            chosen = {"model": request.model, "thinking": request.thinking, "timeoutSeconds": request.timeout_s}
            stated = {key: value for key, value in chosen.items() if value is not None}
            return {"kind": "agentTurn", "message": request.text, **stated}


def _shown_delivery(request: ScheduleRequest) -> dict[str, Any]:
    if is_webhook(request):
        return {"mode": "webhook", "to": str((request.notify or {}).get("url"))}
    if request.address == "none":
        return {"mode": "none"}
    if isinstance(request.address, str):
        return {"mode": "announce", "channel": "last"}
    account = request.address.get("account")
    shown = {"mode": "announce", "channel": request.address.get("channel"), "to": request.address.get("to")}
    return shown | ({"accountId": account} if account else {})


def delivery_preview(delivery: Mapping[str, Any]) -> dict[str, str]:
    """Return the destination of a job's answer in words."""
    if delivery["mode"] == "none":
        return {"label": "not requested", "detail": "not requested"}
    if delivery["mode"] == "webhook":
        return {"label": f"webhook -> {delivery['to']}", "detail": f"webhook -> {delivery['to']}"}
    place = ":".join(str(delivery[key]) for key in ("channel", "to") if delivery.get(key))
    return {"label": f"announce -> {place}", "detail": f"announce -> {place}"}


def child_of(trace: Mapping[str, Any]) -> str | None:
    """Return the last agent run that a traced run began."""
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
