"""From a request to its answer: the method, its strict schema, its scope, and acting once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any

from hub.core.context import Context
from hub.core.errors import Forbidden, InvalidRequest, Unavailable
from hub.core.schema import SchemaError, describe_error
from hub.gateway.calls.contract import Caller, Method, MethodCall
from hub.gateway.calls.idempotency import Idempotency
from hub.gateway.calls.method_table import NODE, MethodTable

Later = Callable[[Mapping[str, Any]], Awaitable[None]]


class Dispatcher:
    """Calls methods for WebSocket clients and for plain HTTP alike.

    Args:
        methods: The table.
    """

    def __init__(self, methods: MethodTable) -> None:
        self._methods = methods
        self.recovering = False
        """Whether the hub is in recovery mode, where most methods are not there."""
        self._idempotency: Idempotency | None = None

    def attach(self, idempotency: Idempotency) -> None:
        """Take in what stands only once the hub database is open."""
        self._idempotency = idempotency

    def prepare(
        self,
        name: str,
        params: Any,
        caller: Caller,
        *,
        role: str = "operator",
        connection_id: str | None = None,
        later: Later | None = None,
    ) -> tuple[Method, MethodCall]:
        """Judge a request; what is returned may be run.

        Raises:
            InvalidRequest: There is no such method, or the parameters do not fit; the message names the path.
            Unavailable: There is no such method, and the hub is in recovery mode.
            Forbidden: The caller lacks the scope.
        """
        method = self._methods.get(name)
        if method is None and self.recovering:
            raise Unavailable(
                f"{name} is not there: the hub is in recovery mode, because its configuration is broken. "
                "Mend it in the dashboard, or see: homarus check",
                details={"method": name, "reason": "recovery"},
            )
        if method is None:
            raise InvalidRequest(f"unknown method: {name}", details={"method": name})
        try:
            valid = method.schema({} if params is None else params)
        except SchemaError as error:
            raise InvalidRequest(f"{name}: {describe_error(error)}", details={"method": name}) from None
        if not _may(method, caller, role):
            raise Forbidden(f"missing scope: {method.scope}", details={"missingScope": method.scope, "method": name})
        respond_later = later if method.answers > 1 else None
        call = MethodCall(name, valid, caller, Context(caller.authority), respond_later, connection_id)
        return method, call

    def run(self, method: Method, call: MethodCall) -> Coroutine[Any, Any, Any]:
        """Return the coroutine that answers a prepared request."""
        if not method.acts:
            return _run(method, call)
        if self._idempotency is None:
            raise Unavailable("the hub is still starting", retry_after_s=1)
        return self._idempotency.call(method, call)


async def _run(method: Method, call: MethodCall) -> Any:
    return await method.handler(call)


def _may(method: Method, caller: Caller, role: str) -> bool:
    if NODE in (method.scope, role):
        return method.scope == role
    return caller.authority.has(method.scope)
