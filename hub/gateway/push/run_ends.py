"""Maps the end of a run to the protocol. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_STATES = {"ok": "final", "aborted": "aborted"}
_KINDS = {
    "MODEL_RATE_LIMITED": "rate_limit",
    "MODEL_CONTEXT_OVERFLOW": "context_length",
    **dict.fromkeys(("MODEL_TIMEOUT", "TIMEOUT", "timeout"), "timeout"),
}


def chat_state(status: str) -> str:
    """Return the state of the last `chat` event of a run."""
    return _STATES.get(status, "error")


def error_payload(status: str, error: Mapping[str, Any]) -> dict[str, Any]:
    """Return the error in the last `chat` event of a failed run; `errorKind` is from the protocol's closed set."""
    code = error.get("code") or status
    message = error.get("message") or status
    return {"errorMessage": message, "errorKind": _KINDS.get(code, "unknown"), "errorCode": code}
