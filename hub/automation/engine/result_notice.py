"""Notifies another program of a run's result: a signed POST with JSON, with retries."""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from msgspec import Struct

from hub.automation.contract import RunOutcome
from hub.automation.engine.environment import StartOutcome
from hub.core.clock import Clock
from hub.core.errors import HubError, InvalidRequest
from hub.core.phrases import phrase
from hub.core.repairs import Repairs, Severity
from hub.core.secret import Secret
from hub.core.tasks import TaskOwner
from hub.security.egress import Egress, EgressRefused
from hub.security.webhook_signature import SignatureForm, sign

_log = logging.getLogger(__name__)

FORM = SignatureForm(header="x-homarus-signature", timestamp_header="x-homarus-timestamp")
"""HMAC-SHA256, in hex behind `sha256=`, over the timestamp, a full stop and the body."""
RETRY_AFTER_S = (2.0, 10.0, 60.0, 300.0)
TIMEOUT_S = 15.0
ANSWER_LIMIT_BYTES = 65_536
WAITING_LIMIT = 200
"""Notices under way at once; more than that are dropped, and said so in the log."""
SOURCE = "automation"

_WANTED: Mapping[str, frozenset[RunOutcome]] = {
    "all": frozenset(RunOutcome),
    "finished": frozenset({RunOutcome.FINISHED, RunOutcome.STOPPED}),
    "failed": frozenset({RunOutcome.FAILED, RunOutcome.TIMED_OUT, RunOutcome.INTERRUPTED, RunOutcome.DENIED}),
}


class _Failure(Struct, frozen=True):
    """Why a notice was refused, and whether a retry is pointless."""

    why: str
    for_good: bool = False


class ResultNotices:
    """Sends the notices; calling it is an `EngineEnvironment.tell`.

    Args:
        egress: Judges where it may go and sends it.
        repairs: Lists what could not be delivered.
        tasks: Owns the deliveries under way.
        answer: Returns what the agent of a run said, by its id.
    """

    def __init__(
        self,
        egress: Egress,
        repairs: Repairs,
        clock: Clock,
        tasks: TaskOwner,
        answer: Callable[[str], Awaitable[str | None]],
    ) -> None:
        self._answer = answer
        self._egress = egress
        self._repairs = repairs
        self._clock = clock
        self._tasks = tasks
        self.waiting = 0

    async def __call__(self, result: StartOutcome) -> None:
        """Send the notice that the automation asks for, in the background."""
        wanted = result.config.get("notify")
        if not wanted or result.outcome not in _WANTED[wanted.get("on", "all")]:
            return
        if self.waiting >= WAITING_LIMIT:
            _log.warning("the result of %s is not sent: %d notices are already waiting", result.alias, self.waiting)
            return
        self.waiting += 1
        self._tasks.spawn(self._send(result, wanted), name=f"tell the result of {result.alias}")

    async def _send(self, result: StartOutcome, wanted: Mapping[str, Any]) -> None:
        try:
            body = body_of(result, await self._answer(result.began) if result.began is not None else None)
            for wait_s in (*RETRY_AFTER_S, None):
                failure = await self._attempt(wanted, body)
                if failure is None:
                    self._repairs.clear(SOURCE, f"{result.automation_id}:notify")
                    return
                if wait_s is None or failure.for_good:
                    self._tell(result, failure.why)
                    return
                await self._clock.sleep(wait_s)
        finally:
            self.waiting -= 1

    async def _attempt(self, wanted: Mapping[str, Any], body: bytes) -> _Failure | None:
        """Try to send once; return the failure, or None on success."""
        timestamp = str(int(self._clock.time()))
        headers = {"Content-Type": "application/json", "X-Homarus-Timestamp": timestamp}
        if (secret := _revealed(wanted.get("secret"))) is not None:
            headers["X-Homarus-Signature"] = sign(secret, body, FORM, timestamp)
        if (token := _revealed(wanted.get("token"))) is not None:
            headers["Authorization"] = f"Bearer {token}"
        try:
            answer = await self._egress.fetch(
                wanted["url"],
                method="POST",
                headers=headers,
                body=body,
                limit_bytes=ANSWER_LIMIT_BYTES,
                timeout_s=TIMEOUT_S,
            )
        except (EgressRefused, InvalidRequest) as error:
            return _Failure(error.message, for_good=True)
        except HubError as error:
            return _Failure(error.message)
        if answer.status < 300:
            return None
        again = answer.status >= 500 or answer.status in {408, 429}
        return _Failure(f"it answered {answer.status}", for_good=not again)

    def _tell(self, result: StartOutcome, why: str) -> None:
        self._repairs.raise_(
            SOURCE,
            f"{result.automation_id}:notify",
            phrase("The results of the automation {automation} could not be delivered", automation=result.alias),
            phrase(
                "Its notify.url could not be reached: {reason}. List a private address in network.allow_private.",
                reason=why,
            ),
            severity=Severity.WARNING,
        )


def _revealed(value: Any) -> str | None:
    return value.reveal() if isinstance(value, Secret) else value


def body_of(result: StartOutcome, answer: str | None) -> bytes:
    """Return the body of the notice: the automation, the run, its outcome and error, an agent's answer, its times."""
    told = {
        "event": "automation_finished",
        "automation_id": result.automation_id,
        "alias": result.alias,
        "run_id": result.run_id,
        "outcome": result.outcome.value,
        "error": result.error,
        "answer": answer,
        "started": datetime.fromtimestamp(result.started, UTC).isoformat(timespec="milliseconds"),
        "finished": datetime.fromtimestamp(result.finished, UTC).isoformat(timespec="milliseconds"),
    }
    return json.dumps(told, ensure_ascii=False).encode("utf-8", "replace")
