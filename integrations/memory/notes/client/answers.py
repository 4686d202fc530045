"""Validates the answers of the index worker."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from hub.core.errors import Unavailable

T = TypeVar("T")


def read_as(kind: type[T], found: Any) -> T:
    """Return an answer of the expected type.

    Raises:
        Unavailable: It is anything else.
    """
    try:
        return msgspec.convert(found, kind)
    except msgspec.ValidationError as error:
        raise Unavailable("the memory index worker sent an invalid answer") from error
