"""What waits for a person's word, or waited, as a card in a conversation."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from hub.tools.approval import ALWAYS, DIFF, QUESTION, Approval, ApprovalState, shown, visible
from hub.tools.questions import SECRET, choices_of
from web.core.texts import ASK_TITLES


class ShownAsk(Struct):
    """What waits for a person's word, or waited, as a card in the conversation.

    Attributes:
        id, code, state: Of the approval.
        asks: approval | question | secret.
        title: What is asked: a message id, or the question itself.
        line: The command, or the call, on one line.
        text: Why it is asked.
        details: Exactly what will run.
        diff: What it would change in files.
        choices: Answers to pick from.
        secret: The name of the secret that is asked for.
        may_persist, always: Whether it may be allowed for good, and was.
        created_ms, expires_ms, decided_ms: Milliseconds since the epoch.
        decided_by: The name of who answered; empty for the one person without a name.
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
    text: str = ""
    details: str = ""
    diff: str = ""
    choices: tuple[str, ...] = ()
    secret: str = ""
    may_persist: bool = False
    always: bool = False
    decided_ms: int = 0
    decided_by: str = ""

    @classmethod
    def of(cls, approval: Approval, decided_by: str = "") -> ShownAsk:
        """Return the card of an approval or a question."""
        names = ("id", "code", "created_ms", "expires_ms", "run_id")
        known = {name: getattr(approval, name) for name in names} | {"state": approval.state.value}
        known |= {"decided_ms": approval.decided_ms or 0, "decided_by": decided_by}
        if approval.kind == QUESTION:
            secret = str(approval.details.get(SECRET) or "")
            asks = "secret" if secret else "question"
            title = str(approval.details.get("question") or approval.title)
            return cls(**known, asks=asks, title=title, choices=choices_of(approval), secret=secret)
        return cls(
            **known,
            asks="approval",
            title=ASK_TITLES.get(approval.kind, ASK_TITLES["other"]),
            line=line_of(approval),
            text=approval.text,
            details=shown({name: value for name, value in approval.details.items() if name != DIFF}),
            diff=str(approval.details.get(DIFF) or ""),
            may_persist=approval.may_persist,
            always=approval.always,
        )

    @property
    def pending(self) -> bool:
        """Whether it can be answered."""
        return self.state == ApprovalState.PENDING

    @property
    def good(self) -> bool:
        """Whether it was a yes."""
        return self.state in (ApprovalState.APPROVED, ApprovalState.ANSWERED)

    @property
    def answers(self) -> list[tuple[str, str, str]]:
        """The answers to an approval: value, message id, kind of button."""
        always = [(ALWAYS, "Always allow this", "")] if self.may_persist else []
        return [("once", "Allow once", "primary"), *always, ("deny", "Deny", "quiet")]


def line_of(approval: Approval) -> str:
    """Return what will run, as people write it; nothing is hidden or cut."""
    details = approval.details
    if isinstance(argv := details.get("argv"), Sequence) and not isinstance(argv, str):
        text = shlex.join(str(word) for word in argv)
    elif isinstance(shell := details.get("shell"), str):
        text = shell
    elif "tool" in details or "service" in details:
        given = details.get("arguments") or details.get("data")
        text = f"{details.get('tool') or details.get('service')}{f' {_flat(given)}' if given else ''}"
    else:
        text = approval.title
    return visible(text)


def _flat(given: Any) -> str:
    return json.dumps(given, ensure_ascii=False, default=str)
