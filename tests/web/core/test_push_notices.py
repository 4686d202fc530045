"""What is pushed to closed browsers, to whom, and for how long."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hub.automation.services.delivery import EVENT_SESSION_SAID
from hub.core.clock import Clock
from hub.core.context import SYSTEM, Authority, Context
from hub.core.events import EventBus
from hub.core.tasks import TaskOwner
from hub.nodes.contract import EVENT_NOTICE
from hub.sessions.session import Session
from hub.sessions.store import SessionStore
from hub.storage.database import Database
from hub.storage.homedir import Home
from hub.tools.approval import QUESTION, Approval, ApprovalState
from web.core.push_notices import PushNotices

NOW_MS = 1_000_000.0
KEY = "agent:main:webchat:direct:anna"
Pushed = list[dict[str, Any]]


@pytest.fixture
def pushed() -> Pushed:
    return []


@pytest.fixture
def bus() -> EventBus:
    return EventBus(TaskOwner("pushes"))


@pytest.fixture
def notices(tmp_path: Path, pushed: Pushed, bus: EventBus) -> Iterator[PushNotices]:
    bus.listen(EVENT_NOTICE, lambda event: pushed.append(event.data))
    sessions = SessionStore(Database(tmp_path / "hub.db", ()), Home(tmp_path), Clock(), bus)
    made = PushNotices(
        bus,
        sessions,
        words=lambda text: f"<{text}>",
        redact=lambda text: text.replace("hunter2", "[redacted]"),
        now_ms=lambda: NOW_MS,
    )
    yield made
    made.close()


def asked(kind: str, title: str, details: dict[str, Any], *, seconds: int = 300, **more: Any) -> Approval:
    owner = Authority("owner", person="anna", owner=True)
    about = ("a1", "abcd", kind, title, "why", details, "binding", owner, KEY, "run-1", "context")
    ends = int(NOW_MS) + seconds * 1_000
    return Approval(*about, more.get("state", ApprovalState.PENDING), created_ms=1, expires_ms=ends)


def test_an_approval_and_a_question_are_told_as_long_as_they_wait(notices: PushNotices, pushed: Pushed) -> None:
    notices.notify_question(asked("exec", "Run it", {"argv": ["curl", "hunter2"]}))
    notices.notify_question(
        asked(QUESTION, "Which one?", {"question": "Which lamp?", "choices": ["A", "B"]}, seconds=60)
    )
    notices.notify_question(asked("exec", "Run it", {}, state=ApprovalState.DENIED))
    notices.notify_question(asked("exec", "Run it", {}, seconds=0))

    command, question = pushed
    assert (command["topic"], command["body"], command["ttl_s"]) == ("approvals", "curl [redacted]", 300)
    assert command["path"] == f"/chat?session={KEY.replace(':', '%3A')}"
    assert (question["topic"], question["title"], question["body"]) == (
        *("questions", "<The assistant asks>", "Which lamp?"),
    )
    assert command["tag"] == question["tag"] == "ask-a1"


def test_an_answer_is_told_to_the_person_of_its_conversation(notices: PushNotices, pushed: Pushed) -> None:
    notices.notify_answer(
        Session(KEY, "0" * 32, "main", 1, 1, title="Boiler", person="anna"), "It is\n\ndue. " + "x" * 900
    )

    assert (pushed[0]["topic"], pushed[0]["title"], pushed[0]["person"]) == ("answers", "Boiler", "anna")
    assert pushed[0]["body"].startswith("It is due. xxx")
    assert len(pushed[0]["body"]) == 300


def test_what_a_reminder_says_is_told_until_nobody_listens(notices: PushNotices, pushed: Pushed, bus: EventBus) -> None:
    said = {"session_key": KEY, "text": "Take the bins out.", "entry_id": "said-1"}
    bus.fire(EVENT_SESSION_SAID, said, Context(SYSTEM))
    notices.close()
    bus.fire(EVENT_SESSION_SAID, said, Context(SYSTEM))

    assert [(each["topic"], each["title"], each["body"]) for each in pushed] == [
        ("reminders", "<Reminder>", "Take the bins out.")
    ]
