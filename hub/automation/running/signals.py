"""Signals that end a sequence or a run early, and the wording of errors."""

from __future__ import annotations

from typing import Any

from hub.core.errors import HubError, NotFound
from hub.core.schema import SchemaError, describe_error


class Signal(Exception):
    """A deliberate end of a sequence or a run; not an error."""


class StopRun(Signal):
    """Ends the whole run.

    Args:
        text: The reason, for people.
        response: The response of the run.
        error: Whether it counts as failed.
    """

    def __init__(self, text: str = "", response: Any = None, *, error: bool = False) -> None:
        super().__init__(text)
        self.text = text
        self.response = response
        self.error = error


class SequenceEnded(Signal):
    """A condition among the steps is false: its sequence ends."""


class Interrupted(HubError):
    """The hub stopped in the middle of something that must not be done twice."""

    code = "INTERRUPTED"


class UnknownService(NotFound):
    """The service does not exist: a mistake in the automation, which `continue_on_error` does not cover."""


class ScriptStopped(HubError):
    """A called script ended with `stop` and `error: true`; its caller continues, as in Home Assistant."""

    code = "SCRIPT_FAILED"


class StepFailed(HubError):
    """A step failed before the hub restarted; the earlier trace has its error."""

    code = "STEP_FAILED"


def error_text(error: BaseException) -> str:
    """Return the text of an error, for a trace."""
    if isinstance(error, HubError):
        return error.message
    if isinstance(error, SchemaError):
        return describe_error(error)
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def is_foreseen(error: BaseException | None) -> bool:
    """Return whether an error explains itself; any other is a bug, whose traceback matters."""
    return error is None or isinstance(error, (HubError, SchemaError))
