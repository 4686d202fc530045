"""The additions to an automation, as tiles in groups: kinds of the grammar, and services that people use most."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from web.automations.form_kinds import ACTION, CONDITION, FIELD, TRIGGER, fresh, kind_names
from web.automations.form_texts import KIND_NAMES

SERVICE = "service:"
"""In front of the key of a tile that calls a service."""
TILE_GROUPS: Mapping[str, str] = {
    "time": "Time",
    "device": "Device",
    "message": "Message",
    "person": "Person",
    "assistant": "Assistant",
    "other": "Other",
}
TILE_TEXTS: Mapping[str, Mapping[str, tuple[str, str, str]]] = {
    TRIGGER: {
        "time": ("time", "clock", "At a time of day"),
        "sun": ("time", "sun", "At sunrise or sunset"),
        "every": ("time", "hourglass", "At regular intervals"),
        "at": ("time", "calendar", "Once, at a date and time"),
        "cron": ("time", "calendar", "On a schedule (cron)"),
        "time_pattern": ("time", "clock", "On certain minutes or hours"),
        "state": ("device", "lightbulb", "A device changes"),
        "numeric_state": ("device", "gauge", "A value gets too high or too low"),
        "device": ("device", "radar", "A device reports something"),
        "node": ("device", "smartphone", "A phone or computer connects"),
        "mqtt": ("device", "cable", "An MQTT message arrives"),
        "message": ("message", "message-circle", "A message arrives"),
        "conversation": ("message", "mic", "Somebody says a sentence"),
        "comes_home": ("person", "house", "Somebody comes home"),
        "leaves_home": ("person", "log-out", "Somebody leaves home"),
        "agent": ("assistant", "bot", "The assistant does something"),
        "heartbeat": ("assistant", "activity", "The assistant’s regular check"),
        "hook": ("assistant", "route", "A step of the assistant’s work"),
        "event": ("other", "zap", "An event happens"),
        "feed": ("other", "scroll-text", "A feed has something new"),
        "file": ("other", "file", "A file changes"),
        "webhook": ("other", "globe", "A web address is called"),
        "template": ("other", "braces", "A template becomes true"),
        "command": ("other", "terminal", "A command writes a line or ends"),
        "hub": ("other", "power", "The hub starts or stops"),
    },
    CONDITION: {
        "time": ("time", "clock", "It is a certain time or weekday"),
        "sun": ("time", "sun", "It is before or after sunrise or sunset"),
        "state": ("device", "lightbulb", "A device is in a state"),
        "numeric_state": ("device", "gauge", "A value is within limits"),
        "device": ("device", "radar", "A condition of a device"),
        "presence": ("person", "users", "Somebody is at home or away"),
        "agent": ("assistant", "bot", "The assistant says so"),
        "budget": ("assistant", "coins", "There is money left"),
        "heartbeat": ("assistant", "activity", "There is something to look after"),
        "and": ("other", "list-checks", "All of several conditions"),
        "or": ("other", "git-fork", "Any of several conditions"),
        "not": ("other", "circle-slash", "None of several conditions"),
        "trigger": ("other", "zap", "A certain trigger started it"),
        "template": ("other", "braces", "A template is true"),
    },
    ACTION: {
        "delay": ("time", "hourglass", "Wait for a while"),
        "wait_for_trigger": ("time", "clock", "Wait until something happens"),
        "wait_template": ("time", "braces", "Wait until a template is true"),
        f"{SERVICE}light.turn_on": ("device", "lightbulb", "Turn on a light"),
        f"{SERVICE}light.turn_off": ("device", "lightbulb", "Turn off a light"),
        f"{SERVICE}homeassistant.turn_on": ("device", "power", "Turn on any device"),
        f"{SERVICE}homeassistant.turn_off": ("device", "power", "Turn off any device"),
        f"{SERVICE}homeassistant.toggle": ("device", "power", "Switch a device over"),
        f"{SERVICE}climate.set_temperature": ("device", "thermometer", "Set a temperature"),
        f"{SERVICE}cover.open_cover": ("device", "blinds", "Open blinds or a cover"),
        f"{SERVICE}cover.close_cover": ("device", "blinds", "Close blinds or a cover"),
        f"{SERVICE}lock.lock": ("device", "lock", "Lock a door"),
        f"{SERVICE}media_player.play_media": ("device", "tv", "Play music or a film"),
        f"{SERVICE}media_player.volume_set": ("device", "volume-2", "Set the volume"),
        f"{SERVICE}scene.turn_on": ("device", "palette", "Activate a scene"),
        "device_id": ("device", "radar", "An action of a device"),
        f"{SERVICE}notify.notify": ("message", "bell", "Tell everyone"),
        f"{SERVICE}message.send": ("message", "send", "Send a message to a chat"),
        f"{SERVICE}phone.notify": ("message", "smartphone", "Notify the phones"),
        "set_conversation_response": ("message", "message-circle", "Answer the sentence"),
        f"{SERVICE}agent.run": ("assistant", "bot", "Ask the assistant"),
        f"{SERVICE}memory.add": ("assistant", "brain", "Remember something"),
        "if": ("other", "git-fork", "If … then"),
        "choose": ("other", "git-fork", "Choose"),
        "condition": ("other", "list-checks", "Go on only if"),
        "repeat": ("other", "rotate-ccw", "Repeat"),
        "sequence": ("other", "list", "In order"),
        "parallel": ("other", "layout-grid", "At the same time"),
        "stop": ("other", "square", "Stop"),
        "event": ("other", "zap", "Fire an event"),
        "variables": ("other", "braces", "Set variables"),
        "action": ("other", "play", "Call a service"),
    },
    FIELD: {
        "time": ("time", "clock", "Time of day"),
        "date": ("time", "calendar", "Date"),
        "datetime": ("time", "calendar", "Date and time"),
        "duration": ("time", "hourglass", "Duration"),
        "entity": ("device", "lightbulb", "Entity"),
        "device": ("device", "cable", "Device"),
        "area": ("device", "door-open", "Room"),
        "person": ("person", "user", "Person"),
        "text": ("other", "message-circle", "Text"),
        "number": ("other", "gauge", "Number"),
        "boolean": ("other", "power", "Yes or no"),
        "select": ("other", "list", "One of several"),
        "template": ("other", "braces", "Template"),
        "object": ("other", "file-code", "Anything, as YAML"),
    },
}
"""By what is added: group, icon and text of each tile, those used most first."""
_PRESETS: Mapping[str, Mapping[str, Any]] = {
    "comes_home": {"trigger": "state", "to": "home"},
    "leaves_home": {"trigger": "state", "to": "not_home"},
}
_SERVICE_PRESETS: Mapping[str, Mapping[str, Any]] = {
    f"{SERVICE}agent.run": {"data": {"announce": "last"}},
}
"""What is there from the start beside the service: an answer that went nowhere would be for nobody."""
_DOMAIN_GROUPS = {
    "notify": ("person", "user"),
    "agent": ("assistant", "bot"),
    "memory": ("assistant", "brain"),
    "script": ("other", "play"),
}
_OF_THIS_HOME = frozenset({"notify", "script"})
"""Domains whose services are this home's own people and scripts, but for the general ones."""
_GENERAL = frozenset({"send", "send_message", "reload", "toggle", "turn_on", "turn_off"})


