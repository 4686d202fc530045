"""How a run ends: an answer, or why there is none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from hub.agent.limits import LimitHit
from hub.agent.run_request import RunResult, RunStatus
from hub.core.errors import HubError

EMPTY = "MODEL_EMPTY"
"""The code of a run whose model said nothing in the end."""


class RunOutcome(Struct, frozen=True):
    """How a run ends; `error` as `HubError.as_dict` shows it, None for an answer."""

    status: RunStatus = RunStatus.OK
    stop: str = "end"
    error: Mapping[str, Any] | None = None

    @classmethod
    def failed(cls, error: HubError) -> RunOutcome:
        """An error ended it."""
        return cls(RunStatus.ERROR, "error", error.as_dict())

    @classmethod
    def broken(cls, code: str, message: str, stop: str = "error") -> RunOutcome:
        """It ended without an error of its own."""
        return cls(RunStatus.ERROR, stop, {"code": code, "message": message})

    @classmethod
    def aborted(cls) -> RunOutcome:
        """Somebody stopped it."""
        return cls(RunStatus.ABORTED, "aborted", {"code": "ABORTED", "message": "The run was stopped on request."})

    def of(self, run_id: str, session_key: str) -> RunResult:
        """Return the result of a run that ended like this before it began."""
        return RunResult(run_id, session_key, self.status, stop=self.stop, error=self.error)

    @classmethod
    def limited(cls, hit: LimitHit) -> RunOutcome:
        """A limit ended it."""
        error = {"code": "LIMIT_EXCEEDED", "message": hit.message, "details": hit.details}
        return cls(RunStatus.ERROR, "limit", error)

    @classmethod
    def timed_out(cls, seconds: float, *, asked_for: bool) -> RunOutcome:
        """It took longer than the agent's limit, or than was asked for."""
        limit = LimitHit("seconds", seconds, seconds)
        if asked_for:
            message = f"This run was stopped after {seconds:g} seconds, as was asked for."
            return cls(RunStatus.TIMEOUT, "timeout", {"code": "TIMEOUT", "message": message})
        error = {"code": "TIMEOUT", "message": limit.message, "details": limit.details}
        return cls(RunStatus.TIMEOUT, "timeout", error)
