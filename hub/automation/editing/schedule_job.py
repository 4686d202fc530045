"""The jobs that clients ask for, in the shape of the protocol's `cron.add` and `cron.update`. Pure.

The tool `schedule` and the command `cron` say what they want in the same shape, so that there is one parser.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import tzinfo
from typing import Any
from zoneinfo import ZoneInfo

from msgspec.structs import replace

from hub.automation.editing.schedule_request import (
    ScheduledAction,
    ScheduleRequest,
    at_trigger,
    cron_trigger,
    every_trigger,
    zone_name,
)
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
    SchemaError,
    boolean,
    describe_error,
    integer,
    url,
)
from hub.messaging.places import chat_or_last
from hub.models.thinking import LEVELS

_TEXT = All(str, Length(min=1, max=8_000))
_NAME = All(str, Length(min=1, max=512))
_MS = All(integer, Range(min=0))
_ZONE = AnyOf(None, _NAME)

SCHEDULE = AnyOf(
    Schema({Required("kind"): "at", Required("at"): AnyOf(_NAME, _MS), Optional("tz"): _ZONE}),
    Schema({Required("kind"): "at", Required("atMs"): _MS}),
    Schema({Required("kind"): "every", Required("everyMs"): _MS, Optional("anchorMs"): _MS}),
    Schema({Required("kind"): "every", Required("every"): _NAME}),
    Schema({Required("kind"): "cron", Required("expr"): _NAME, Optional("tz"): _ZONE, Optional("staggerMs"): _MS}),
)
PAYLOAD = AnyOf(
    Schema({Required("kind"): "systemEvent", Optional("text"): _TEXT}),
    Schema({Required("kind"): "message", Optional("text"): _TEXT}),
    Schema(
        {
            Required("kind"): "agentTurn",
            Optional("message"): _TEXT,
            Optional("model"): AnyOf(None, _NAME),
            Optional("thinking"): AnyOf(None, In(LEVELS)),
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
        Optional("to", description="Whom; of a webhook, its URL, which gets the result of each run."): AnyOf(None, str),
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
    Optional("retry", description="Null: a run is tried again only when no model could be asked just then."): AnyOf(
        None,
        Schema(
            {
                Required("attempts", description="How often it is tried in all."): All(integer, Range(min=1, max=20)),
                Optional("delay", description="Before the second, such as 30s; each further is twice as long."): _NAME,
            }
        ),
    ),
}
_KINDS = {"systemEvent": ScheduledAction.EVENT, "agentTurn": ScheduledAction.RUN, "message": ScheduledAction.REMIND}


def new_request(params: Mapping[str, Any], default_agent: str, now: float, zone: tzinfo) -> ScheduleRequest:
    """Return the request for a new job.

    Args:
        params: The job, validated with `FIELDS`.
        default_agent: The agent when the job names none.
        now: Seconds since the epoch.
        zone: The home's time zone.

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
        session="main" if do is ScheduledAction.EVENT else "isolated",
        address="none" if do is ScheduledAction.EVENT else "last",
        once=params.get("deleteAfterRun", trigger["trigger"] == "at"),
    )
    return apply_patch(fresh, params, now, zone)


