"""Acknowledging platform events once they are stored; unreadable and refused ones are skipped."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from hub.core.errors import InvalidRequest
from hub.messaging.contract import Inbound, MediaKind, Receipt, Receiver

_log = logging.getLogger(__name__)

MALFORMED = (LookupError, TypeError, ValueError, AttributeError, OverflowError, OSError, RecursionError)
"""What reading it may raise; the last three for a date in no year that there is, and for parts that nest too deep."""


@contextmanager
def skip_if_malformed(what: str) -> Iterator[None]:
    """Skip an event that is malformed, since waiting for it would block all that follow."""
    try:
        yield
    except MALFORMED as error:
        _log.warning("%s is not as expected and is left out: %r", what, error)


async def offer(receive: Receiver, inbound: Inbound) -> Receipt | None:
    """Return the receipt for a stored message or event; None if the hub does not accept it.

    Raises:
        HubError: It is not stored; the platform must offer it again.
    """
    try:
        return await receive(inbound)
    except InvalidRequest as error:
        _log.warning("%s: a message cannot be taken: %s", inbound.address.channel, error)
        return None


def kind_of(mime_type: str | None) -> MediaKind:
    """Return the media kind of a file type."""
    kind = (mime_type or "").partition("/")[0]
    return MediaKind(kind) if kind in ("image", "audio", "video") else MediaKind.FILE