class Tile(Struct, frozen=True):
    """One that can be added.

    Attributes:
        key: By which `item_of` knows it.
        text: A message id, or the description of a service.
        rare: Whether it is shown only when it is searched.
    """

    key: str
    icon: str
    text: str
    rare: bool = False


def tile_groups(what: str, services: Mapping[str, Mapping[str, Any]]) -> Mapping[str, list[Tile]]:
    """Return the tiles of each group.

    Args:
        what: trigger, condition, action or field.
        services: By name, as `service.list` returns them.
    """
    found: dict[str, list[Tile]] = {group: [] for group in TILE_GROUPS}
    for group, tile in _tiles(what, services):
        found[group].append(tile)
    return {group: tiles for group, tiles in found.items() if tiles}


def _tiles(what: str, services: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, Tile]]:
    known, names = TILE_TEXTS[what], kind_names(what)
    for key, (group, icon, text) in known.items():
        if key in names or key in _PRESETS or key.removeprefix(SERVICE) in services:
            yield group, Tile(key, icon, text)
    for key in names:
        if key not in known:
            yield "other", Tile(key, "zap", KIND_NAMES.get(key, key))
    for name, service in services.items() if what == ACTION else ():
        domain, _, rest = name.partition(".")
        if f"{SERVICE}{name}" not in known:
            group, icon = _DOMAIN_GROUPS.get(
                domain, ("device" if "entity_id" in service["fields"] else "other", "play")
            )
            rare = domain not in _OF_THIS_HOME or rest in _GENERAL
            yield group, Tile(f"{SERVICE}{name}", icon, service["description"] or name, rare)


def item_of(what: str, key: str) -> dict[str, Any] | None:
    """Return a new trigger, condition or action for the key of a tile; None when there is no such tile."""
    if what == ACTION and key.startswith(SERVICE):
        return {ACTION: key.removeprefix(SERVICE), **_SERVICE_PRESETS.get(key, {})}
    if what == TRIGGER and key in _PRESETS:
        return dict(_PRESETS[key])
    return fresh(what, key) if key in kind_names(what) else None


def icon_of_card(what: str, kind: str | None, service: str = "") -> str:
    """Return the icon of a card: that of its tile."""
    known = TILE_TEXTS.get(what, {})
    default = "file-code" if kind is None else "git-fork" if what == "option" else "play" if service else "zap"
    return known.get(f"{SERVICE}{service}", known.get(kind or "", ("", default, "")))[1]