def apply_patch(request: ScheduleRequest, patch: Mapping[str, Any], now: float, zone: tzinfo) -> ScheduleRequest:
    """Return a request with the changes of a patch that was validated with `FIELDS`.

    Raises:
        InvalidRequest: Something of it does not fit together.
    """
    payload, delivery = patch.get("payload"), patch.get("delivery")
    if payload is not None:
        request = _with_payload(request, payload)
        if delivery is None and payload["kind"] == "agentTurn" and "deliver" in payload:
            mode = "announce" if payload["deliver"] else "none"
            delivery = {"mode": mode, **{key: payload[key] for key in ("channel", "to") if key in payload}}
    if "schedule" in patch:
        request = replace(request, trigger=_trigger(patch["schedule"], now, zone))
    if delivery is not None:
        request = _with_delivery(request, delivery)
    if "retry" in patch:
        request = replace(request, retry=patch["retry"])
    if "sessionTarget" in patch:
        request = replace(request, session=_session(patch["sessionTarget"], patch.get("sessionKey")))
    request = replace(
        request,
        name=patch.get("name", request.name),
        agent_id=patch.get("agentId") or request.agent_id,
        description=patch.get("description", request.description) or "",
        enabled=patch.get("enabled", request.enabled),
        once=patch.get("deleteAfterRun", request.once),
        wake=patch["wakeMode"] == "now" if "wakeMode" in patch else request.wake,
    )
    if request.do is ScheduledAction.EVENT and request.session == "isolated":
        raise InvalidRequest('sessionTarget: a system event is for a session; use "main", or an agentTurn')
    if not request.text:
        raise InvalidRequest("payload: expected the text to send")
    return request


def _trigger(schedule: Mapping[str, Any], now: float, zone: tzinfo) -> dict[str, Any]:
    match schedule["kind"]:
        case "at":
            at, own_zone = schedule.get("atMs", schedule.get("at")), schedule.get("tz")
            return at_trigger(
                at / 1000 if isinstance(at, int) else at, now, ZoneInfo(zone_name(own_zone)) if own_zone else zone
            )
        case "every":
            anchor = schedule.get("anchorMs")
            interval = schedule["every"] if "every" in schedule else schedule["everyMs"] / 1000
            return every_trigger(interval, now, zone, None if anchor is None else anchor / 1000)
        case _:
            return cron_trigger(schedule["expr"], schedule.get("tz"), schedule.get("staggerMs", 0) / 1000)


def _with_payload(request: ScheduleRequest, payload: Mapping[str, Any]) -> ScheduleRequest:
    do = _KINDS[payload["kind"]]
    if do is not request.do:
        session = "main" if do is ScheduledAction.EVENT else "isolated"
        request = replace(request, do=do, session=session, address="none" if do is ScheduledAction.EVENT else "last")
    text = payload.get("message", payload.get("text", request.text))
    timeout = payload.get("timeoutSeconds", request.timeout_s)
    return replace(
        request,
        text=text,
        model=payload.get("model", request.model),
        thinking=payload.get("thinking", request.thinking),
        timeout_s=float(timeout) if timeout else None,
    )


def is_webhook(request: ScheduleRequest) -> bool:
    """Whether results go to a program, and to no chat."""
    return request.notify is not None and request.address == "none"


def _with_delivery(request: ScheduleRequest, delivery: Mapping[str, Any]) -> ScheduleRequest:
    if delivery.get("mode") != "webhook":
        kept = None if is_webhook(request) else request.notify
        return replace(request, address=_address(delivery), notify=kept)
    if request.do is ScheduledAction.REMIND:
        raise InvalidRequest("delivery: a text goes to a chat; a webhook gets what an agent does, with --message")
    try:
        address = url(delivery.get("to") or "")
    except SchemaError as error:
        raise InvalidRequest(f"delivery.to: {describe_error(error)}") from error
    return replace(request, address="none", notify={**(request.notify or {}), "url": address})


def _address(delivery: Mapping[str, Any]) -> Mapping[str, Any] | str:
    mode = delivery.get("mode", "announce")
    if mode == "none":
        return "none"
    chat = chat_or_last(delivery.get("channel"), delivery.get("to"))
    if chat is None:
        return "last"
    account = delivery.get("accountId")
    return {"channel": chat[0], "to": chat[1]} | ({"account": account} if account else {})


def _session(target: str, key: str | None) -> str:
    if target in {"main", "isolated"}:
        return target
    if target == "current" and key:
        return key
    if target.startswith("session:"):
        return target.removeprefix("session:")
    raise InvalidRequest("sessionTarget: expected main, isolated, current with sessionKey, or session:<key>")
