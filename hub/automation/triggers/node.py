"""`node`: a phone, a Mac or another device connected, disconnected, or sent an event.

It listens to three events: `node_connected` and `node_disconnected` with `{node_id, name, platform}` (the latter also
`reason`), and `node_event` with `{node_id, name, event, data}`, whose data is the node's own words.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.automation.contract import TriggerHost, TriggerKind
from hub.automation.definition.fields import match_text
from hub.automation.definition.phrases import join_words
from hub.automation.triggers.arming import report_errors
from hub.automation.triggers.provenance import is_tainted
from hub.core.events import Event, Unsubscribe
from hub.core.phrases import phrase
from hub.core.schema import In, Invalid, Optional, Required

EVENTS = {"connected": "node_connected", "disconnected": "node_disconnected", "event": "node_event"}
_TOLD = ("node_id", "name", "platform", "reason", "event", "data")


def _rule(config: dict[str, Any]) -> dict[str, Any]:
    if "event" in config and config["on"] != "event":
        raise Invalid(phrase("event needs on: event, not {on}", on=config["on"]), path=["event"])
    return config


def _arm(config: Mapping[str, Any], host: TriggerHost) -> Unsubscribe:
    where = {
        **({"node_id": config["node_id"]} if "node_id" in config else {}),
        **({"event": config["event"]} if "event" in config else {}),
    }
    on: str = config["on"]

    def happened(event: Event) -> None:
        node = {key: event.data[key] for key in _TOLD if key in event.data}
        words = f"node {event.data.get('name') or event.data.get('node_id')}: {on}"
        host.fire({"on": on, "node": node, "description": words}, event.context, tainted=is_tainted(event))

    return host.parts.bus.listen(EVENTS[on], happened, where or None)


def _explain(config: Mapping[str, Any]) -> str:
    who = (
        phrase("the node {nodes}", nodes=join_words(config["node_id"], "or"))
        if "node_id" in config
        else phrase("a node")
    )
    if config["on"] == "connected":
        return phrase("when {who} connects", who=who)
    if config["on"] != "event":
        return phrase("when {who} disconnects", who=who)
    what = join_words(config["event"], "or") if "event" in config else phrase("any event")
    return phrase("when {who} reports {event}", who=who, event=what)


KIND = TriggerKind(
    name="node",
    fields={
        Required("on", description="connected, disconnected or event."): In(tuple(EVENTS)),
        Optional("node_id", description="Which node: one or a list."): match_text,
        Optional("event", description="Which event of the node: one or a list."): match_text,
    },
    arm=report_errors(_arm),
    explain=_explain,
    description="A node connected, disconnected or told something.",
    rule=_rule,
)
