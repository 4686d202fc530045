"""`cron.*`, `wake`, `system-event` and heartbeats: scheduled automations in the protocol's terms."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any

import orjson

from hub.agent.agents import Agents
from hub.automation.editing.schedule_authority import Asker
from hub.automation.editing.schedule_editor import Scheduled, ScheduleService
from hub.automation.editing.schedule_job import FIELDS, apply_patch, new_request
from hub.automation.engine.automations import Automations
from hub.automation.heartbeat.heartbeat_shape import heartbeat_payload
from hub.automation.heartbeat.heartbeats import Heartbeats
from hub.automation.methods.cron_shapes import child_of, delivery_preview, job_payload, run_payload
from hub.automation.services.system_event_queue import TEXT_LIMIT, SystemEvents
from hub.automation.tracing.trace_store import TraceStore
from hub.core.errors import Conflict, InvalidRequest
from hub.core.schema import REMOVE_EXTRA, All, In, Length, Optional, Range, Required, Schema, boolean, integer
from hub.core.surfaces import ADMIN, READ, WRITE, Method, MethodCall
from hub.sessions.keys import SessionKey, main_key

OWNER = "automation"
LIMIT = 200
_ID = All(str, Length(min=1, max=128))
_PAGE: Mapping[Any, Any] = {
    Optional("limit", default=50): All(integer, Range(min=1, max=LIMIT)),
    Optional("offset", default=0): All(integer, Range(min=0)),
    Optional("query"): str,
    Optional("sortDir"): In(("asc", "desc")),
}
_ONE: Mapping[Any, Any] = {Optional("id"): _ID, Optional("jobId"): _ID}
_RUN_STATUSES = ("ok", "error", "skipped")
_EVENT = All(str, Length(min=1, max=TEXT_LIMIT))
_BEACON = frozenset({"deviceId", "instanceId", "host", "ip", "lastInputSeconds"})
"""What a client that reports its presence sends along; that is not an event for an agent."""
_ABOUT = ("version", "platform", "deviceFamily", "modelIdentifier", "mode", "reason")

"""Takes the presence that a client reports, and its connection."""


class CronMethods:
    """The methods.

    Args:
        schedules: Adds, changes and lists jobs.
        automations: Know how each is, and set it off.
        traces: The traces of runs.
        events: Events that wait for agents.
        heartbeats: How agents' hearts beat.
        beacon: Takes the presence that clients report.
    """

    def __init__(
        self,
        schedules: ScheduleService,
        automations: Automations,
        traces: TraceStore,
        agents: Agents,
        events: SystemEvents,
        *,
        heartbeats: Heartbeats,
        beacon: Callable[[Mapping[str, Any], str | None], None] = lambda params, connection_id: None,
    ) -> None:
        self._beacon = beacon
        self._schedules = schedules
        self._automations = automations
        self._traces = traces
        self._agents = agents
        self._events = events
        self._heartbeats = heartbeats

    def methods(self) -> list[Method]:
        """Return the methods."""
        listed = Schema(
            {
                **_PAGE,
                Optional("includeDisabled", default=False): boolean,
                Optional("enabled"): In(("all", "enabled", "disabled")),
                Optional("sortBy"): In(("nextRunAtMs", "updatedAtMs", "name")),
                Optional("agentId"): _ID,
                Optional("scheduleKind", default="all"): In(("all", "at", "every", "cron", "on-exit", "stream")),
                Optional("lastRunStatus", default="all"): In(("all", "ok", "error", "skipped", "unknown")),
                Optional("trigger", default="all"): In(("all", "conditional", "unconditional")),
                Optional("includeDeliveryPreviews", default=True): boolean,
                Optional("compact", default=False): boolean,
            }
        )
        runs = Schema(
            {
                **_PAGE,
                **_ONE,
                Optional("scope"): In(("job", "all")),
                Optional("status"): In(("all", *_RUN_STATUSES)),
                Optional("statuses"): All([In(_RUN_STATUSES)], Length(max=3)),
                Optional("runId"): _ID,
                Optional("agentId"): _ID,
            }
        )
        update = Schema({**_ONE, Required("patch"): Schema(dict(FIELDS)), Optional("expectedConfigRevision"): str})
        run = Schema({**_ONE, Optional("mode", default="force"): In(("force", "due"))})
        wake = Schema(
            {
                Optional("mode", default="now"): In(("now", "next-heartbeat")),
                Required("text"): _EVENT,
                Optional("agentId"): _ID,
                Optional("sessionKey", description="Of an agent's main conversation."): _EVENT,
            }
        )
        beacon: dict[Any, Any] = {Optional(key): object for key in (*_BEACON, *_ABOUT)}
        system_event = Schema({Required("text"): _EVENT, **beacon}, extra=REMOVE_EXTRA)
        return [
            Method("cron.list", self._list, OWNER, listed, READ),
            Method("cron.get", self._get, OWNER, Schema(dict(_ONE)), READ),
            Method("cron.status", self._status, OWNER, Schema({}), READ),
            Method("cron.add", self._add, OWNER, Schema(dict(FIELDS)), ADMIN, acts=True),
            Method("cron.update", self._update, OWNER, update, ADMIN, acts=True),
            Method("cron.remove", self._remove, OWNER, Schema(dict(_ONE)), ADMIN, acts=True),
            Method("cron.run", self._run, OWNER, run, ADMIN, acts=True),
            Method("cron.runs", self._runs, OWNER, runs, READ),
            Method("wake", self._wake, OWNER, wake, WRITE, acts=True),
            Method("system-event", self._system_event, OWNER, system_event, ADMIN),
            Method("last-heartbeat", self._last_heartbeat, OWNER, Schema({}), READ, quick=True),
            Method("set-heartbeats", self._set_heartbeats, OWNER, Schema({Required("enabled"): boolean}), ADMIN),
        ]

    async def _list(self, call: MethodCall) -> Mapping[str, Any]:
        params = call.params
        which = params.get("enabled") or ("all" if params["includeDisabled"] else "enabled")
        jobs = [self._shown(each) for each in await self._schedules.list(Asker(call.context))]
        snapshot = sha256(orjson.dumps([job["configRevision"] for job in jobs])).hexdigest()
        jobs = [job for job in jobs if which == "all" or job["enabled"] is (which == "enabled")]
        jobs = [job for job in jobs if params.get("agentId") in (None, job["agentId"])]
        jobs = [job for job in jobs if params["scheduleKind"] in ("all", job["schedule"]["kind"])]
        jobs = [job for job in jobs if params["lastRunStatus"] in ("all", job["state"].get("lastRunStatus", "unknown"))]
        jobs = jobs if params["trigger"] != "conditional" else []
        if query := (params.get("query") or "").casefold():
            jobs = [job for job in jobs if query in f"{job['id']} {job['name']}".casefold()]
        if sort := params.get("sortBy"):
            last = float("inf")
            jobs.sort(
                key=lambda job: job["name"] if sort == "name" else job.get(sort, job["state"].get(sort, last)),
                reverse=params.get("sortDir") == "desc",
            )
        page = _page("jobs", jobs, params)
        if params["includeDeliveryPreviews"]:
            page["deliveryPreviews"] = {job["id"]: delivery_preview(job["delivery"]) for job in page["jobs"]}
        return page | {"snapshotRevision": f"sha256:{snapshot}"}

    async def _get(self, call: MethodCall) -> Mapping[str, Any]:
        return self._shown(await self._schedules.get(_id(call.params), Asker(call.context)))

    async def _status(self, call: MethodCall) -> Mapping[str, Any]:
        found = await self._schedules.list(Asker(call.context))
        due = [each.next_due for each in found if each.next_due is not None]
        next_ms = int(min(due) * 1000) if due else None
        return {"enabled": True, "triggersEnabled": True, "jobs": len(found), "nextWakeAtMs": next_ms}

    async def _add(self, call: MethodCall) -> Mapping[str, Any]:
        if call.params.get("agentId") is not None:
            self._agents.get(call.params["agentId"])
        request = new_request(call.params, self._agents.default().id, self._schedules.now(), self._schedules.zone())
        return self._shown(await self._schedules.add(request, Asker(call.context)))

    async def _update(self, call: MethodCall) -> Mapping[str, Any]:
        patch, now, zone = call.params["patch"], self._schedules.now(), self._schedules.zone()
        if patch.get("agentId") is not None:
            self._agents.get(patch["agentId"])
        expected = call.params.get("expectedConfigRevision")
        if expected not in (None, (await self._get(call))["configRevision"]):
            raise Conflict("this schedule was changed meanwhile: read it again")
        changed = await self._schedules.update(
            _id(call.params), lambda request: apply_patch(request, patch, now, zone), Asker(call.context)
        )
        return self._shown(changed)

    async def _remove(self, call: MethodCall) -> Mapping[str, Any]:
        removed = await self._schedules.remove(_id(call.params), Asker(call.context))
        return {"ok": True, "removed": True, "id": removed.id}

    async def _run(self, call: MethodCall) -> Mapping[str, Any]:
        asker = Asker(call.context)
        found = await self._schedules.get(_id(call.params), asker)
        if call.params["mode"] == "due" and (found.next_due is None or found.next_due > self._schedules.now()):
            return {"ok": True, "ran": False, "enqueued": False, "reason": "not-due", "id": found.id}
        begun = await self._schedules.run(found.id, asker)
        told: dict[str, Any] = {"ok": begun.not_run is None, "ran": begun.run_id is not None, "id": found.id}
        told["enqueued"] = begun.not_run is None
        if begun.run_id is not None:
            told["runId"] = begun.run_id
        return told | ({"reason": begun.text} if begun.text else {})

    async def _runs(self, call: MethodCall) -> Mapping[str, Any]:
        params = call.params
        wanted = params["offset"] + params["limit"]
        next_ms: int | None = None
        if params.get("id") or params.get("jobId"):
            id = _id(params)
            due = self._automations.status(id).next_run if self._is_known(id) else None
            next_ms = int(due * 1000) if due is not None else None
            traces = await self._traces.list(id, wanted)
        elif params.get("scope") == "job":
            raise InvalidRequest("id: expected the id of a job, unless the scope is all")
        else:
            traces = await self._traces.recent(wanted)
        children = [child_of(trace) for trace in traces]
        answers = await self._schedules.answers(child for child in children if child is not None)
        entries = [
            run_payload(trace, next_ms, answers.get(child or "")) for trace, child in zip(traces, children, strict=True)
        ]
        if (status := params.get("status", "all")) != "all":
            entries = [entry for entry in entries if entry["status"] == status]
        entries = [entry for entry in entries if entry["status"] in params.get("statuses", _RUN_STATUSES)]
        entries = [entry for entry in entries if params.get("runId") in (None, entry["runId"])]
        if agent := params.get("agentId"):
            jobs = await self._schedules.list(Asker(call.context))
            others = {each.id for each in jobs if each.request.agent_id != agent}
            entries = [entry for entry in entries if entry["jobId"] not in others]
        return _page("entries", entries, params)

    async def _wake(self, call: MethodCall) -> Mapping[str, Any]:
        params = call.params
        agent = self._agents.get(params.get("agentId") or self._agents.default().id).id
        if (key := params.get("sessionKey")) is not None:
            parsed = SessionKey.parse(key, default_agent=agent)
            agent = self._agents.get(parsed.agent).id
            if str(parsed) != main_key(agent):
                raise InvalidRequest(f"wake: sessionKey: only {main_key(agent)} is woken; chat.send writes to others")
        await self._events.add(agent, main_key(agent), params["text"], call.context, wake=params["mode"] == "now")
        return {"ok": True}

    async def _system_event(self, call: MethodCall) -> Mapping[str, Any]:
        if not _BEACON & call.params.keys():
            agent = self._agents.default().id
            await self._events.add(agent, main_key(agent), call.params["text"], call.context)
        else:
            self._beacon(call.params, call.connection_id)
        return {"ok": True}

    async def _last_heartbeat(self, call: MethodCall) -> Mapping[str, Any] | None:
        last = self._heartbeats.last
        return None if last is None else heartbeat_payload(last)

    async def _set_heartbeats(self, call: MethodCall) -> Mapping[str, Any]:
        enabled = call.params["enabled"]
        changed = []
        for status in self._automations.all():
            if status.state == "unavailable":
                continue
            automation = self._automations.get(status.id)
            if any(step.get("action") == "agent.heartbeat" for step in automation.config["actions"]):
                await (automation.turn_on() if enabled else automation.turn_off())
                changed.append(status.id)
        return {"ok": True, "enabled": enabled, "automations": changed}

    def _shown(self, found: Scheduled) -> dict[str, Any]:
        running = found.status is not None and found.status.current > 0
        return job_payload(found, running)

    def _is_known(self, id: str) -> bool:
        return any(status.id == id for status in self._automations.all())


def _id(params: Mapping[str, Any]) -> str:
    found = params.get("id") or params.get("jobId")
    if not found:
        raise InvalidRequest("id: expected the id of a job")
    return str(found)


def _page(name: str, found: list[dict[str, Any]], params: Mapping[str, Any]) -> dict[str, Any]:
    offset, limit = params["offset"], params["limit"]
    shown = found[offset : offset + limit]
    more = offset + limit < len(found)
    page: dict[str, Any] = {name: shown, "total": len(found), "offset": offset, "limit": limit, "hasMore": more}
    return page | {"nextOffset": offset + limit if more else None}
