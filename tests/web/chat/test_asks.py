"""What a card of an approval shows: all that the answer is bound to, and nothing invisible."""

from __future__ import annotations

from typing import Any

import pytest

from hub.core.context import Authority
from hub.tools.approval import Approval, ApprovalState
from web.chat.asks import ShownAsk


def card(kind: str, title: str, details: dict[str, Any]) -> ShownAsk:
    owner = Authority("owner", person="anna", owner=True)
    about = ("a1", "abcd", kind, title, "why", details, "binding", owner, None, None, "context")
    approval = Approval(*about, ApprovalState.PENDING, created_ms=1, expires_ms=9)
    return ShownAsk.of(approval, left="4:12", who="", time="15:02")


@pytest.mark.parametrize(
    ("kind", "details", "line", "is_whole"),
    [
        ("exec", {"argv": ["ls", "my files"], "workdir": "/home"}, "ls 'my files'", True),
        ("service", {"service": "lock.unlock", "data": {"to": "me"}}, 'lock.unlock {"to": "me"}', True),
        ("automation", {"automation": "night", "actions": []}, "Run it", False),
        ("exec", {"program": "codex", "call": {"path": "/etc"}}, "Run it", False),
    ],
)
def test_the_line_is_what_will_run(kind: str, details: dict[str, Any], line: str, is_whole: bool) -> None:
    shown = card(kind, "Run it", details)

    assert (shown.line, shown.is_whole) == (line, is_whole)
    assert len(shown.details) == len(details) - ("argv" in details)


def test_nothing_that_is_invisible_is_shown_as_if_it_were_not_there() -> None:
    shown = card("exec", "x", {"argv": ["rm\u202e"], "folder": "a\u200bb", "diff": "+\u202ex"})

    assert shown.line == "'rm\\u202e'"
    assert shown.details == [("Folder", "a\\u200bb")]
    assert shown.diff == "+\\u202ex"
