"""An approval or question, pending or answered, as a card: on Home and in a conversation."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard

from msgspec import Struct

from hub.tools.approval import DIFF, QUESTION, Approval, details_text, visible, visible_line
from hub.tools.questions import SECRET, choices_of
from web.core.texts import APPROVAL_DETAILS, APPROVAL_TITLES


class ShownAsk(Struct):
    """The data of `fragments/approval.html`.

    Attributes:
        id, code, state: Properties of the approval.
        asks: approval | question | secret.
        title: The question: a message id, or its text.
        line: The command, or the call, on one line.
        is_whole: Whether the line says all that will happen; else the details are shown at once.
        text: The reason.
        details: All that the answer is bound to, as pairs of a message id and a text.
        diff: Its changes of files.
        choices: Answers to pick from.
        secret: The name of the requested secret.
        may_persist, always: Whether it may be allowed for good, and was.
        created_ms, expires_ms: Milliseconds since the epoch.
        left: The remaining time to answer; empty when that is over.
        who, time: Who answered, empty for "you", and when: a phrase.
    """

    id: str
    code: str
    state: str
    asks: str
    title: str
    created_ms: int
    expires_ms: int
    kind: str = "ask"
    run_id: str | None = None
    line: str = ""
    is_whole: bool = False
    text: str = ""
    details: list[tuple[str, str]] = []
    diff: str = ""
    choices: tuple[str, ...] = ()
    secret: str = ""
    may_persist: bool = False
    always: bool = False
    left: str = ""
    who: str = ""
    time: str = ""

    @classmethod
    def of(cls, approval: Approval, *, left: str, who: str, time: str) -> ShownAsk:
        """Return the card of an approval or a question."""
        names = ("id", "code", "created_ms", "expires_ms", "run_id")
        known = {name: getattr(approval, name) for name in names} | {"state": approval.state.value}
        known |= {"left": left, "who": who, "time": time}
        if approval.kind == QUESTION:
            secret = str(approval.details.get(SECRET) or "")
            asks = "secret" if secret else "question"
            title = str(approval.details.get("question") or approval.title)
            return cls(**known, asks=asks, title=title, choices=choices_of(approval), secret=secret)
        line, is_whole = line_of(approval)
        return cls(
            **known,
            asks="approval",
            title=APPROVAL_TITLES.get(approval.kind, APPROVAL_TITLES["other"]),
            line=line,
            is_whole=is_whole,
            text=approval.text,
            details=details_of(approval),
            diff=visible(str(approval.details.get(DIFF) or "")),
            may_persist=approval.may_persist,
            always=approval.always,
        )


def line_of(approval: Approval) -> tuple[str, bool]:
    """Return the command as people write it, and whether it is complete; nothing is hidden or cut."""
    details = approval.details
    if _is_list(argv := details.get("argv")):
        text = shlex.join(str(word) for word in argv)
    elif isinstance(shell := details.get("shell"), str):
        text = shell
    elif "tool" in details or "service" in details:
        given = details.get("arguments") or details.get("data")
        text = f"{details.get('tool') or details.get('service')}{f' {_flat(given)}' if given else ''}"
    else:
        return visible_line(approval.title), False
    return visible(text), True


def details_of(approval: Approval) -> list[tuple[str, str]]:
    """Return all that the answer is bound to, as pairs of a message id and a text; nothing in them is invisible."""
    found: list[tuple[str, str]] = []
    for key, value in approval.details.items():
        if value is None or key == DIFF or (key == "argv" and _is_list(value)):
            continue  # the line says what is run
        if key == "program" and isinstance(value, str) and " sha256:" in value:
            program, _, digest = value.rpartition(" ")
            found += [
                (APPROVAL_DETAILS["program"], visible_line(program)),
                (APPROVAL_DETAILS["hash"], visible_line(digest)),
            ]
            continue
        found.append((APPROVAL_DETAILS.get(key, key), _text(value)))
    return found


def _is_list(value: object) -> TypeGuard[Sequence[object]]:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _text(value: object) -> str:
    return (
        visible_line(value)
        if isinstance(value, str)
        else details_text(value)
        if isinstance(value, Mapping)
        else visible_line(str(value))
    )


def _flat(given: Any) -> str:
    return json.dumps(given, ensure_ascii=False, default=str)
