"""A model that was picked: who runs it, what is known of it, and why it was this one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field

from hub.models.contract import ModelInfo, ModelProvider


class Resolved(Struct, frozen=True):
    """A model ready to be called.

    Attributes:
        provider: Its provider, which fits, prices and records each call.
        info: Its properties; `info.id` is the request's `model`.
        ref: `provider/id`.
        reason: Why it was picked, for status and people.
        timeout_s: For the request.
        params: The configuration's `params` of provider and model, for the request's `extra`.
    """

    provider: ModelProvider
    info: ModelInfo
    ref: str
    reason: str
    timeout_s: float = 120.0
    params: Mapping[str, Any] = field(default_factory=dict)
