"""`mqtt`: a message arrived on a topic, once an MQTT bridge is there; see `hub.integration.mqtt_topics`."""

from __future__ import annotations

import codecs
from collections.abc import Mapping
from typing import Any

from hub.automation.contract import TriggerHost, TriggerKind
from hub.automation.definition.fields import dynamic_text, template
from hub.automation.definition.phrases import quote, value_text
from hub.automation.definition.values import is_template
from hub.automation.triggers.arming import render_limited, report_errors
from hub.core.errors import HubError, InvalidRequest
from hub.core.events import Event, Unsubscribe
from hub.core.phrases import phrase
from hub.core.schema import Described, In, Invalid, Optional, Required, boolean, show, string
from hub.gateway.webhooks.webhook_data import read_json
from hub.integration.mqtt_topics import (
    EVENT_BRIDGE_READY,
    EVENT_MESSAGE,
    EVENT_WANTED,
    filter_of,
    fits,
    is_wild,
    problem_of,
)

PAYLOAD_JSON_BYTES = 65_536
"""Longer payloads are not read as JSON."""


def _topic(value: Any) -> str:
    text = str(dynamic_text(value))
    if not is_template(text) and (problem := problem_of(text)) is not None:
        raise Invalid(phrase("{problem}, got {value}", problem=problem, value=show(value)))
    return text


def _payload(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(dynamic_text(value))


def _encoding(value: Any) -> str:
    if value is None:
        return ""
    text = str(string(value))
    if not text:
        return text
    try:
        codecs.lookup(text)
        "".encode(text)
    except (LookupError, TypeError):
        raise Invalid(
            phrase("expected an encoding such as utf-8, or nothing for bytes, got {value}", value=show(value))
        ) from None
    return text


class _Reader:
    """Decodes payloads as one trigger is configured."""

    def __init__(self, config: Mapping[str, Any], host: TriggerHost) -> None:
        self._encoding: str = config["encoding"]
        self._wanted: str | None = None
        if "payload" in config:
            self._wanted = str(render_limited(config["payload"], host))
        text = config.get("value_template")
        self._template = None
        if text is not None and host.templates:
            self._template = host.parts.templates.compile(text, f"automation {host.automation_id}")
        self._variables = host.variables

    def read(self, payload: bytes | str) -> Any:
        """Return the payload decoded; bytes as they are without an encoding.

        Raises:
            UnicodeError: It is not in that encoding.
        """
        if not self._encoding:
            return payload if isinstance(payload, bytes) else payload.encode()
        return payload if isinstance(payload, str) else payload.decode(self._encoding)

    def is_wanted(self, payload: Any, as_json: Any) -> bool:
        """Whether a payload matches the trigger.

        Raises:
            HubError: The template cannot be rendered.
        """
        if self._wanted is None:
            return True
        value = payload
        if self._template is not None:
            variables = {**self._variables, "value": payload, "value_json": as_json}
            value = self._template.render(variables, parse_result=False)
        if isinstance(value, bytes):
            return value == self._wanted.encode()
        return str(value) == self._wanted


def _as_json(payload: Any) -> Any:
    raw = payload.encode("utf-8", "surrogatepass") if isinstance(payload, str) else payload
    if len(raw) > PAYLOAD_JSON_BYTES:
        return None
    try:
        return read_json(raw)
    except InvalidRequest:
        return None


def _arm(config: Mapping[str, Any], host: TriggerHost) -> Unsubscribe:
    topic = str(render_limited(config["topic"], host))
    if (problem := problem_of(topic)) is not None:
        raise InvalidRequest(f"{problem}, got {show(topic)}")
    reader, bus, wild = _Reader(config, host), host.parts.bus, is_wild(topic)
    failed = False

    def came(event: Event) -> None:
        nonlocal failed
        data = event.data
        if (wild and not fits(topic, data["topic"])) or (data.get("retain") and config["ignore_retained"]):
            return
        try:
            payload = reader.read(data["payload"])
            as_json = _as_json(payload)
            wanted = reader.is_wanted(payload, as_json)
        except (HubError, UnicodeError) as error:
            if not failed:
                failed = True
                host.fail(f"a message on {value_text(data['topic'])} cannot be read: {error}")
            return
        failed = False
        if not wanted:
            return
        trigger = {
            "topic": data["topic"],
            "payload": payload,
            "payload_json": as_json,
            "qos": data.get("qos", 0),
            "retain": bool(data.get("retain", False)),
            "description": f"mqtt topic {data['topic']}",
        }
        host.fire(trigger, event.context, tainted=True)

    def want(wanted: bool) -> None:
        bus.fire(EVENT_WANTED, {"topic": topic, "qos": config["qos"], "wanted": wanted})

    ends = [
        bus.listen(EVENT_MESSAGE, came, filter_of(topic)),
        bus.listen(EVENT_BRIDGE_READY, lambda event: want(True)),
    ]
    want(True)

    def end() -> None:
        for each in ends:
            each()
        want(False)

    return end


def _explain(config: Mapping[str, Any]) -> str:
    said = phrase("when a message comes on the MQTT topic {topic}", topic=quote(config["topic"]))
    if "payload" not in config:
        return said
    payload = quote(config["payload"])
    if "value_template" not in config:
        return phrase("{said} that says {payload}", said=said, payload=payload)
    template = value_text(config["value_template"])
    return phrase("{said} for which {template} is {payload}", said=said, template=template, payload=payload)


KINDS = {
    "mqtt": TriggerKind(
        name="mqtt",
        fields={
            Required("topic", description="A topic; + matches one level, # all further levels."): Described(
                _topic, {"type": "string"}, "topic"
            ),
            Optional("payload", description="What the message must say."): Described(
                _payload, {"type": ["string", "number", "boolean"]}, "payload"
            ),
            Optional(
                "value_template",
                description="Template over `value` or `value_json`; its result is compared with payload.",
            ): template,
            Optional("qos", default=0, description="0, 1 or 2."): In((0, 1, 2)),
            Optional("encoding", default="utf-8", description="Empty: raw bytes."): Described(
                _encoding, {"type": ["string", "null"]}, "encoding"
            ),
            Optional("ignore_retained", default=False, description="Whether retained messages are ignored."): boolean,
        },
        arm=report_errors(_arm),
        explain=_explain,
        description="An MQTT message came.",
    )
}
