"""A resolved model: its provider, its properties, and the reason for the choice."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field

from hub.models.contract import ModelInfo, ModelProvider
from hub.models.provider_config import DEFAULT_CREDENTIAL


class Resolved(Struct, frozen=True):
    """A model ready to be called.

    Attributes:
        provider: Its provider, which fits, prices and records each call.
        info: Its properties; `info.id` is the request's `model`.
        ref: `provider/id`.
        reason: Why it was picked, for status and people.
        timeout_s: For the request.
        params: The configuration's `params` of provider and model, for the request's `extra`.
        credential: Which of the provider's keys is used.
        pinned: Whether the reference names that key.
        rests: The notice that it failed lately, so that it is tried only once where there are others.
        instead_of: Why the intended one is not tried first: a notice, see `RunResult.notices`.
    """

    provider: ModelProvider
    info: ModelInfo
    ref: str
    reason: str
    timeout_s: float = 120.0
    params: Mapping[str, Any] = field(default_factory=dict)
    credential: str = DEFAULT_CREDENTIAL
    pinned: bool = False
    rests: Mapping[str, Any] | None = None
    instead_of: Mapping[str, Any] | None = None

    @property
    def name(self) -> str:
        """`provider/id`, and the credential where the reference names it."""
        return f"{self.ref}@{self.credential}" if self.pinned else self.ref

    @property
    def label(self) -> str:
        """`provider/id`, and the credential unless it is the only or first one, for people."""
        return self.ref if self.credential == DEFAULT_CREDENTIAL else f"{self.ref}@{self.credential}"
