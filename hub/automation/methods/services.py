"""`service.list|call`: services by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.core.errors import Forbidden, NotFound
from hub.core.json_schema import to_json_schema
from hub.core.schema import All, AnyOf, Match, Optional, Required, Schema, boolean, string
from hub.core.services import ResponseMode, Service, ServiceRegistry
from hub.core.surfaces import ADMIN, READ, WRITE, Method, MethodCall
from hub.entities.helpers.table import RELOADED
from hub.gateway.calls.acting import call_context
from hub.gateway.calls.plain_data import as_json, plain_mapping
from hub.security.redaction import Redactor

OWNER = "gateway"
ADMIN_DOMAINS = frozenset({"backup", "hub"})
ADMIN_SERVICES = frozenset({"automation.reload", "script.reload", *(f"{domain}.reload" for domain in RELOADED)})
"""Services that are about the hub itself, not about what happens in the home."""

_NAME = All(
    string, Match(r"^[a-z0-9_]{1,64}\.[a-z0-9_]{1,128}$", msg="expected the name of a service, such as light.turn_on")
)


class ServiceMethods:
    """The methods about services.

    Args:
        services: The services.
        redactor: Removes secrets from their answers.
    """

    def __init__(self, services: ServiceRegistry, redactor: Redactor) -> None:
        self._services = services
        self._redactor = redactor

    def methods(self) -> list[Method]:
        """Return the methods."""
        call = Schema(
            {
                Required("service", description="domain.name."): _NAME,
                Optional("data", default=dict, description="Data of the service."): plain_mapping,
                Optional("response", description="Whether to return its response; by default, when it has one."): AnyOf(
                    None, boolean
                ),
            }
        )
        return [
            Method("service.list", self._list, OWNER, Schema({}), READ),
            Method("service.call", self._call, OWNER, call, WRITE, acts=True),
        ]

    async def _list(self, call: MethodCall) -> Mapping[str, Any]:
        return {"services": [service_data(service) for service in self._services.all()]}

    async def _call(self, call: MethodCall) -> Mapping[str, Any]:
        name = call.params["service"]
        domain, _, service_name = name.partition(".")
        if (domain in ADMIN_DOMAINS or name in ADMIN_SERVICES) and not call.context.authority.has(ADMIN):
            raise Forbidden(f"{name} is about the hub itself: it needs {ADMIN}", details={"missingScope": ADMIN})
        service = self._services.get(domain, service_name)
        if service is None:
            raise NotFound(_unknown(name, self._services), details={"service": name})
        wanted = call.params.get("response")
        if wanted is None:
            wanted = service.response is not ResponseMode.NONE
        answer = await self._services.call(
            domain,
            service_name,
            call.params["data"],
            context=call_context(call),
            wants_response=wanted,
            idempotency_key=call.params.get("idempotencyKey"),
        )
        response = None if answer is None else as_json(self._redactor.redact_data(dict(answer)))
        return {"service": name, "response": response}


def service_data(service: Service) -> dict[str, Any]:
    """Return a service as `service.list` has it."""
    schema = to_json_schema(service.schema)
    required = set(schema.get("required", ()))
    fields: dict[str, Any] = {
        name: {"required": name in required, **({"description": told} if (told := each.get("description")) else {})}
        for name, each in (schema.get("properties") or {}).items()
    }
    for name, told in service.fields.items():
        fields[name] = {**fields.get(name, {}), **(told if isinstance(told, Mapping) else {})}
    return {
        "service": service.id,
        "description": service.description,
        "response": service.response.value,
        "agent": service.agent.value,
        "fields": fields,
        "schema": schema,
    }


def _unknown(name: str, services: ServiceRegistry) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name, [service.id for service in services.all()], n=1)
    hint = f"; did you mean {near[0]}?" if near else "; `homarus service list` shows what there is"
    return f"there is no service {name}{hint}"
