"""Fetches what is installed by its URL: skills and integrations alike."""

from __future__ import annotations

from hub.core.errors import InvalidRequest
from hub.security.egress import Egress

FETCH_LIMIT_S = 60.0


async def fetch_archive(egress: Egress, url: str, expected: str) -> bytes:
    """Return what is at a URL.

    Args:
        expected: What it should be, for the error: `a ZIP file`.

    Raises:
        HubError: It cannot be fetched, or is not there.
    """
    from hub.skills.archive import ARCHIVE_LIMIT_BYTES

    answer = await egress.fetch(url, limit_bytes=ARCHIVE_LIMIT_BYTES, timeout_s=FETCH_LIMIT_S)
    if answer.status != 200:
        raise InvalidRequest(f"{url} answered {answer.status}; expected {expected}")
    return answer.body
