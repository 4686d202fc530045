"""From a request to its answer: method, scope, frame limit, schema, and idempotency."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from functools import partial
from typing import Any

import msgspec
from msgspec.structs import replace

from hub.core.context import Context
from hub.core.errors import Forbidden, InvalidRequest, Unavailable
from hub.core.phrases import phrase
from hub.core.schema import SchemaError, describe_error, each_error
from hub.core.surfaces import ADMIN, FRAME_LIMIT_BYTES, PAIRING, Caller, Method, MethodCall, TooLarge
from hub.gateway.calls.idempotency import Idempotency
from hub.gateway.calls.json_data import read_json
from hub.gateway.calls.method_table import NODE, MethodTable, serves_role
from hub.gateway.calls.unknown_keys import known_part

_log = logging.getLogger(__name__)

LOGGED_LIMIT = 1_000
"""Clients and methods whose unknown keys are logged."""

AUDITED_SCOPES = frozenset({ADMIN, PAIRING, "operator.approvals"})
ALSO_AUDITED = frozenset({"automation.off", "automation.on", "memory.forget", "sessions.delete"})
READING = frozenset(
    {
        *(
            "audit",
            "bundle",
            "draft",
            "explain",
            "get",
            "history",
            "info",
            "list",
            "log",
            "plan",
            "preview",
            "render",
            "request",
        ),
        *("scan", "sent", "setupStatus", "status", "test", "try", "verify", "wait", "waitDecision", "yaml"),
    }
)
"""How the names of methods end that change nothing, though they take more rights than to read."""

Later = Callable[[Mapping[str, Any]], Awaitable[None]]
Auditor = Callable[[MethodCall, Coroutine[Any, Any, Any]], Coroutine[Any, Any, Any]]
"""Answers a call with the coroutine that does, and records who made it."""


def is_audited(name: str, scope: str) -> bool:
    """Whether calls of a method are kept in the audit log: all that take more rights than to talk, but for reading."""
    return name in ALSO_AUDITED or (scope in AUDITED_SCOPES and name.rpartition(".")[2] not in READING)


class Dispatcher:
    """Calls methods for WebSocket clients and for plain HTTP alike.

    Args:
        methods: The table.
    """

    def __init__(self, methods: MethodTable) -> None:
        self._methods = methods
        self.recovering = False
        """Whether the hub is in recovery mode, which has few methods."""
        self.audit: Auditor | None = None
        self._idempotency: Idempotency | None = None
        self._logged: set[tuple[str, str]] = set()

    def attach(self, idempotency: Idempotency) -> None:
        """Connect what needs the hub database."""
        self._idempotency = idempotency

    def frame_limit(self, caller: Caller, role: str = "operator") -> int:
        """Return the largest frame limit of all methods that this caller may call."""
        limits = (method.frame_limit for method in self._methods if _may(method, caller, role))
        return max(limits, default=FRAME_LIMIT_BYTES)

    def prepare(
        self,
        name: str,
        params: msgspec.Raw | Mapping[str, Any],
        caller: Caller,
        *,
        role: str = "operator",
        connection_id: str | None = None,
        later: Later | None = None,
        tolerate: str | None = None,
    ) -> tuple[Method, MethodCall]:
        """Check a request; the result may be run. The parameters of a method's first call are checked later.

        Encoded parameters, as clients send them, are not decoded before the scope and their size were judged.

        Args:
            name: The name of the method.
            params: Its parameters.
            caller: The caller.
            role: The role of the connection.
            connection_id: The connection, if it is a WebSocket.
            later: Sends a second response.
            tolerate: The name of a client of others, which may send keys that the method does not know; they are left
                out, and logged once per client and method. None is strict.

        Raises:
            InvalidRequest: There is no such method, or the parameters do not fit; the message names the path.
            Unavailable: There is no such method, and the hub is in recovery mode.
            Forbidden: The caller lacks the scope.
            TooLarge: The parameters are larger than the method takes.
        """
        method = self._methods.get(name)
        if method is None and self.recovering:
            raise Unavailable(
                phrase(
                    "{name} is not available: the hub is in recovery mode, because its configuration is broken. "
                    "Fix it in the dashboard, or see: homarus check",
                    name=name,
                ),
                details={"method": name, "reason": "recovery"},
            )
        if method is None:
            raise InvalidRequest(f"unknown method: {name}", details={"method": name})
        if not _may(method, caller, role):
            details = {"missingScope": method.scope, "method": name}
            raise Forbidden(phrase("missing scope: {scope}", scope=method.scope), details=details)
        given = _decoded(method, params) if isinstance(params, msgspec.Raw) else params
        respond_later = later if method.answers > 1 else None
        unused = self._methods.is_unused(name)
        valid = given if unused else self._valid(method, given, tolerate)
        call = MethodCall(name, valid, caller, Context(caller.authority), respond_later, connection_id)
        if unused:
            method = replace(method, handler=partial(self._first, tolerate), acts=False, quick=False)
        return method, call

    def _valid(self, method: Method, given: Any, tolerate: str | None) -> Any:
        name = method.name
        try:
            if tolerate is None:
                return method.schema({} if given is None else given)
            valid, left_out = known_part(name, method.schema, {} if given is None else given)
        except SchemaError as error:
            first = next(iter(each_error(error)), error)
            field = next((part for part in reversed(first.path) if isinstance(part, str)), "")
            details = {"method": name, "field": str(field)[:64], "problem": str(first.msg)[:500]}
            raise InvalidRequest(f"{name}: {describe_error(error)}", details=details) from None
        self._log_once(tolerate, name, left_out)
        return valid

    async def _first(self, tolerate: str | None, call: MethodCall) -> Any:
        """Import a method on its first call, and answer the call."""
        method = await self._methods.load(call.method)
        if method is None:
            raise InvalidRequest(f"unknown method: {call.method}", details={"method": call.method})
        return await self._answer(method, replace(call, params=self._valid(method, call.params, tolerate)))

    def _log_once(self, client: str, method: str, left_out: list[str]) -> None:
        if left_out and (client, method) not in self._logged and len(self._logged) < LOGGED_LIMIT:
            self._logged.add((client, method))
            _log.info("the client %r sends %s with keys that are ignored: %s", client, method, str(left_out)[:500])

    def run(self, method: Method, call: MethodCall) -> Coroutine[Any, Any, Any]:
        """Return the coroutine that answers a prepared request."""
        name = method.name
        looked_at = self.audit is not None and (name in ALSO_AUDITED or method.scope in AUDITED_SCOPES)
        if looked_at and is_audited(name, method.scope) and self.audit is not None:
            return self.audit(call, self._answer(method, call))
        return self._answer(method, call)

    def _answer(self, method: Method, call: MethodCall) -> Coroutine[Any, Any, Any]:
        if not method.acts:
            return _run(method, call)
        if self._idempotency is None:
            raise Unavailable("the hub is still starting", retry_after_s=1)
        return self._idempotency.call(method, call)


def _decoded(method: Method, params: msgspec.Raw) -> Any:
    size = len(memoryview(params))
    if size > method.frame_limit:
        raise TooLarge(
            f"{method.name}: the parameters have {size} bytes; at most {method.frame_limit} are allowed",
            details={"method": method.name, "limit": method.frame_limit},
        )
    return read_json(params, f"{method.name}: the parameters")


async def _run(method: Method, call: MethodCall) -> Any:
    return await method.handler(call)


def _may(method: Method, caller: Caller, role: str) -> bool:
    return serves_role(method, role) and (role == NODE or caller.authority.has(method.scope))
