"""Acknowledging what a platform sends, once it is stored; what cannot be read, or is refused here, is left out."""

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
def left_out_if_malformed(what: str) -> Iterator[None]:
    """Go on after something that is not as the platform writes it: waiting for it would block all that follows."""
    try:
        yield
    except MALFORMED as error:
        _log.warning("%s is not as expected and is left out: %r", what, error)


async def offered(receive: Receiver, inbound: Inbound) -> Receipt | None:
    """Return the receipt for a message or event that is stored now; None when it is nothing that the hub takes.

    Raises:
        HubError: It is not stored; the platform must offer it again.
    """
    try:
        return await receive(inbound)
    except InvalidRequest as error:
        _log.warning("%s: a message cannot be taken: %s", inbound.address.channel, error)
        return None


def kind_of(mime_type: str | None) -> MediaKind:
    """Return what files of a type are shown as."""
    kind = (mime_type or "").partition("/")[0]
    return MediaKind(kind) if kind in ("image", "audio", "video") else MediaKind.FILE
