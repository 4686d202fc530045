"""What a scripted model server answers, in which order; plain data, no sockets.

An *answer* is a text, one step, or a list of steps. A *step* is a dictionary with one of these keys:

    {"text": "Hello there", "chunks": 2}           text, in so many pieces (default 1)
    {"thinking": "hm"}                             reasoning_content
    {"reasoning": "hm"}                            the same under the name that other servers use
    {"tool_call": {"name", "arguments", "id"?, "index"?}, "fragments": 3}
                                                   arguments: object or raw text; id None leaves it out
    {"echo": True}                                 the last user text
    {"usage": {...}}                               replaces the usage that is told at the end; None tells none
    {"finish": "length"}                           the finish_reason (default stop or tool_calls; None sends none)
    {"delay_s": 0.1}                               waits
    {"hold": "name"}                               waits until `release("name")`
    {"raw": "data: {…}\\n\\n"}                     bytes as they are
    {"event": {...}}                               one JSON event as it is
    {"error": {...}}                               an error object inside the stream, and nothing after it
    {"status": 429, "headers": {...}, "body": …}   an HTTP error instead of an answer
    {"json": {...}, "content_type": "…"}           this body instead of a stream
    {"truncate": True}                             ends the stream properly but in the middle (no finish, no [DONE])
    {"disconnect": True}                           drops the connection
    {"no_done": True}                              leaves [DONE] out
"""

from __future__ import annotations

import re
import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

Step = dict[str, Any]
Answer = str | Step | Sequence[Step]

REQUESTS_KEPT = 20_000


def steps_of(answer: Answer) -> list[Step]:
    """Return an answer as a list of steps."""
    if isinstance(answer, str):
        return [{"text": answer}]
    if isinstance(answer, dict):
        return [answer]
    return list(answer)


@dataclass(frozen=True, slots=True)
class Rule:
    """An answer for requests whose last user text matches.

    Attributes:
        match: Regular expression searched in the last user text.
        answer: What is answered.
        tool_result: None: only while the last message is the user's. A regular expression: only when the last message
            is a tool result that it is found in.
    """

    match: re.Pattern[str]
    answer: list[Step]
    tool_result: re.Pattern[str] | None = None

    def holds(self, messages: list[dict[str, Any]]) -> bool:
        """Whether the rule is for this conversation."""
        if not messages or self.match.search(last_user_text(messages)) is None:
            return False
        last_is_tool = messages[-1].get("role") == "tool"
        if self.tool_result is None:
            return not last_is_tool
        return last_is_tool and self.tool_result.search(text_of(messages[-1].get("content"))) is not None


@dataclass(slots=True)
class Recorded:
    """A request as it came.

    Attributes:
        path: Below the server's root.
        headers: Lower-case names.
        body: Parsed JSON, or None.
        size_bytes: Of the body.
        arrived_monotonic_ns: On the machine's monotonic clock, when the body was complete.
        peer_port: The client's end of the connection.
        ended: None while it is answered; then `answered`, or `disconnected` when the client left early.
    """

    path: str
    headers: dict[str, str]
    body: Any
    size_bytes: int
    arrived_monotonic_ns: int
    peer_port: int = 0
    ended: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """The record as plain data."""
        return {
            "path": self.path,
            "headers": self.headers,
            "body": self.body,
            "size_bytes": self.size_bytes,
            "arrived_monotonic_ns": self.arrived_monotonic_ns,
            "peer_port": self.peer_port,
            "ended": self.ended,
        }


@dataclass(slots=True)
class Script:
    """Queue, rules and records of one server; its methods may be called from any thread."""

    default: list[Step] = field(default_factory=lambda: [{"text": "ok"}])
    models: list[dict[str, Any]] = field(default_factory=lambda: [{"id": "scripted", "object": "model"}])
    key: str | None = None
    speech: deque[Step] = field(default_factory=deque)
    """What the next requests for speech are answered with: status, json, disconnect, or {"audio": bytes}."""
    _queue: deque[list[Step]] = field(default_factory=deque)
    _rules: list[Rule] = field(default_factory=list)
    _records: deque[Recorded] = field(default_factory=lambda: deque(maxlen=REQUESTS_KEPT))
    _released: set[str] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def queue(self, *answers: Answer) -> None:
        """Answer the next requests with these, one each, in order; the queue comes before the rules."""
        with self._lock:
            self._queue.extend(steps_of(answer) for answer in answers)

    def rule(self, match: str, answer: Answer, *, tool_result: str | None = None) -> None:
        """Answer every request that matches (see `Rule`); the first rule that holds counts."""
        pattern = None if tool_result is None else re.compile(tool_result)
        with self._lock:
            self._rules.append(Rule(re.compile(match), steps_of(answer), pattern))

    def set_default(self, answer: Answer) -> None:
        """Answer with this when neither queue nor rules say anything."""
        with self._lock:
            self.default = steps_of(answer)

    def answer_for(self, body: Any) -> list[Step]:
        """Take the answer for a request."""
        messages = body.get("messages", []) if isinstance(body, dict) else []
        with self._lock:
            if self._queue:
                return self._queue.popleft()
            for rule in self._rules:
                if rule.holds(messages):
                    return rule.answer
            return self.default

    def record(self, record: Recorded) -> None:
        """Keep a request."""
        with self._lock:
            self._records.append(record)

    def requests(self, path: str | None = "/v1/chat/completions") -> list[dict[str, Any]]:
        """Return the requests so far (of one path; None means all), oldest first."""
        with self._lock:
            return [record.as_dict() for record in self._records if path is None or record.path == path]

    def queued(self) -> int:
        """Return how many queued answers are left."""
        with self._lock:
            return len(self._queue)

    def release(self, name: str) -> None:
        """Let answers go on that hold at `name`, now and later."""
        with self._lock:
            self._released.add(name)

    def released(self, name: str) -> bool:
        """Whether `name` was released."""
        with self._lock:
            return name in self._released

    def reset(self) -> None:
        """Forget queue, rules, records and releases."""
        with self._lock:
            self._queue.clear()
            self.speech.clear()
            self._rules.clear()
            self._records.clear()
            self._released.clear()
            self.default = [{"text": "ok"}]
            self.key = None


def last_user_text(messages: list[dict[str, Any]]) -> str:
    """Return the text of the last message of the role user."""
    for message in reversed(messages):
        if message.get("role") == "user":
            return text_of(message.get("content"))
    return ""


def text_of(content: Any) -> str:
    """Return the text of a message's content, plain or in parts."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(part.get("text", "") for part in content if isinstance(part, dict))
    return ""
