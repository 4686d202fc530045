"""Makes happenings from the sources' records. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from hub.automation.tracing.timeline_data import AUTOMATION
from hub.core.phrases import PHRASE, phrase, stored_phrase
from hub.messaging.access.access import NOT_LISTED
from hub.timeline.happening import FELL_BACK, Cause, Happening, Kind, Outcome, first_line
from hub.timeline.history_sources import TRIGGERED, BegunRun, Change, HubEvent, RelatedRecords, Skipped
from hub.timeline.hub_sources import FoundApproval, FoundMessage, FoundRun, approval_subject
from hub.timeline.words import device_change, event_title

EFFECTS_SHOWN = 6
_RUN_STATES = {
    "queued": Outcome.WAITING,
    "running": Outcome.RUNNING,
    "answered": Outcome.ANSWERED,
    "failed": Outcome.FAILED,
    "aborted": Outcome.STOPPED,
    "interrupted": Outcome.STOPPED,
}
_ENDS = {
    "finished": Outcome.DONE,
    "stopped": Outcome.STOPPED,
    "failed": Outcome.FAILED,
    "cancelled": Outcome.STOPPED,
    "timed_out": Outcome.FAILED,
    "denied": Outcome.DENIED,
    "interrupted": Outcome.STOPPED,
}
_APPROVALS = {
    "pending": Outcome.WAITING,
    "approved": Outcome.ALLOWED,
    "denied": Outcome.DENIED,
    "expired": Outcome.EXPIRED,
    "cancelled": Outcome.STOPPED,
    "answered": Outcome.ANSWERED,
}
RUN_STATES_OF: Mapping[str, list[str]] = {
    outcome: [state for state, each in _RUN_STATES.items() if each is outcome] for outcome in set(_RUN_STATES.values())
}
_EVENT_OUTCOMES = {
    "hub_started": Outcome.DONE,
    "logbook_entry": Outcome.DONE,
    "config_changed": Outcome.CHANGED,
    "pairing_decided": Outcome.DENIED,
    "budget_reached": Outcome.STOPPED,
}


class RowContext(Struct):
    """The context that rows are made with.

    Attributes:
        around: Of the history.
        runs: Runs that others refer to, by their id.
        asked: Approvals that runs asked for.
        title_of: Titles of conversations, by their key.
        readable: Ids of the runs whose words this reader may see.
        started_ms: When the hub began: what is open from before was cut off.
    """

    around: RelatedRecords
    runs: Mapping[str, FoundRun]
    asked: Mapping[str, list[tuple[str, str, str]]]
    title_of: Mapping[str, str]
    readable: frozenset[str]
    started_ms: int


def run_row(run: FoundRun, beside: RowContext) -> Happening | None:
    """Return the row of an agent's run; None when it is a part of an automation's."""
    run, around = beside.runs.get(run.id, run), beside.around
    begun = around.begun.get(run.context_id or "")
    if begun is not None and _automation_of(begun, around) is not None:
        return None
    failed = around.failed.get(run.id) or ()
    code, reason = _why(run, failed)
    asked = beside.asked.get(run.id, [])
    outcome = _RUN_STATES.get(run.state, Outcome.STOPPED)
    if outcome is Outcome.RUNNING and any(state == "pending" for _, _, state in asked):
        outcome = Outcome.WAITING
    effects = [_effect(each) for each in _changes([begun.context_id] if begun else [], around)]
    effects += [Cause(Kind.APPROVAL, title, f"approval.{id}") for id, title, _ in asked]
    title = run_title(run, beside.title_of)
    causes, more = _line([], Cause(Kind.CONVERSATION, title, f"run.{run.id}", is_self=True), effects)
    said = run.said
    return Happening(
        id=f"run.{run.id}",
        at_ms=run.created_ms,
        kind=Kind.CONVERSATION,
        title=title,
        outcome=outcome,
        reason=reason,
        reason_code=code,
        person=run.authority.get("person"),
        principal=run.authority.get("principal"),
        private=(run.session_key, run.authority),
        channel=said.channel if said is not None else None,
        agent_id=run.agent_id,
        session_key=run.session_key,
        run_id=run.id,
        model=run.model,
        duration_ms=_lasted(run),
        tokens=run.usage.get("total_tokens"),
        cost_usd=run.usage.get("cost_usd"),
        causes=causes,
        more=more,
        notes=(FELL_BACK,) if failed and outcome is Outcome.ANSWERED else (),
        pictures=_pictures([begun.context_id] if begun else [], around),
    )


def run_title(run: FoundRun, title_of: Mapping[str, str]) -> str:
    """Return the subject of a run: the message, the task, or the name of its conversation."""
    said = first_line(run.said.text) if run.said is not None else ""
    if said or run.task:
        return said or first_line(run.task or "")
    known = title_of.get(run.session_key)
    if known:
        return known
    if run.said is not None:
        return phrase("A message on {channel}", channel=run.said.channel)
    return phrase("A question from a program")


def message_row(found: FoundMessage) -> Happening | None:
    """Return the row of a command, or of a message that was refused; None for an unasked message in a group."""
    said = found.said
    if found.state == "command":
        return Happening(
            id=f"message.{found.id}",
            at_ms=found.at_ms,
            kind=Kind.CONVERSATION,
            title=first_line(said.text) or phrase("A command on {channel}", channel=said.channel),
            outcome=Outcome.DONE,
            person=said.person,
            principal=found.authority.get("principal"),
            private=(found.session_key, found.authority) if found.session_key else None,
            channel=said.channel,
            session_key=found.session_key,
        )
    if not found.is_direct:
        return None
    name = _sender(found)
    return Happening(
        id=f"message.{found.id}",
        at_ms=found.at_ms,
        kind=Kind.PERSON,
        title=phrase("{name} wrote on {channel}", name=name, channel=said.channel),
        outcome=Outcome.REFUSED,
        reason=phrase("{name} is not on the list of those who may write", name=name)
        if NOT_LISTED in (said.reason or "")
        else said.reason,
        reason_code="not_allowed",
        person=said.person,
        principal=found.authority.get("principal"),
        channel=said.channel,
    )


def approval_row(found: FoundApproval, beside: RowContext) -> Happening:
    """Return the row of an approval or a question."""
    run = beside.runs.get(found.run_id or "")
    is_question = found.kind == "question"
    title = approval_subject(found.kind, found.title, found.details)
    own = Cause(Kind.APPROVAL, title, f"approval.{found.id}", is_self=True)
    causes, _ = _line([_run_cause(run, beside)] if run is not None else [], own, [])
    return Happening(
        id=f"approval.{found.id}",
        at_ms=found.created_ms,
        kind=Kind.APPROVAL,
        title=title,
        outcome=_APPROVALS.get(found.state, Outcome.STOPPED),
        reason=found.reason or found.text or None,
        reason_code=found.state,
        person=found.authority.get("person"),
        principal=found.decided_by or found.authority.get("principal"),
        private=(found.session_key, found.authority) if is_question and found.session_key else None,
        agent_id=found.details.get("agent"),
        session_key=found.session_key,
        run_id=found.run_id,
        duration_ms=None if found.decided_ms is None else max(0, found.decided_ms - found.created_ms),
        causes=causes,
    )


def event_row(told: HubEvent, beside: RowContext) -> Happening | None:
    """Return the row of an event: an automation that ran, or a report of the hub about itself."""
    if told.type == TRIGGERED:
        return None if told.position in beside.around.again else _automation_row(told, beside)
    data = told.data
    outcome = _EVENT_OUTCOMES.get(told.type, Outcome.FAILED)
    if told.type == "pairing_decided" and data.get("state") == "approved":
        outcome = Outcome.ALLOWED
    reason = stored_phrase(data, "reason") or stored_phrase(data, "error")
    return Happening(
        id=f"event.{told.position}",
        at_ms=told.at_ms,
        kind=Kind.PERSON if told.type == "pairing_decided" else Kind.SYSTEM,
        title=event_title(told.type, data),
        outcome=outcome,
        reason=reason or None,
        reason_code=told.type,
        channel=data.get("channel"),
        agent_id=data.get("agent_id"),
        automation_id=data.get("automation_id"),
    )


def skipped_row(found: Skipped) -> Happening:
    """Return the row of a trigger that fired while nothing ran."""
    data = found.data
    title = str(data.get("alias") or found.automation_id)
    kind = Kind(data.get("kind") or AUTOMATION)
    own = Cause(kind, title, f"skipped.{found.position}", name=title, is_self=True)
    causes, _ = _line(trigger_causes(data.get("trigger") or {}), own, [])
    return Happening(
        id=f"skipped.{found.position}",
        at_ms=found.at_ms,
        kind=kind,
        title=title,
        outcome=Outcome.NOT_RUN,
        reason=stored_phrase(data, "text") or None,
        reason_code=found.reason,
        automation_id=found.automation_id,
        causes=causes,
    )


def change_row(change: Change, beside: RowContext, *, fold: bool) -> Happening | None:
    """Return the row of a change of a device.

    Args:
        fold: Whether one that an automation caused, or that set one off, is a part of its row and not a row itself.
    """
    around = beside.around
    automation = around.automations.get(change.context_id) or around.automations.get(change.parent_id or "")
    begun = around.begun.get(change.context_id) or around.begun.get(change.parent_id or "")
    if automation is None and begun is not None:
        automation = _automation_of(begun, around)
    set_off = [each for each in around.set_off.get(change.context_id, ()) if _is_of(each, change)]
    if fold and (automation is not None or set_off):
        return None
    run = beside.runs.get(begun.run_id) if begun is not None else None
    before = [] if automation is None else [*_set_off_by(automation, around), _automation_cause(automation)]
    if automation is None and run is not None:
        before = [_run_cause(run, beside)]
    own = _effect(change, is_self=True)
    causes, more = _line(before, own, [_automation_cause(each) for each in set_off])
    principal, person = around.callers.get(change.context_id, (change.principal, change.person))
    if run is not None:
        principal, person = run.authority.get("principal"), run.authority.get("person")
    return Happening(
        id=f"device.{change.position}",
        at_ms=change.at_ms,
        kind=Kind.DEVICE,
        title=own.title,
        outcome=Outcome.CHANGED,
        person=person if automation is None else None,
        principal=principal,
        agent_id=run.agent_id if run is not None else None,
        run_id=run.id if run is not None else None,
        automation_id=str(automation.data.get("automation_id")) if automation is not None else None,
        entity_id=change.entity_id,
        causes=causes,
        more=more,
    )


def trigger_causes(trigger: Mapping[str, Any]) -> list[Cause]:
    """Return the trigger as a part of a row, where it is not a happening itself."""
    named = {key: str(value) for key, value in trigger.items() if isinstance(value, str) and key != f"alias{PHRASE}"}
    title = named.get("alias") or named.get("description") or named.get("platform")
    if not title:
        return []
    kept = {key: named[key] for key in TRIGGER_KEYS if key in named}
    if isinstance(event := trigger.get("event"), Mapping):
        kept["event"] = str(event.get("event_type") or "")
    if isinstance(state := trigger.get("to_state"), Mapping) and not trigger.get("attribute"):
        kept["state"] = str(state.get("state") or "")
        if isinstance(attributes := state.get("attributes"), Mapping) and (of := attributes.get("device_class")):
            kept["device_class"] = str(of)
    return [Cause(Kind.TRIGGER, title, entity_id=named.get("entity_id"), trigger=kept)]


TRIGGER_KEYS = ("platform", "description", "alias", "entity_id", "topic", "path", "hook", "sentence", "event_type")


def _automation_row(told: HubEvent, beside: RowContext) -> Happening:
    around, data = beside.around, told.data
    ends = around.ends.get(told.context_id, [])
    end = next((each for type, each in ends if type != "heartbeat"), None)
    beat = next((each for type, each in ends if type == "heartbeat"), None)
    if end is None:
        outcome = Outcome.RUNNING if told.at_ms >= beside.started_ms else Outcome.STOPPED
    else:
        outcome = _ENDS.get(str(end.get("outcome")), Outcome.STOPPED)
    reason = around.errors.get(told.context_id)
    code = None if end is None else str(end.get("outcome"))
    if beat is not None and beat.get("status") in ("skipped", "failed"):
        outcome = Outcome.NOT_RUN if beat["status"] == "skipped" else Outcome.FAILED
        reason, code = stored_phrase(beat, "reason"), "heartbeat"
    agents = {each.run_id: each for each in around.begun.values() if told.context_id in each.chain}
    runs = [beside.runs[id] for id in agents if id in beside.runs]
    made = _changes([told.context_id, *(each.context_id for each in agents.values())], around)
    effects = [_run_cause(each, beside, answered=True) for each in runs] + [_effect(each) for each in made]
    own = _automation_cause(told, is_self=True)
    causes, more = _line(_set_off_by(told, around), own, effects)
    costs = [each.usage["cost_usd"] for each in runs if each.usage.get("cost_usd") is not None]
    tokens = [each.usage["total_tokens"] for each in runs if each.usage.get("total_tokens")]
    return Happening(
        id=own.id or "",
        at_ms=told.at_ms,
        kind=own.kind,
        title=own.title,
        outcome=outcome,
        reason=reason or None,
        reason_code=code,
        agent_id=runs[0].agent_id if runs else None,
        run_id=data.get("run_id"),
        automation_id=str(data.get("automation_id")),
        model=runs[-1].model if runs else None,
        duration_ms=(end or {}).get("duration_ms"),
        tokens=sum(tokens) if tokens else None,
        cost_usd=sum(costs) if costs else None,
        causes=causes,
        more=more,
        notes=(FELL_BACK,) if any(around.failed.get(each.id) for each in runs) else (),
        pictures=_pictures(
            [told.context_id, *(each.context_id for id, each in agents.items() if id in beside.readable)], around
        ),
    )


def _set_off_by(told: HubEvent, around: RelatedRecords) -> list[Cause]:
    above = around.changes.get(told.parent_id or "", [])
    if change := next((each for each in above if _is_of(told, each)), None):
        return [_effect(change)]
    if other := around.automations.get(told.parent_id or ""):
        return [_automation_cause(other)]
    return trigger_causes(told.data.get("trigger") or {})


def _is_of(told: HubEvent, change: Change) -> bool:
    """Whether a change is the one that set an automation off, and not another of the same call."""
    trigger = told.data.get("trigger") or {}
    return bool(trigger.get("entity_id") == change.entity_id)


def _changes(contexts: Iterable[str], around: RelatedRecords) -> list[Change]:
    found = [change for id in contexts for change in around.changes.get(id, ())]
    return sorted({each.position: each for each in found}.values(), key=lambda each: each.position)


def _pictures(contexts: Iterable[str], around: RelatedRecords) -> list[dict[str, Any]]:
    found = {each.position: each for id in contexts for each in around.pictures.get(id, ())}
    return [found[position].as_dict() for position in sorted(found)]


def _automation_of(begun: BegunRun, around: RelatedRecords) -> HubEvent | None:
    return next((found for id in reversed(begun.chain) if (found := around.automations.get(id)) is not None), None)


def _automation_cause(told: HubEvent, *, is_self: bool = False) -> Cause:
    data = told.data
    name = str(data.get("name") or data.get("automation_id"))
    return Cause(
        Kind(data.get("kind") or AUTOMATION),
        name,
        f"automation.{data.get('run_id')}",
        name,
        is_self=is_self,
        at_ms=told.at_ms,
    )


def _run_cause(run: FoundRun, beside: RowContext, *, answered: bool = False) -> Cause:
    """Return a run as a part of another row, without words when its reader may not see them."""
    if run.id not in beside.readable:
        return Cause(Kind.CONVERSATION, phrase("A conversation of somebody else"))
    title = phrase("{agent} was asked", agent=run.agent_id) if answered else run_title(run, beside.title_of)
    return Cause(Kind.CONVERSATION, title, f"run.{run.id}")


def _effect(change: Change, *, is_self: bool = False) -> Cause:
    domain = change.entity_id.partition(".")[0]
    title = device_change(change.name, domain, change.device_class, change.before, change.state)
    return Cause(
        Kind.DEVICE,
        title,
        f"device.{change.position}",
        change.name,
        change.state,
        change.entity_id,
        is_self=is_self,
        at_ms=change.at_ms,
    )


def _line(before: Sequence[Cause], own: Cause, after: Sequence[Cause]) -> tuple[Sequence[Cause], int]:
    if not before and not after:
        return (), 0
    return (*before, own, *after[:EFFECTS_SHOWN]), max(0, len(after) - EFFECTS_SHOWN)


def _why(run: FoundRun, failed: Sequence[Mapping[str, Any]]) -> tuple[str | None, str | None]:
    error = run.error or {}
    if error:
        return str(error.get("code") or "") or None, str(error.get("message") or error.get("code") or "") or None
    if run.state == "aborted" and run.said is not None and run.said.reason:
        return run.said.reason, run.said.reason
    if failed and run.model is not None:
        first = failed[0]
        told = phrase("{model} did not answer; {other} answered instead", model=first.get("model"), other=run.model)
        return FELL_BACK, told
    return None, None


def _lasted(run: FoundRun) -> int | None:
    return None if run.ended_ms is None else max(0, run.ended_ms - (run.started_ms or run.created_ms))


def _sender(found: FoundMessage) -> str:
    """Return the name that a sender gave itself on the platform, and its id there without `telegram:user:` before."""
    id = str(found.authority.get("principal") or "").removeprefix("peer:").split(":", 2)[-1]
    name = found.said.sender_name
    return f"{name} ({id})" if name and id else name or id
