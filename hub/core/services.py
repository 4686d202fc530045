"""Services: named actions with validated data."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from copy import deepcopy
from enum import StrEnum
from typing import Any

from msgspec import Struct, field

from hub.core.context import Context
from hub.core.errors import Forbidden, InvalidRequest, NotFound, TimedOut
from hub.core.events import EventBus, Unsubscribe
from hub.core.phrases import phrase
from hub.core.schema import Schema, SchemaError, describe_error

EVENT_SERVICE_CALLED = "service_called"
EVENT_CALL_SERVICE = "call_service"
"""The same as Home Assistant tells it, for automations that came from there; fired when one listens."""
EVENT_SERVICE_REGISTERED = "service_registered"
EVENT_SERVICE_REMOVED = "service_removed"
CALL_LIMIT_S = 300.0
TAINTED = "tainted"
"""The note of a call whose response holds words from outside; see `ServiceCall.taint`."""


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


class ServiceCall(Struct, frozen=True):
    """One call of a service, with data that its schema has validated.

    Attributes:
        idempotency_key: The same for every repetition of the same call after a crash; only idempotent services get one.
        notes: Takes facts about the call beside its response (`run_id` of a run it began); None when
            nobody reads it.
        quoted: Whether words from outside are quoted in the data that a model reads (`Service.told`).
    """

    domain: str
    service: str
    data: Mapping[str, Any]
    context: Context
    wants_response: bool = False
    idempotency_key: str | None = None
    notes: dict[str, Any] | None = None
    quoted: bool = False

    def taint(self) -> None:
        """Mark this response as containing words from outside."""
        if self.notes is not None:
            self.notes[TAINTED] = True


Handler = Callable[[ServiceCall], Awaitable[Mapping[str, Any] | None]]


class ServiceQuestion(Struct, frozen=True):
    """A service call by a model that needs the owner's approval.

    Attributes:
        service: `domain.name`.
        data: Exactly the data of the call.
        context: The cause, and the authority.
        session_key: The conversation it happens in.
        run_id: The run it belongs to.
    """

    service: str
    data: Mapping[str, Any]
    context: Context
    session_key: str | None = None
    run_id: str | None = None


AskAboutService = Callable[[ServiceQuestion], Awaitable[str | None]]
"""Asks the owner and waits; returns None for a yes to exactly this call, else why not."""


Prepare = Callable[[Mapping[str, Any]], tuple[Mapping[str, Any], bool]]
"""Returns the data of a model's call with what it means written out (the entities of an area), and whether the owner is
asked about it although the service's rule is `allow`; raises `HubError` for what a model may not do."""


class Service(Struct, frozen=True):
    """A registered service.

    Attributes:
        idempotent: Whether a call repeated with the same `idempotency_key` does nothing twice.
        open_world: Whether its response holds words from outside this home; what reads it is tainted from then on.
        told: Keys of its data that a model reads: in a tainted run, template output there is quoted.
        prepare: Takes the data of a model's call; see `Prepare`.
    """

    domain: str
    name: str
    handler: Handler
    schema: Schema
    response: ResponseMode = ResponseMode.NONE
    agent: AgentRule = AgentRule.NEVER
    description: str = ""
    fields: Mapping[str, Any] = field(default_factory=dict)
    idempotent: bool = False
    open_world: bool = False
    told: frozenset[str] = frozenset()
    prepare: Prepare | None = None

    @property
    def id(self) -> str:
        """`domain.name`."""
        return f"{self.domain}.{self.name}"


