"""The errors of updates."""

from __future__ import annotations

from hub.core.errors import HubError


class UpdateFailed(HubError):
    """An update could not be made; what runs is untouched."""

    code = "UPDATE_FAILED"


class SourceUnreachable(UpdateFailed):
    """Where versions come from did not answer."""

    code = "UPDATE_SOURCE_UNREACHABLE"
    http_status = 502
