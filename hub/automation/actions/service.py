"""`action`: call a service."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from hub.automation.contract import ActionKind, StepRun
from hub.automation.definition.fields import dynamic_text, is_template, target_entity_ids, target_ids
from hub.automation.definition.mapping_field import dynamic_mapping, merge
from hub.automation.definition.phrases import join_words, quote, value_text
from hub.automation.running.calling import call_service
from hub.automation.running.untrusted_input import quote_data, refuse_choices, refuse_chosen_service
from hub.core.errors import InvalidRequest
from hub.core.phrases import phrase
from hub.core.schema import AnyOf, Invalid, Optional, Required, Schema, show, string

_NAME = re.compile(r"^[a-z0-9_]+\.[a-z0-9_]+$")
_DATA_KEYS = ("data", "data_template")


class _Constant(Struct, frozen=True):
    """A call without templates, built once."""

    name: str
    data: Mapping[str, Any]
    told: Mapping[str, Any]


async def _run(step: Mapping[str, Any], run: StepRun, path: str) -> None:
    memo = run.memo
    known = memo.get(id(step))
    if known is None:
        known = memo[id(step)] = (step, await _constant(step, run))
    call: _Constant | None = known[1]
    if call is None:
        call = await _rendered(step, run)
        if run.context.authority.tainted:
            call = await _harmless(call, step, run)
    run.tell(**call.told)
    await call_service(run, call.name, call.data, path, step.get("response_variable"))


async def _constant(step: Mapping[str, Any], run: StepRun) -> _Constant | None:
    """Return the call when none of its parts needs rendering, else None."""
    for key in ("action", "target", *_DATA_KEYS):
        if not run.is_static(step.get(key)):
            return None
    return await _rendered(step, run)


async def _rendered(step: Mapping[str, Any], run: StepRun) -> _Constant:
    name = str(await run.render_later(step["action"])).strip().lower()
    if not _NAME.match(name):
        raise InvalidRequest(f"{name!r} is not the name of a service; expected one such as light.turn_on")
    data: dict[str, Any] = {}
    for key in _DATA_KEYS:
        merge(data, await run.render_later(step.get(key)), key)
    merge(data, await run.render_later(step.get("target")), "target")
    return _Constant(name, data, {"service": name, "data": data})


async def _harmless(call: _Constant, step: Mapping[str, Any], run: StepRun) -> _Constant:
    """Return a call of a tainted run, with words from outside quoted where a model reads them."""
    refuse_chosen_service(step, run, call.name)
    domain, _, name = call.name.partition(".")
    service = run.parts.services.get(domain, name)
    if service is None or not service.told:
        return call
    refuse_choices(step, run, call.data)
    data = await quote_data(step, run, service, call.data)
    return _Constant(call.name, data, {"service": call.name, "data": data})


def _name(value: Any) -> str:
    text: str = string(value)
    if is_template(text):
        return _checked(text)
    text = text.strip().lower()
    if not _NAME.match(text):
        raise Invalid(phrase("expected the name of a service such as light.turn_on, got {value}", value=show(value)))
    return text


def _checked(text: str) -> str:
    checked: str = dynamic_text(text)
    return checked


def _explain(step: Mapping[str, Any]) -> str:
    data = step.get("data") or {}
    data = data if isinstance(data, Mapping) else {}
    target = step.get("target") or data
    entities = target.get("entity_id") if isinstance(target, Mapping) else None
    named = join_words(entities) if isinstance(entities, list) else entities
    said = _said(str(step["action"]), data) or _done_to(str(step["action"]).partition(".")[2], named, data)
    return said or _by_name(str(step["action"]), named)


def _by_name(service: str, what: str | None) -> str:
    """Return a call in the words of the service's name."""
    if is_template(service):
        return value_text(service)
    domain, _, name = service.partition(".")
    match domain, name:
        case "notify", "notify" | "send":
            return phrase("tell everyone")
        case "notify", _:
            return phrase("tell {name}", name=_words(name))
        case "message", "send":
            return phrase("send a message")
        case "agent", "run":
            return phrase("ask the assistant")
        case "persistent_notification", "create":
            return phrase("show a notification")
        case "script", _:
            return phrase("run the script {name}", name=quote(service))
    return phrase("{said}: {reason}", said=_words(name if what else domain), reason=what or _words(name))


def _words(name: str) -> str:
    return name.replace("_", " ")


def _said(service: str, data: Mapping[str, Any]) -> str | None:
    """Describe a call that sends a text; None when it sends none."""
    text = value_text(data.get("message") or data.get("text") or data.get("prompt") or "")
    match service:
        case "notify.notify" if text:
            return phrase("tell everyone: {text}", text=text)
        case _ if text and service.startswith("notify."):
            name = _words(service.partition(".")[2])
            return phrase("tell {name}: {text}", name=name, text=text)
        case "message.send" if text and "to" not in data:
            return phrase("tell you: {text}", text=text)
        case "message.send" if text:
            return phrase("send a message: {text}", text=text)
        case "agent.run" if text:
            return phrase("ask the assistant: {text}", text=text)
        case "persistent_notification.create" if text:
            return phrase("show a notification: {text}", text=text)
    return None


def _done_to(name: str, what: str | None, data: Mapping[str, Any]) -> str | None:
    """Return in words what is done to a thing; None when there are none for it."""
    if what is None:
        return None
    match name:
        case "turn_on" if "brightness_pct" in data:
            return phrase("turn on {what}, {value} %", what=what, value=value_text(data["brightness_pct"]))
        case "turn_on":
            return phrase("turn on {what}", what=what)
        case "turn_off":
            return phrase("turn off {what}", what=what)
        case "toggle":
            return phrase("switch {what} over", what=what)
        case "set_temperature" if "temperature" in data:
            return phrase("set {what} to {value}°", what=what, value=value_text(data["temperature"]))
        case "open_cover":
            return phrase("open {what}", what=what)
        case "close_cover":
            return phrase("close {what}", what=what)
    return None


_TARGET = Schema(
    {
        Optional("entity_id", description="Entities that it is about."): target_entity_ids,
        Optional("device_id", description="Devices that it is about."): target_ids,
        Optional("area_id", description="Areas that it is about."): target_ids,
        Optional("floor_id", description="Floors that it is about."): target_ids,
        Optional("label_id", description="Labels that it is about."): target_ids,
    }
)


def _rule(step: dict[str, Any]) -> dict[str, Any]:
    """Move the call's old keys to their present place."""
    if "entity_id" not in step:
        return step
    found = dict(step)
    entities = found.pop("entity_id")
    target = found.get("target") or {}
    if not isinstance(target, dict) or "entity_id" in target:
        raise Invalid(phrase("the target is given twice; use one of them"), path=["entity_id"])
    return {**found, "target": {**target, "entity_id": entities}}


KIND = ActionKind(
    name="action",
    fields={
        Required("action", description="The service, as domain.name, or a template."): _name,
        Optional("target", description="The target; it is added to the data."): AnyOf(None, _TARGET, dynamic_text),
        Optional("entity_id", description="Old form of target: entity_id."): target_entity_ids,
        Optional("data", description="Data of the service."): dynamic_mapping,
        Optional("data_template", description="The old name of data with templates."): dynamic_mapping,
        Optional("response_variable", description="Variable that receives the response."): string,
        Optional("metadata", description="Data of Home Assistant's editor; not used."): object,
    },
    run=_run,
    explain=_explain,
    description="Call a service.",
    rule=_rule,
)