class ServiceRegistry:
    """Knows every service and calls it.

    Args:
        bus: Calls are announced here.
        ask: Asks the owner about a model's call; without it, what needs an approval is refused.
    """

    def __init__(self, bus: EventBus, ask: AskAboutService | None = None) -> None:
        self._bus = bus
        self.ask = ask
        self._services: dict[str, Service] = {}

    def register(  # noqa: PLR0913  all that is known of a service is said once, where it is made
        self,
        domain: str,
        name: str,
        handler: Handler,
        schema: Schema | None = None,
        response: ResponseMode = ResponseMode.NONE,
        agent: AgentRule = AgentRule.NEVER,
        *,
        description: str = "",
        fields: Mapping[str, Any] | None = None,
        idempotent: bool = False,
        open_world: bool = False,
        told: Iterable[str] = (),
        prepare: Prepare | None = None,
    ) -> Unsubscribe:
        """Add `domain.name`; an earlier one with that name is replaced.

        Args:
            handler: Coroutine function that takes a `ServiceCall` and returns plain data or None.
            schema: The schema of its data; by default it takes none.
            response: Whether it returns data.
            agent: Whether a model may call it; by default it may not.
            fields: What each key of its data is, for people: `{name: {"description", "required", "default", …}}`.
            idempotent: Whether it heeds `ServiceCall.idempotency_key`.
            open_world: Whether its response holds words from outside this home.
            told: Keys of its data that a model reads.
            prepare: Takes the data of a model's call; see `Prepare`.

        Returns:
            A function that removes it.
        """
        service = Service(
            domain,
            name,
            handler,
            schema or Schema({}),
            response,
            agent,
            description,
            fields or {},
            idempotent,
            open_world,
            frozenset(told),
            prepare,
        )
        self._services[service.id] = service
        self._bus.fire(EVENT_SERVICE_REGISTERED, {"domain": domain, "service": name})

        def remove() -> None:
            if self._services.get(service.id) is service:
                del self._services[service.id]
                self._bus.fire(EVENT_SERVICE_REMOVED, {"domain": domain, "service": name})

        return remove

    def get(self, domain: str, name: str) -> Service | None:
        """Return a service, or None when there is none with that name."""
        return self._services.get(f"{domain}.{name}")

    def all(self, *, for_agent: bool = False) -> list[Service]:
        """Return all services by name; with `for_agent` those a model may call or ask for."""
        chosen = (self._services[key] for key in sorted(self._services))
        return [service for service in chosen if not for_agent or service.agent is not AgentRule.NEVER]

    async def call(  # noqa: PLR0913  what goes with a call is said by name
        self,
        domain: str,
        name: str,
        data: Mapping[str, Any] | None = None,
        *,
        context: Context,
        wants_response: bool = False,
        timeout_s: float = CALL_LIMIT_S,
        idempotency_key: str | None = None,
        notes: dict[str, Any] | None = None,
        quoted: bool = False,
    ) -> Mapping[str, Any] | None:
        """Validate `data`, call the service and return its response.

        Args:
            wants_response: Whether a response is requested.
            timeout_s: How long it may take, seconds.
            idempotency_key: For a call that may be repeated after a crash.
            notes: Takes what the service notes about the call, such as the `run_id` of a run it began; what it answers,
                asked or not, is under `answer`.
            quoted: Whether words from outside are quoted in what a model reads of the data.

        Raises:
            NotFound: There is no such service.
            InvalidRequest: The data does not fit its schema, or a response was asked of one that gives none.
            TimedOut: It took longer than `timeout_s` seconds; it was cancelled.

        Cancelling the call cancels the service.
        """
        service = self.get(domain, name)
        if service is None:
            raise NotFound(
                phrase("there is no service {service}", service=f"{domain}.{name}"),
                details={"service": f"{domain}.{name}"},
            )
        if wants_response and service.response is ResponseMode.NONE:
            raise InvalidRequest(f"service {service.id} returns no response")
        if not wants_response and service.response is ResponseMode.ONLY:
            raise InvalidRequest(f"service {service.id} only returns a response; ask for it with response_variable")
        key = idempotency_key if service.idempotent else None
        made = ServiceCall(domain, name, _valid(service, data), context, wants_response, key, notes, quoted)
        answer = await self._make(service, made, timeout_s)
        if notes is not None and answer is not None:
            notes["answer"] = answer
        return answer if wants_response else None

    async def call_for_agent(
        self,
        domain: str,
        name: str,
        data: Mapping[str, Any] | None = None,
        *,
        context: Context,
        approved: bool = False,
        session_key: str | None = None,
        run_id: str | None = None,
        notes: dict[str, Any] | None = None,
    ) -> Mapping[str, Any] | None:
        """Call a service on behalf of a model, if its `agent` rule allows; the rule `ask` asks the owner.

        Args:
            approved: Whether a person approved exactly this call.
            session_key: The conversation it happens in, for the question.
            run_id: The run it belongs to, for the question.
            notes: Takes what the service notes about the call.

        Raises:
            NotFound: There is no such service, or a model may never call it (the error does not tell which).
            Forbidden: It needs an approval that was not given, or the service changed while the owner was asked.
            InvalidRequest: The data does not fit its schema.

        Cancelling the call withdraws the question.
        """
        service = self.get(domain, name)
        if service is None or service.agent is AgentRule.NEVER:
            known = ", ".join(entry.id for entry in self.all(for_agent=True)) or "none"
            raise NotFound(f"there is no service {domain}.{name} that an agent may call; there are: {known}")
        asks = service.agent is AgentRule.ASK and not approved
        if asks and self.ask is None:
            raise Forbidden(f"service {service.id} needs the owner's approval, and there is no one to ask")
        valid = _valid(service, data)
        if service.prepare is not None:
            valid, is_risky = service.prepare(valid)
            asks = asks or (is_risky and not approved)
        if asks and self.ask is None:
            raise Forbidden(f"service {service.id} needs the owner's approval here, and there is no one to ask")
        if asks and self.ask is not None:
            why_not = await self.ask(ServiceQuestion(service.id, deepcopy(valid), context, session_key, run_id))
            if why_not is not None:
                raise Forbidden(f"service {service.id} needs the owner's approval: {why_not}")
            if self.get(domain, name) is not service:
                raise Forbidden(f"service {service.id} changed while the owner was asked; it was not called")
        wants = service.response is not ResponseMode.NONE
        answer = await self._make(service, ServiceCall(domain, name, valid, context, wants, None, notes), CALL_LIMIT_S)
        return answer if wants else None

    async def _make(self, service: Service, call: ServiceCall, timeout_s: float) -> Mapping[str, Any] | None:
        told = {"domain": call.domain, "service": call.service, "data": call.data}
        self._bus.fire(EVENT_SERVICE_CALLED, told, call.context)
        if self._bus.has_listeners(EVENT_CALL_SERVICE):
            told = {"domain": call.domain, "service": call.service, "service_data": call.data}
            self._bus.fire(EVENT_CALL_SERVICE, told, call.context)
        try:
            async with asyncio.timeout(timeout_s):
                return await service.handler(call)
        except TimeoutError as error:
            raise TimedOut(
                phrase(
                    "service {service} did not finish within {limit_s} s", service=service.id, limit_s=f"{timeout_s:g}"
                )
            ) from error


def _valid(service: Service, data: Mapping[str, Any] | None) -> Mapping[str, Any]:
    try:
        valid: Mapping[str, Any] = service.schema(dict(data or {}))
    except SchemaError as error:
        raise InvalidRequest(
            phrase("service {service}: {error}", service=service.id, error=describe_error(error))
        ) from error
    return valid
