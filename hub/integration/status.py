"""The states of an integration, and its status."""

from __future__ import annotations

import asyncio
from enum import StrEnum
from types import ModuleType
from typing import Any

from msgspec import Struct, field

from hub.integration.catalog import CatalogEntry
from hub.integration.registrations import Registrations


class IntegrationState(StrEnum):
    """The state of an integration."""

    SET_UP = "set_up"
    INSTALLING = "installing"
    RETRYING = "retrying"
    FAILED = "failed"
    DISABLED = "disabled"
    UNLOADED = "unloaded"


class Status(Struct):
    """The status of one integration.

    Attributes:
        found: Its place and its manifest.
        state: Its state.
        reason: The reason, for people.
        since: Seconds since the epoch of the last change.
        config: The configuration it was, or will be, set up with.
        module: Its package, once imported.
        host: The host of its latest `setup`.
        registrations: Its registrations with the hub.
        attempts: Failed attempts since it last worked.
        retry: The task that will try again, or installs what it needs.
        installed: Whether that was just installed.
        lock: Held while it is set up or unloaded.
    """

    found: CatalogEntry
    state: IntegrationState = IntegrationState.UNLOADED
    reason: str = ""
    since: float = 0.0
    config: Any = None
    module: ModuleType | None = None
    host: Any = None
    registrations: Registrations | None = None
    attempts: int = 0
    retry: asyncio.Task[None] | None = None
    installed: bool = False
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    def as_dict(self) -> dict[str, Any]:
        """The status as the dashboard, the gateway and the CLI show it."""
        manifest = self.found.manifest
        return {
            "domain": self.found.domain,
            "name": manifest.name if manifest else self.found.domain,
            "kind": manifest.kind if manifest else None,
            "version": manifest.version if manifest else None,
            "documentation": manifest.documentation if manifest else "",
            "custom": self.found.custom,
            "overrides": self.found.overrides,
            "state": self.state.value,
            "reason": self.reason,
            "since": self.since,
            "attempts": self.attempts,
        }
