"""Calls of domain services: the entities they target, and the commands sent to each."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

from hub.core.errors import Forbidden, HubError, InvalidRequest, NotFound, Unavailable
from hub.core.events import Unsubscribe
from hub.core.phrases import in_series, phrase
from hub.core.schema import All, Optional, Schema
from hub.core.services import AgentRule, Handler, ResponseMode, ServiceCall, ServiceRegistry
from hub.core.states import EntityState
from hub.entities.danger import endangers
from hub.entities.domains import ANSWERING, BEFORE, DOMAINS, GENERIC, OF_DOMAINS, ONE_OF, TARGET_KEYS, WITHIN
from hub.entities.entities import UNAVAILABLE, EntityHandle, HomeEntities
from hub.entities.targets import TARGET_FIELDS, TargetEntities, Targets

VOLUME_STEP = 0.1
AT_ONCE = 32
"""Entities of one call that are commanded at the same time."""
IS_NEW = "is new: agents may use it once a person says it is theirs, on the page Devices or by homarus entities accept"
"""Why an agent may not use a device that announced itself."""
_GENERIC_DOMAIN = "homeassistant"
_log = logging.getLogger(__name__)


class EntityServices:
    """Carries out the services of the domains.

    Args:
        entities: Have the commands.
        targets: Finds entities.
        services: Registers the services.
    """

    def __init__(self, entities: HomeEntities, targets: Targets, services: ServiceRegistry) -> None:
        self._entities, self._targets, self._services = entities, targets, services

    def register(self) -> Unsubscribe:
        """Register the services of all domains, and `homeassistant.turn_on`, `turn_off`, `toggle` and
        `update_entity`.

        Returns:
            A function that removes them.
        """
        removers = [
            self._register(domain, name, self._handler(domain), _schema(f"{domain}.{name}", fields))
            for domain, services in DOMAINS.items()
            for name, fields in services.items()
        ]
        removers += [
            self._register(_GENERIC_DOMAIN, name, self._generic, Schema({**TARGET_FIELDS, Optional(str): object}))
            for name in GENERIC
        ]
        removers.append(self._register(_GENERIC_DOMAIN, "update_entity", self._refresh, Schema(dict(TARGET_FIELDS))))

        def remove() -> None:
            for each in removers:
                each()

        return remove

    def _register(self, domain: str, name: str, handler: Handler, schema: Schema) -> Unsubscribe:
        return self._services.register(
            domain,
            name,
            handler,
            schema,
            ResponseMode.ONLY if (domain, name) in ANSWERING else ResponseMode.NONE,
            agent=AgentRule.ALLOW,
            prepare=lambda data: self._prepare(domain, name, data),
        )

    def _prepare(self, domain: str, name: str, data: Mapping[str, Any]) -> tuple[Mapping[str, Any], bool]:
        """Resolve the entities of an agent's call, which are exposed ones; dangerous ones need approval.

        Raises:
            Forbidden: A named entity is new or not exposed, or an agent may not call what it needs.
        """
        found = self._meant(f"{domain}.{name}", data, None if domain == _GENERIC_DOMAIN else domain)
        hidden = [each for each in found.named if not self._entities.is_exposed(each)]
        if hidden and data.get("entity_id") != "all":
            if new := [each for each in hidden if self._entities.is_new(each)]:
                raise Forbidden(f"{', '.join(new)} {IS_NEW}")
            raise Forbidden(f"{', '.join(hidden)}: not exposed to agents; its owner can expose it on the page Devices")
        ids = [each for each in (*found.named, *found.meant) if self._entities.is_exposed(each)]
        others = {each.partition(".")[0] for each in ids} - DOMAINS.keys()
        behind = [service for each in sorted(others) if (service := self._services.get(each, name)) is not None]
        if never := [service.id for service in behind if service.agent is AgentRule.NEVER]:
            raise Forbidden(f"an agent may not call {', '.join(never)}")
        asks = any(service.agent is AgentRule.ASK for service in behind) or any(
            endangers(each, self._entities.states.get, self._entities.endangers) for each in (*ids, *found.named)
        )
        rest = {key: value for key, value in data.items() if key not in TARGET_KEYS}
        return {"entity_id": ids or "none", **rest}, asks

    def _handler(self, domain: str) -> Handler:
        async def handle(call: ServiceCall) -> Mapping[str, Any] | None:
            return await self._run(call, domain, self._meant(f"{domain}.{call.service}", call.data, domain))

        return handle

    async def _generic(self, call: ServiceCall) -> None:
        target = self._meant(f"{call.domain}.{call.service}", call.data, None)
        by_domain: dict[str, TargetEntities] = {}
        for each in (*target.named, *target.meant):
            domain = each.partition(".")[0]
            known = call.service in DOMAINS.get(domain, {}) or domain in ("cover", "valve")
            if known or self._services.get(domain, call.service) is not None:
                found = by_domain.setdefault(domain, TargetEntities([], []))
                (found.named if each in target.named else found.meant).append(each)
        if not by_domain and call.data.get("entity_id") != "none":
            raise InvalidRequest(phrase("none of the chosen entities can do this: {service}", service=call.service))
        for domain, found in by_domain.items():
            if domain in DOMAINS:
                await self._run(call, domain, found)
            else:
                data = {"entity_id": [*found.named, *found.meant]}
                await self._services.call(domain, call.service, data, context=call.context)

    async def _refresh(self, call: ServiceCall) -> None:
        """Ask for the states of entities now; those that tell by themselves are left alone.

        Raises:
            NotFound: A named entity does not exist.
        """
        target = self._meant(f"{call.domain}.{call.service}", call.data, None)
        states = self._entities.states
        if absent := [each for each in target.named if states.get(each) is None]:
            raise _absent(absent[0], None)
        handles = (self._entities.get(each) for each in (*target.named, *target.meant))
        asks = dict.fromkeys(each.refresh for each in handles if each is not None and each.refresh is not None)
        await asyncio.gather(*(ask() for ask in asks))

    def _meant(self, service: str, data: Mapping[str, Any], domain: str | None) -> TargetEntities:
        """Return the entities that a call targets, within a domain if given."""
        found = self._targets.find(data, domain)
        if domain is None:
            return found
        fitting = tuple(f"{each}." for each in OF_DOMAINS.get(domain, (domain,)))
        if wrong := [each for each in found.named if not each.startswith(fitting)]:
            raise InvalidRequest(
                phrase(
                    "{service} is for {domain} entities, not for {entities}",
                    service=service,
                    domain=domain,
                    entities=wrong,
                )
            )
        return TargetEntities(found.named, [each for each in found.meant if each.startswith(fitting)])

    async def _run(self, call: ServiceCall, domain: str, target: TargetEntities) -> Mapping[str, Any] | None:
        """Command each reachable entity; then report the unreachable ones.

        Returns:
            What they return, by entity id; words in it count as words from outside where those of the state do.

        Raises:
            NotFound: A named entity does not exist, or the target has no entities.
            Unavailable: A named entity is unavailable, or all of the target's are.
            HubError: The command of one failed.
        """
        data = {key: value for key, value in call.data.items() if key not in TARGET_KEYS}
        ready: list[tuple[EntityHandle, EntityState]] = []
        errors: list[HubError] = []
        asleep: list[str] = []
        for each in (*target.named, *target.meant):
            state, handle = self._entities.states.get(each), self._entities.get(each)
            if state is None or handle is None:
                errors += [_absent(each, state)] if each in target.named else []
            elif state.state == UNAVAILABLE:
                asleep.append(each)
            else:
                ready.append((handle, state))
        if named := [each for each in asleep if each in target.named or not ready]:
            errors.append(
                Unavailable(
                    phrase(
                        "{names} cannot be reached now (unavailable); nothing was sent to it", names=", ".join(named)
                    )
                )
            )
        if not ready and not errors and call.data.get("entity_id") != "none":
            service = f"{call.domain}.{call.service}"
            errors.append(
                NotFound(
                    phrase("there is no {domain} entity in what {service} is about", domain=domain, service=service)
                )
            )
        gate = asyncio.Semaphore(AT_ONCE)
        answers: dict[str, Any] = {}
        own = self._entities.own.get(f"{domain}.{call.service}")

        async def one(handle: EntityHandle, state: EntityState) -> None:
            async with gate:
                if own is not None:
                    handle.commanded(call.context)
                    answer = await own(handle, data)
                else:
                    command, fitting = _command(handle, call.service, state, data)
                    handle.commanded(call.context)
                    answer = await handle.commands[command](fitting)
                if answer is not None:
                    answers[handle.entity_id] = answer
                    if state.context.authority.tainted:
                        call.taint()

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(_caught(handle.entity_id, one(handle, state))) for handle, state in ready]
        errors += [error for task in tasks if (error := task.result()) is not None]
        if errors:
            told = in_series([each.message for each in errors])
            outside = any(each.outside for each in errors)
            raise errors[0] if len(errors) == 1 else errors[0].retold(told, outside=outside)
        return answers if (domain, call.service) in ANSWERING else None


def _schema(service: str, fields: Mapping[Any, Any]) -> Schema:
    keys = {**TARGET_FIELDS, **fields}
    return Schema(All(BEFORE[service], keys) if service in BEFORE else keys)


def _absent(entity_id: str, state: EntityState | None) -> HubError:
    if state is None:
        return NotFound(phrase("there is no entity {entity}", entity=entity_id))
    return InvalidRequest(phrase("{entity} only has a state; it cannot be controlled", entity=entity_id))


async def _caught(entity_id: str, work: Any) -> HubError | None:
    try:
        await work
    except HubError as error:
        if entity_id in error.message:
            return error
        told = phrase("{entity}: {error}", entity=entity_id, error=error.message)
        return error.retold(told, outside=error.outside)
    return None


def _command(
    handle: EntityHandle, service: str, state: EntityState, data: Mapping[str, Any]
) -> tuple[str, Mapping[str, Any]]:
    """Return an entity's command for a service, and its data.

    Raises:
        InvalidRequest: It cannot do this, or not with these values.
    """
    name, found = _derived(service, state, data, handle.commands)
    if name not in handle.commands:
        raise InvalidRequest(phrase("{entity} cannot do this: {service}", entity=handle.entity_id, service=service))
    domain, attributes = handle.entity_id.partition(".")[0], state.attributes
    for key, value in found.items():
        low, high = (attributes.get(each) for each in WITHIN.get((domain, key), ("", "")))
        if (isinstance(low, int | float) and value < low) or (isinstance(high, int | float) and value > high):
            raise InvalidRequest(
                phrase(
                    "{entity}: {key} is from {low} to {high}, not {value}",
                    entity=handle.entity_id,
                    key=key,
                    low=low,
                    high=high,
                    value=f"{value:g}",
                )
            )
        choices = attributes.get(ONE_OF.get(key, ""))
        if isinstance(choices, list | tuple) and choices and value not in choices:
            raise InvalidRequest(
                phrase(
                    "{entity}: {key} is one of {choices}, not {value}",
                    entity=handle.entity_id,
                    key=key,
                    choices=[*map(str, choices)],
                    value=value,
                )
            )
    if domain == "light" and name == "turn_on":
        return _light(found, state, handle)
    return name, found


def _derived(
    service: str, state: EntityState, data: Mapping[str, Any], commands: Mapping[str, Any]
) -> tuple[str, Mapping[str, Any]]:
    """Return a service that the entity supports, in place of one that can be derived from it."""
    if service in commands:
        return service, data
    domain, now = state.entity_id.partition(".")[0], state.state
    if domain in ("cover", "valve"):
        is_shut = now in ("closed", "closing")
        verb = {"turn_on": "open", "turn_off": "close", "toggle": "open" if is_shut else "close"}.get(service)
        return (f"{verb}_{domain}", {}) if verb is not None else (service, data)
    if domain == "media_player":
        return _of_player(service, state, commands)
    if service == "toggle":
        return ("turn_on", data) if now in ("off", "standby", "idle") else ("turn_off", {})
    if service in ("turn_on", "turn_off") and "set_hvac_mode" in commands:
        modes = [each for each in state.attributes.get("hvac_modes", ()) if each != "off"]
        best = next(
            (each for each in ("heat_cool", "auto", "heat", "cool") if each in modes), modes[0] if modes else ""
        )
        return "set_hvac_mode", {"hvac_mode": "off" if service == "turn_off" else best}
    if service.startswith("select_") and "select_option" in commands:
        options = list(state.attributes.get("options", ()))
        return ("select_option", {"option": _option(service, options, now, data)}) if options else (service, data)
    if service in ("increase_speed", "decrease_speed") and "set_percentage" in commands:
        step = data.get("percentage_step") or state.attributes.get("percentage_step") or 10
        speed = float(state.attributes.get("percentage") or 0) + (step if service == "increase_speed" else -step)
        return "set_percentage", {"percentage": min(100, max(0, speed))}
    if service in ("increment", "decrement") and "set_value" in commands:
        step = float(state.attributes.get("step") or 1)
        return "set_value", {"value": float(now) + (step if service == "increment" else -step)}
    return service, data


def _of_player(service: str, state: EntityState, commands: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    now, level = state.state, state.attributes.get("volume_level")
    if service == "toggle":
        return ("turn_on" if now in ("off", "standby") else "turn_off"), {}
    if service == "media_play_pause":
        return ("media_pause" if now == "playing" else "media_play"), {}
    if service in ("volume_up", "volume_down") and "volume_set" in commands and isinstance(level, int | float):
        step = VOLUME_STEP if service == "volume_up" else -VOLUME_STEP
        return "volume_set", {"volume_level": round(min(1.0, max(0.0, level + step)), 2)}
    return service, {}


def _option(service: str, options: list[Any], now: str, data: Mapping[str, Any]) -> Any:
    if service in ("select_first", "select_last"):
        return options[0 if service == "select_first" else -1]
    place = options.index(now) if now in options else -1
    step = place + (1 if service == "select_next" else -1)
    return options[step % len(options)] if data.get("cycle", True) else options[max(0, min(len(options) - 1, step))]


def _light(data: Mapping[str, Any], state: EntityState, handle: EntityHandle) -> tuple[str, Mapping[str, Any]]:
    """Return the command with brightness in 0 to 255 and colour temperature in kelvin, whatever units were given."""
    found = dict(data)
    now = state.attributes.get("brightness")
    now = now if isinstance(now, int | float) and state.state == "on" else 0
    if "brightness_pct" in found:
        found["brightness"] = round(255 * found.pop("brightness_pct") / 100)
    if "brightness_step_pct" in found:
        found["brightness_step"] = 255 * found.pop("brightness_step_pct") / 100
    if "brightness_step" in found:
        found["brightness"] = max(0, min(255, round(now + found.pop("brightness_step"))))
    if "kelvin" in found:
        found["color_temp_kelvin"] = found.pop("kelvin")
    if "color_temp" in found:
        found["color_temp_kelvin"] = round(1_000_000 / found.pop("color_temp"))
    if found.get("brightness") == 0 and "turn_off" in handle.commands:
        return "turn_off", {key: value for key, value in found.items() if key == "transition"}
    return "turn_on", found
