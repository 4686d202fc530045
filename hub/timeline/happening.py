"""Happenings: the one kind of row that messages, automations, approvals and changes of devices have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

from msgspec import Struct

from hub.core.phrases import Phrase


class Kind(StrEnum):
    """The kind of a happening's origin."""

    CONVERSATION = "conversation"
    AUTOMATION = "automation"
    REMINDER = "reminder"
    DEVICE = "device"
    APPROVAL = "approval"
    PERSON = "person"
    """Somebody wrote who may not."""
    SYSTEM = "system"
    TRIGGER = "trigger"
    """Only among causes: what set an automation off, where that is no happening itself."""


class Outcome(StrEnum):
    """The outcome of a happening."""

    ANSWERED = "answered"
    DONE = "done"
    CHANGED = "changed"
    ALLOWED = "allowed"
    WAITING = "waiting"
    RUNNING = "running"
    NOT_RUN = "did_not_run"
    DENIED = "denied"
    EXPIRED = "expired"
    REFUSED = "refused"
    STOPPED = "stopped"
    FAILED = "failed"


FELL_BACK = "fell_back"
"""A note, and a filter beside the outcomes: another model answered than the one that was asked."""
FILTERS = (*(each.value for each in Outcome), FELL_BACK)
LISTED = tuple(each.value for each in Kind if each is not Kind.TRIGGER)


class Cause(Struct, frozen=True):
    """A happening as a part of another row: what caused it, the row itself, or what it caused.

    Attributes:
        id: The id of the happening that it is by itself; None when it is not one, or may not be seen.
        name: The name of the device or the automation alone, without what happened to it.
        state: The new state of the device.
        trigger: The trigger, by its kind, for translation.
        at_ms: When it happened, where it is a record by itself.
    """

    kind: Kind
    title: str
    id: str | None = None
    name: str | None = None
    state: str | None = None
    entity_id: str | None = None
    trigger: Mapping[str, str] | None = None
    is_self: bool = False
    at_ms: int | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return it as a client sees it."""
        shown = {
            "id": self.id,
            "kind": self.kind.value,
            **text_field("title", self.title),
            "name": self.name,
            "state": self.state,
            "entityId": self.entity_id,
            "trigger": self.trigger,
            "self": self.is_self,
            "at": self.at_ms,
        }
        return {key: value for key, value in shown.items() if value is not None}


class Happening(Struct, frozen=True):
    """One row of the timeline.

    Attributes:
        id: Names it for `timeline.get`: its source and its id there.
        at_ms: When it began.
        title: In plain words; a phrase where they are the hub's.
        reason: Why it did not happen, or what else is worth saying, in plain words.
        reason_code: The same for programs.
        person: Id of the person behind it.
        principal: The actor.
        private: The session key and the stored authority that decide who may see it; None is the owners'.
        causes: What caused it, the row itself, and what it caused, in order; empty when it is alone.
        more: How many further effects are not among them.
        notes: Remarkable facts beside the outcome (`fell_back`).
        pictures: Pictures and films that became files in it, as clients see them.
    """

    id: str
    at_ms: int
    kind: Kind
    title: str
    outcome: Outcome
    reason: str | None = None
    reason_code: str | None = None
    person: str | None = None
    principal: str | None = None
    private: tuple[str, Mapping[str, Any]] | None = None
    channel: str | None = None
    agent_id: str | None = None
    session_key: str | None = None
    run_id: str | None = None
    automation_id: str | None = None
    entity_id: str | None = None
    model: str | None = None
    duration_ms: int | None = None
    tokens: int | None = None
    cost_usd: float | None = None
    causes: Sequence[Cause] = ()
    more: int = 0
    notes: Sequence[str] = ()
    pictures: Sequence[Mapping[str, Any]] = ()

    def as_dict(self, name_of: Mapping[str, str]) -> dict[str, Any]:
        """Return it as a client sees it.

        Args:
            name_of: Names of people by their id.
        """
        who = None if self.person is None else {"person": self.person, "name": name_of.get(self.person, self.person)}
        return {
            "id": self.id,
            "at": self.at_ms,
            "kind": self.kind.value,
            **text_field("title", self.title),
            "outcome": self.outcome.value,
            **text_field("reason", self.reason),
            "reasonCode": self.reason_code,
            "who": who,
            "principal": self.principal,
            "channel": self.channel,
            "agentId": self.agent_id,
            "sessionKey": self.session_key,
            "runId": self.run_id,
            "automationId": self.automation_id,
            "entityId": self.entity_id,
            "model": self.model,
            "durationMs": self.duration_ms,
            "tokens": self.tokens,
            "costUsd": self.cost_usd,
            "causes": [each.as_dict() for each in self.causes],
            "moreCauses": self.more,
            "notes": list(self.notes),
            "pictures": [dict(each) for each in self.pictures],
        }

    def words(self) -> str:
        """Return everything that a search covers, in lower case."""
        parts = (self.title, self.reason or "", *(each.title for each in self.causes))
        return "\n".join(parts).casefold()


def text_field(name: str, text: str | None) -> dict[str, Any]:
    """Return a text as a field; for a phrase, also its parts for translation."""
    if not isinstance(text, Phrase) or not text.template:
        return {name: text}
    return {name: str(text), f"{name}Phrase": text.as_data()}


def first_line(text: str, limit: int = 160) -> str:
    """Return the first line of a text that says something, cut when it is long."""
    line = next((" ".join(each.split()) for each in text.splitlines() if each.strip()), "")
    return line if len(line) <= limit else f"{line[:limit]}…"
