"""`hook`: an observing hook was called. An automation returns nothing, so it changes nothing there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from hub.automation.contract import TriggerHost, TriggerKind
from hub.automation.definition.phrases import join_words, quote
from hub.automation.triggers.arming import do_nothing, report_errors
from hub.automation.triggers.provenance import is_somebody_elses
from hub.core.errors import HubError
from hub.core.events import Unsubscribe
from hub.core.phrases import phrase
from hub.core.schema import All, In, Length, Required, ensure_list
from hub.hooks.contract import HOOKS, HookKind, HookPayload
from hub.hooks.registry import Hook, Hooks

OBSERVING = tuple(name for name, payload in HOOKS.items() if payload.kind is HookKind.OBSERVE)
VALUE_LIMIT_BYTES = 16_384


def _arm(config: Mapping[str, Any], host: TriggerHost) -> Unsubscribe:
    hooks = host.parts.source(Hooks)
    if hooks is None:  # in a simulation nothing is called
        return do_nothing
    ends: list[Unsubscribe] = []

    def end() -> None:
        for each in ends:
            each()

    def called(payload: HookPayload) -> None:
        data = _plain(payload)
        trigger = {"hook": payload.hook, "data": data, "description": f"hook {payload.hook}"}
        host.fire(trigger, payload.context, tainted=_is_tainted(payload, data))

    try:
        for name in dict.fromkeys(config["hook"]):
            ends.append(hooks.add(Hook(name, called, f"automation {host.automation_id}")))
    except HubError:
        end()
        raise
    return end


def _plain(payload: HookPayload) -> dict[str, Any]:
    """Return a hook's payload as plain data, without large or non-data values."""
    found: dict[str, Any] = {}
    for name in payload.__struct_fields__:
        value = getattr(payload, name)
        if isinstance(value, str):
            found[name] = value[:VALUE_LIMIT_BYTES]
            continue
        try:
            data = orjson.dumps(value)
        except TypeError:
            continue
        if len(data) <= VALUE_LIMIT_BYTES:
            found[name] = orjson.loads(data)
    return found


def _is_tainted(payload: HookPayload, data: Mapping[str, Any]) -> bool:
    if is_somebody_elses(payload.context):
        return True
    return payload.brings_words and data.get("from_owner") is not True


KIND = TriggerKind(
    name="hook",
    fields={
        Required("hook", description="A hook or a list of them; only those that observe."): All(
            ensure_list(In(OBSERVING)), Length(min=1, max=len(OBSERVING))
        )
    },
    arm=report_errors(_arm),
    explain=lambda config: phrase("when the hook {hook} is called", hook=join_words(map(quote, config["hook"]), "or")),
    description="A hook was called.",
)
