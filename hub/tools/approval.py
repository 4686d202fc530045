"""Approvals: the question, its outcome, its exact display to people, and the binding of an answer."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha256
from typing import Any

import orjson
from msgspec import Struct

from hub.core.context import Authority, Context
from hub.core.phrases import Phrase, phrase_from_data

TIMEOUT_S = 3_600.0
QUESTION = "question"
"""The kind of what is asked of a person and answered in words."""
ALWAYS = "always"
"""Behind /approve: do not ask about exactly this again."""
DIFF = "diff"
"""The key of details under which a unified diff is shown as lines."""
DIFF_LIMIT = 5_000
_UNSEEN = frozenset({"Cc", "Cf", "Zl", "Zp", "Cs", "Co"})


class ApprovalState(StrEnum):
    """The state of a request; only `approved` means yes."""

    PENDING = "pending"
    APPROVED = "approved"
    DENIED = "denied"
    EXPIRED = "expired"
    CANCELLED = "cancelled"
    ANSWERED = "answered"
    """A question was answered (`hub.tools.questions`)."""


class Ask(Struct, frozen=True):
    """A request for something that needs the owner's approval.

    Attributes:
        kind: The kind of requester: `tool`, `service`, `automation`, `exec`; `question` for a question to a person.
        title: Its subject, in a few words.
        text: Why it is asked, for people.
        details: Exactly what will run, as plain data; the answer is bound to it.
        context: The cause, and the authority.
        session_key: The conversation it happens in.
        run_id: The run it belongs to.
        timeout_s: Seconds after which no answer means no.
        id: The same id asks once: asking again joins the pending question, or returns the decision.
        survives: Whether it stays pending over a restart, and when its requester is cancelled.
        may_persist: Whether the answer may be: yes, and do not ask about exactly this again. Whoever asks keeps that.
    """

    kind: str
    title: str
    text: str
    details: Mapping[str, Any]
    context: Context
    session_key: str | None = None
    run_id: str | None = None
    timeout_s: float = TIMEOUT_S
    id: str | None = None
    survives: bool = False
    may_persist: bool = False


class ApprovalDecision(Struct, frozen=True):
    """The answer to an `Ask`; anything but `approved` is a no, and `reason` explains it to people.

    Attributes:
        answer: To a question.
        answered_by: Who answered the question.
        always: Whether the yes is for good.
    """

    approved: bool
    state: ApprovalState
    decided_by: str | None = None
    reason: str = ""
    answer: str | None = None
    answered_by: Authority | None = None
    always: bool = False


@dataclass(frozen=True, slots=True)
class Approval:
    """An approval request, as stored and shown.

    Attributes:
        code: Short enough to be typed; it grants nothing by itself.
        details: What will run, without secrets.
        binding: SHA-256 of what will run, as it really is, and of the requester.
        chain: Contexts that led to it and cannot answer it. Not kept over a restart.
        answer, answered_by: Properties of a question; not stored, the transcript has the answer.
        may_persist, always: Whether it may be answered for good, and was; not stored, the requester keeps it.
    """

    id: str
    code: str
    kind: str
    title: str
    text: str
    details: Mapping[str, Any]
    binding: str
    requested_by: Authority
    session_key: str | None
    run_id: str | None
    context_id: str
    state: ApprovalState
    created_ms: int
    expires_ms: int
    survives: bool = False
    decided_ms: int | None = None
    decided_by: str | None = None
    reason: str = ""
    chain: frozenset[str] = field(default=frozenset(), compare=False, repr=False)
    answer: str | None = field(default=None, compare=False, repr=False)
    answered_by: Authority | None = field(default=None, compare=False, repr=False)
    may_persist: bool = field(default=False, compare=False, repr=False)
    always: bool = field(default=False, compare=False, repr=False)

    @property
    def decision(self) -> ApprovalDecision:
        """The outcome, as returned to the asker."""
        approved = self.state is ApprovalState.APPROVED
        return ApprovalDecision(
            approved, self.state, self.decided_by, self.reason, self.answer, self.answered_by, approved and self.always
        )

    def event_data(self) -> dict[str, Any]:
        """The data of the event of a request."""
        names = ("id", "code", "kind", "title", "text", "session_key", "run_id")
        return {name: getattr(self, name) for name in names}

    def as_dict(self) -> dict[str, Any]:
        """The approval as clients see it."""
        return {
            "id": self.id,
            "code": self.code,
            "kind": self.kind,
            "title": self.title,
            "text": self.text,
            "details": dict(self.details),
            "shown": details_text(self.details),
            "state": self.state.value,
            "requestedBy": self.requested_by.principal,
            "sessionKey": self.session_key,
            "runId": self.run_id,
            "createdAtMs": self.created_ms,
            "expiresAtMs": self.expires_ms,
            "decidedAtMs": self.decided_ms,
            "decidedBy": self.decided_by,
            "reason": self.reason,
            "mayPersist": self.may_persist,
        }


def stored_phrases(**texts: str) -> str | None:
    """Return what is stored beside texts that are phrases, so that `restored_texts` makes them phrases again."""
    found = {name: text.as_data() for name, text in texts.items() if isinstance(text, Phrase) and text.template}
    return json.dumps(found, ensure_ascii=False) if found else None


def restored_texts(stored: str | None, **texts: str) -> dict[str, str]:
    """Return stored texts as the phrases that they were; those from before phrases were stored stay texts.

    Raises:
        ValueError: What was stored is damaged.
    """
    phrases = json.loads(stored or "{}")
    return {name: phrase_from_data(text, phrases.get(name)) for name, text in texts.items()}


KeepSecret = Callable[[Approval], Awaitable[None]]
"""Keeps the secret that a question asks for."""

AskOwner = Callable[[Ask], Awaitable[ApprovalDecision]]
"""Asks and waits for the answer; handed to whoever may have to ask."""


def binding_of(kind: str, details: Mapping[str, Any], principal: str) -> str:
    """Return the binding of an answer: a SHA-256 over exactly what will run and the requester.

    Raises:
        TypeError: The details are not plain data.
    """
    exact = {"kind": kind, "details": dict(details), "principal": principal}
    try:
        return sha256(orjson.dumps(exact, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS)).hexdigest()
    except orjson.JSONEncodeError:  # numbers beyond 64 bits, lone surrogates
        return sha256(json.dumps(exact, sort_keys=True).encode()).hexdigest()


def details_text(details: Mapping[str, Any]) -> str:
    """Return details for people: indented JSON without invisible or reordering characters.

    A line break within a value stays an escape, so that no value can look like another key. A diff follows, in which
    every line has its sign.
    """
    rest = {key: value for key, value in details.items() if key != DIFF}
    text = json.dumps(rest, ensure_ascii=False, indent=2, default=str)
    if DIFF in details:
        text += f"\n\n{details[DIFF]}"
    return visible(text)


def visible(text: str) -> str:
    """Return text in which nothing but its line breaks is invisible or changes the reading order."""
    return "".join(_seen(symbol) for symbol in text)


def visible_line(text: str) -> str:
    """Return one line of text without invisible or reordering characters."""
    return visible(" ".join(text.split()))


def _seen(symbol: str) -> str:
    if symbol == "\n" or unicodedata.category(symbol) not in _UNSEEN:
        return symbol
    return json.dumps(symbol)[1:-1]
