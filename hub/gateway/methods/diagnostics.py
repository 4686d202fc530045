"""`diagnostics.bundle`: what helps another person to find a fault, without secrets and private words."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from hub import __version__
from hub.config.store import ConfigStore
from hub.core.clock import Clock
from hub.core.errors import HubError
from hub.core.schema import Schema
from hub.core.surfaces import ADMIN, Method, MethodCall
from hub.gateway.diagnostics import LOG_LINES, Masker, mask, versions, vocabulary
from hub.gateway.log_tail import LogTail
from hub.security.redaction import Redactor

OWNER = "gateway"


class DiagnosticsMethods:
    """The method of the bundle.

    Args:
        status: Returns the payload of `status`.
        metrics: Returns the metrics as text.
        log: The latest lines.
        names: Returns names that may be shown: of integrations and tools.
    """

    def __init__(
        self,
        config: ConfigStore,
        clock: Clock,
        redactor: Redactor,
        log: LogTail | None,
        *,
        status: Callable[[], Awaitable[dict[str, Any]]],
        metrics: Callable[[], Awaitable[str]],
        names: Callable[[], Iterable[str]],
    ) -> None:
        self._config = config
        self._clock = clock
        self._redactor = redactor
        self._log = log
        self._status = status
        self._metrics = metrics
        self._names = names

    def methods(self) -> list[Method]:
        """Return the method."""
        return [Method("diagnostics.bundle", self._bundle, OWNER, Schema({}), ADMIN)]

    async def _bundle(self, call: MethodCall) -> Mapping[str, Any]:
        status = await self._status()
        try:
            metrics = await self._metrics()
        except HubError as error:
            metrics = f"# {error.message}"
        lines = self._log.read(limit=LOG_LINES).lines if self._log is not None else []
        found: Mapping[str, Any] = await asyncio.to_thread(self._made, status, metrics, lines)
        return found

    def _made(self, status: Mapping[str, Any], metrics: str, lines: list[str]) -> Mapping[str, Any]:
        words = vocabulary(self._config.schema()) | frozenset(self._names())
        private: set[str] = set()
        configuration = mask(self._config.current.raw, words, private)
        masker = Masker(private - words)
        bundle = {
            "made": datetime.fromtimestamp(self._clock.time(), UTC).isoformat(timespec="seconds"),
            "versions": versions(__version__),
            "configuration": configuration,
            "problems": masker.mask_data([error.as_dict() for error in self._config.errors]),
            "status": masker.mask_data(status),
            "metrics": [masker.mask_words(line) for line in metrics.splitlines()],
            "log": masker.mask_data(lines),
        }
        shown: Mapping[str, Any] = self._redactor.redact_data(bundle)
        return shown
