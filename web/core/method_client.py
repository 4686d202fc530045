"""Gateway methods as pages call them: with the viewer's authority, and the method's schema, scope and redaction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.core.context import SYSTEM
from hub.core.surfaces import Caller, HttpCall
from hub.gateway.calls.dispatch import Dispatcher


class MethodClient:
    """Calls methods with the authority of a page's viewer.

    Args:
        dispatcher: The gateway's.
    """

    def __init__(self, dispatcher: Dispatcher) -> None:
        self._dispatcher = dispatcher

    async def ask(self, call: HttpCall, method: str, params: Mapping[str, Any] | None = None) -> Any:
        """Return a method's answer.

        Raises:
            HubError: What the method raises, or the caller lacks its scope.
        """
        found, prepared = self._dispatcher.prepare(method, dict(params or {}), call.known_caller)
        return await self._dispatcher.run(found, prepared)

    async def read(self, method: str, params: Mapping[str, Any] | None = None) -> Any:
        """Return the result of a method for a live page whose access was already checked."""
        found, prepared = self._dispatcher.prepare(
            method, dict(params or {}), Caller(SYSTEM, "dashboard", "", local=True)
        )
        return await self._dispatcher.run(found, prepared)
