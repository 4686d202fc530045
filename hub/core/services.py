"""Services: what can be done, by name, with validated data."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from hub.core.context import Context
from hub.core.errors import Forbidden, InvalidRequest, NotFound, TimedOut
from hub.core.events import EventBus, Unsubscribe
from hub.core.schema import Schema, SchemaError, describe_error

EVENT_SERVICE_CALLED = "service_called"
EVENT_SERVICE_REGISTERED = "service_registered"
EVENT_SERVICE_REMOVED = "service_removed"
CALL_LIMIT_S = 300.0


class AgentRule(StrEnum):
    """Whether a model may call a service."""

    NEVER = "never"
    ASK = "ask"
    ALLOW = "allow"


class ResponseMode(StrEnum):
    """Whether a service returns data."""

    NONE = "none"
    OPTIONAL = "optional"
    ONLY = "only"


@dataclass(frozen=True, slots=True)
class ServiceCall:
    """One call of a service, with data that its schema has validated."""

    domain: str
    service: str
    data: Mapping[str, Any]
    context: Context
    wants_response: bool = False


Handler = Callable[[ServiceCall], Awaitable[Mapping[str, Any] | None]]


@dataclass(frozen=True, slots=True)
class Service:
    """A registered service."""

    domain: str
    name: str
    handler: Handler
    schema: Schema
    response: ResponseMode = ResponseMode.NONE
    agent: AgentRule = AgentRule.NEVER
    description: str = ""
    fields: Mapping[str, Any] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """`domain.name`."""
        return f"{self.domain}.{self.name}"


class ServiceRegistry:
    """Knows every service and calls it."""

    def __init__(self, bus: EventBus) -> None:
        self._bus = bus
        self._services: dict[str, Service] = {}

    def register(
        self,
        domain: str,
        name: str,
        handler: Handler,
        schema: Schema | None = None,
        response: ResponseMode = ResponseMode.NONE,
        agent: AgentRule = AgentRule.NEVER,
        *,
        description: str = "",
    ) -> Unsubscribe:
        """Add `domain.name`; an earlier one of that name is replaced.

        Args:
            handler: Coroutine function that takes a `ServiceCall` and returns plain data or None.
            schema: What the data must be; none means no data at all.
            response: Whether it returns data.
            agent: Whether a model may call it; by default it may not.

        Returns:
            A function that removes it.
        """
        service = Service(domain, name, handler, schema or Schema({}), response, agent, description)
        self._services[service.id] = service
        self._bus.fire(EVENT_SERVICE_REGISTERED, {"domain": domain, "service": name})

        def remove() -> None:
            if self._services.get(service.id) is service:
                del self._services[service.id]
                self._bus.fire(EVENT_SERVICE_REMOVED, {"domain": domain, "service": name})

        return remove

    def get(self, domain: str, name: str) -> Service | None:
        """Return a service, or None when there is none of that name."""
        return self._services.get(f"{domain}.{name}")

    def all(self, *, for_agent: bool = False) -> list[Service]:
        """Return all services by name; with `for_agent` those a model may call or ask for."""
        chosen = (self._services[key] for key in sorted(self._services))
        return [service for service in chosen if not for_agent or service.agent is not AgentRule.NEVER]

    async def call(
        self,
        domain: str,
        name: str,
        data: Mapping[str, Any] | None = None,
        *,
        context: Context,
        wants_response: bool = False,
        timeout_s: float = CALL_LIMIT_S,
    ) -> Mapping[str, Any] | None:
        """Validate `data`, call the service and return its response.

        Raises:
            NotFound: There is no such service.
            InvalidRequest: The data does not fit its schema, or a response was asked of one that gives none.
            TimedOut: It took longer than `timeout_s` seconds; it was cancelled.

        Cancelling the call cancels the service.
        """
        service = self.get(domain, name)
        if service is None:
            raise NotFound(f"there is no service {domain}.{name}", details={"service": f"{domain}.{name}"})
        if wants_response and service.response is ResponseMode.NONE:
            raise InvalidRequest(f"service {service.id} returns no response")
        if not wants_response and service.response is ResponseMode.ONLY:
            raise InvalidRequest(f"service {service.id} only returns a response; ask for it")
        try:
            valid = service.schema(dict(data or {}))
        except SchemaError as error:
            raise InvalidRequest(f"service {service.id}: {describe_error(error)}") from error
        self._bus.fire(EVENT_SERVICE_CALLED, {"domain": domain, "service": name, "data": valid}, context)
        try:
            async with asyncio.timeout(timeout_s):
                answer = await service.handler(ServiceCall(domain, name, valid, context, wants_response))
        except TimeoutError as error:
            raise TimedOut(f"service {service.id} did not finish within {timeout_s:g} s") from error
        return answer if wants_response else None

    async def call_for_agent(
        self, domain: str, name: str, data: Mapping[str, Any] | None = None, *, context: Context, approved: bool = False
    ) -> Mapping[str, Any] | None:
        """Call a service on behalf of a model, if its `agent` rule lets it.

        Args:
            approved: Whether a person approved exactly this call.

        Raises:
            NotFound: There is no such service, or a model may never call it (it is not told which).
            Forbidden: It needs an approval that was not given.
        """
        service = self.get(domain, name)
        if service is None or service.agent is AgentRule.NEVER:
            known = ", ".join(entry.id for entry in self.all(for_agent=True)) or "none"
            raise NotFound(f"there is no service {domain}.{name} that an agent may call; there are: {known}")
        if service.agent is AgentRule.ASK and not approved:
            raise Forbidden(f"service {service.id} needs the owner's approval")
        wants = service.response is not ResponseMode.NONE
        return await self.call(domain, name, data, context=context, wants_response=wants)
