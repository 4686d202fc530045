"""Errors of integrations."""

from __future__ import annotations

from hub.core.errors import HubError, Unavailable


class NotReady(Unavailable):
    """A dependency of the integration is not ready; set-up is retried with growing pauses."""

    code = "NOT_READY"


class ManifestError(HubError):
    """A manifest is wrong; the message names the file and the field."""

    code = "MANIFEST_INVALID"


class MissingRequirement(HubError):
    """A package that the integration needs is not installed; `command` installs it."""

    code = "REQUIREMENT_MISSING"

    def __init__(self, message: str, command: str) -> None:
        super().__init__(message, details={"command": command})
        self.command = command


class SetupFailed(HubError):
    """An integration could not be set up; the message says why."""

    code = "SETUP_FAILED"
