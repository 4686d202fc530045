"""Errors with a code for machines and a message for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self


class HubError(Exception):
    """The root of every error the hub raises on purpose.

    Args:
        message: What happened, where, and what to do about it, for people.
        details: Facts for machines; must be JSON-serialisable and free of secrets.
        retry_after_s: Seconds after which the same call may succeed, when known.
        outside: Whether the message holds words from outside this home, such as a device's own.
    """

    code = "INTERNAL"
    http_status = 500

    def __init__(
        self,
        message: str,
        *,
        details: Mapping[str, Any] | None = None,
        retry_after_s: float | None = None,
        outside: bool = False,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.details: dict[str, Any] = dict(details or {})
        self.retry_after_s = retry_after_s
        self.outside = outside

    @property
    def retryable(self) -> bool:
        """Whether the same call may succeed later without a change."""
        return self.retry_after_s is not None

    def retold(self, message: str, *, outside: bool) -> Self:
        """Return the same error with another message; its class may be made of other arguments."""
        told = type(self).__new__(type(self), message)
        told.__dict__.update(self.__dict__, message=message, outside=outside)
        return told

    def as_dict(self) -> dict[str, Any]:
        """The error as the gateway, the HTTP API and the CLI show it."""
        shown: dict[str, Any] = {"code": self.code, "message": self.message}
        if self.details:
            shown["details"] = self.details
        if self.retryable:
            shown["retryable"] = True
            shown["retryAfterMs"] = int((self.retry_after_s or 0) * 1000)
        return shown


class InvalidRequest(HubError):
    """The caller's input is wrong; the message names the field and what was expected."""

    code = "INVALID_REQUEST"
    http_status = 400


class Unauthorized(HubError):
    """No valid credential was presented."""

    code = "UNAUTHORIZED"
    http_status = 401


class Forbidden(HubError):
    """The credential is valid but lacks the rights."""

    code = "FORBIDDEN"
    http_status = 403


class NotFound(HubError):
    """The named thing does not exist."""

    code = "NOT_FOUND"
    http_status = 404


class Conflict(HubError):
    """The thing changed in the meantime, or already exists."""

    code = "CONFLICT"
    http_status = 409


class LimitExceeded(HubError):
    """A named limit was reached."""

    code = "LIMIT_EXCEEDED"
    http_status = 429


class Unavailable(HubError):
    """The part that would answer is not ready, or is failing."""

    code = "UNAVAILABLE"
    http_status = 503


class TimedOut(HubError):
    """The work exceeded its time limit."""

    code = "TIMEOUT"
    http_status = 504


class Aborted(HubError):
    """The work was stopped on request."""

    code = "ABORTED"
    http_status = 499
