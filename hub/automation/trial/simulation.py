"""Simulates an automation: would it run at some time, and what would it do? Without effects."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from msgspec.structs import replace

from hub.automation.contract import Firing
from hub.automation.engine.parts import AutomationParts
from hub.automation.tracing.trace import plain_value
from hub.automation.trial.dry_firing import Trial
from hub.core.clock import Clock
from hub.core.context import Context, system_context
from hub.core.errors import InvalidRequest, NotFound
from hub.core.secret import SecretMask

_BY_HAND = {"platform": None, "id": None, "idx": None, "alias": None, "description": "run by hand"}


class StandingClock(Clock):
    """A clock with a fixed time."""

    def __init__(self, at: float) -> None:
        self._at = at

    def time(self) -> float:
        return self._at


async def simulate(
    config: Mapping[str, Any],
    parts: AutomationParts,
    trigger: str | None = None,
    at: float | None = None,
    variables: Mapping[str, Any] | None = None,
    *,
    context: Context | None = None,
    skip_conditions: bool = False,
    ask_models: bool = False,
) -> dict[str, Any]:
    """Try an automation out: no service is called, nothing fired or sent, no state changed, nothing waited for.

    Args:
        config: Validated and expanded.
        parts: The hub's; states are those of now.
        trigger: Id or index of the trigger that is assumed to fire; None for none of them.
        at: The assumed time in seconds since the epoch; None for now.
        variables: Over those of the automation, never rendered; `trigger` in it is merged into the trigger's own.
        context: The authority of templates and conditions.
        skip_conditions: Whether to show the actions even if its conditions do not hold.
        ask_models: Whether `agent` conditions ask their model, which costs; else they are taken to hold.

    Returns:
        `{"would_run", "reason", "not_run", "calls": [{"path", "service", "data"}], "skipped": [{"path", "text"}],
        "steps", "outcome", "error"}`.

    Raises:
        NotFound: It has no such trigger.
    """
    clock = parts.clock if at is None else StandingClock(at)
    tried_parts = replace(
        parts,
        clock=clock,
        templates=parts.templates if at is None else parts.templates.over(parts.states, clock),
        judge=parts.judge if ask_models else None,
        history=None,
    )
    given = dict(variables or {})
    told = trigger_data(config, tried_parts, trigger)
    extra = given.pop("trigger", None)
    if extra is not None and not isinstance(extra, Mapping):
        raise InvalidRequest("variables.trigger is not a mapping")
    firing = Firing({**told, **(extra or {})}, variables=_variables_of(config, told), given=given)
    trial = Trial(config, tried_parts, context or system_context())
    tried = await trial.fire(firing, skip_conditions=skip_conditions)
    return {
        "would_run": tried.would_run,
        "reason": tried.reason,
        "not_run": tried.not_run.value if tried.not_run is not None else None,
        "calls": list(tried.calls),
        "skipped": list(tried.skipped),
        "steps": tried.steps,
        "outcome": tried.ended.outcome.value if tried.ended is not None else None,
        "error": plain_value(tried.ended.error, SecretMask(config)) if tried.ended is not None else None,
    }


def trigger_data(config: Mapping[str, Any], parts: AutomationParts, wanted: str | None) -> dict[str, Any]:
    """Return the data that the chosen trigger would provide, as far as known."""
    if wanted is None:
        return dict(_BY_HAND)
    found = _find(config, wanted)
    now = datetime.fromtimestamp(parts.clock.time(), UTC).astimezone(parts.zone())
    told: dict[str, Any] = {
        "platform": found["trigger"],
        "id": found.get("id", found["index"]),
        "idx": found["index"],
        "alias": found.get("alias"),
        "description": "simulated",
        "now": now,
    }
    match found:
        case {"entity_id": [str(entity), *_]}:
            state = parts.states.get(entity)
            told |= {"entity_id": entity, "from_state": state, "to_state": state, "for": None}
            told |= {"attribute": found.get("attribute")}
        case {"event_type": [str(type), *_]}:
            told["event"] = {"event_type": type, "data": dict(found.get("event_data") or {})}
        case {"trigger": "message"}:
            keys = ("channel", "account", "peer", "chat_type", "sender")
            told["message"] = {key: (found.get(key) or [None])[0] for key in keys}
            told["message"] |= {"text": "", "sender_name": None, "from_owner": found.get("from_owner", True)}
        case {"webhook_id": id}:
            told |= {"webhook_id": id, "json": {}, "data": {}, "query": {}}
    return told


def _find(config: Mapping[str, Any], wanted: str) -> Mapping[str, Any]:
    triggers: list[Mapping[str, Any]] = config["triggers"]
    for key in ("id", "index"):
        for each in triggers:
            if str(each.get(key)) == wanted:
                return each
    known = ", ".join(str(each.get("id", each["index"])) for each in triggers) or "none"
    raise NotFound(f"the automation {config['id']} has no trigger {wanted[:64]!r}; there are: {known}")


def _variables_of(config: Mapping[str, Any], told: Mapping[str, Any]) -> Mapping[str, Any]:
    for each in config["triggers"]:
        if each["index"] == told["idx"]:
            variables: Mapping[str, Any] = each.get("variables") or {}
            return variables
    return {}
