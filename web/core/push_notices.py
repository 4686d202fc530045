"""Pushes to browsers pending questions, and messages that came while the person looked elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from hub.automation.services.delivery import EVENT_SESSION_SAID
from hub.core.events import Event, EventBus
from hub.nodes.contract import EVENT_NOTICE
from hub.sessions.session import Session
from hub.sessions.store import SessionStore
from hub.tools.approval import Approval
from web.chat.asks import ShownAsk

TEXT_LIMIT = 300


class PushNotices:
    """Notifies the browsers that were subscribed on `/notifications`; the integration `phone` stores and reaches them.

    Args:
        bus: Tells what reminders and automations say; takes the notices, which are made only if somebody listens.
        sessions: Know whose conversation it is.
        words: Returns a text in the home's language.
        redact: Takes secrets out of a text.
        now_ms: Tells the time.
    """

    def __init__(
        self,
        bus: EventBus,
        sessions: SessionStore,
        *,
        words: Callable[[str], str],
        redact: Callable[[str], str],
        now_ms: Callable[[], float],
    ) -> None:
        self._bus = bus
        self._sessions = sessions
        self._words = words
        self._redact = redact
        self._now_ms = now_ms
        self._unlisten = bus.listen(EVENT_SESSION_SAID, self._said)

    def close(self) -> None:
        """Stop listening."""
        self._unlisten()

    def notify_question(self, approval: Approval) -> None:
        """Notify of an approval or question that waits; not of an answered one."""
        left_s = int((approval.expires_ms - self._now_ms()) / 1000)
        if approval.state.value != "pending" or left_s < 1:
            return
        card = ShownAsk.of(approval, left="", who="", time="")
        topic = "approvals" if card.asks == "approval" else "questions"
        title = self._words(card.title) if topic == "approvals" else self._words("The assistant asks")
        body = (card.line or card.text) if topic == "approvals" else card.title
        self._tell(topic, title, body, approval.session_key, tag=f"ask-{approval.id}", ttl_s=min(left_s, 86_400))

    def notify_answer(self, session: Session, text: str) -> None:
        """Notify of an answer that nobody has seen."""
        title = session.name or self._words("Answered")
        self._tell("answers", title, text, session.key, person=session.person or "", tag=session.key[-128:])

    def _said(self, event: Event) -> None:
        key = str(event.data["session_key"])
        session = self._sessions.get(key)
        person = session.person if session is not None else None
        self._tell("reminders", self._words("Reminder"), str(event.data["text"]), key, person=person or "")

    def _tell(self, topic: str, title: str, body: str, session_key: str | None, **more: Any) -> None:
        if not self._bus.has_listeners(EVENT_NOTICE):
            return
        lines = " ".join(self._redact(body).split())
        path = f"/chat?session={quote(session_key, safe='')}" if session_key else "/"
        said = {"topic": topic, "title": self._redact(title)[:200], "body": lines[:TEXT_LIMIT], "path": path, **more}
        self._bus.fire(EVENT_NOTICE, said)
