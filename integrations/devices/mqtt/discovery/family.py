"""Descriptions of kinds of components: the topics they read and write, and the conversion of values."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

from msgspec import Struct

Config = Mapping[str, Any]
Command = Callable[[Mapping[str, Any]], Awaitable[None]]
STATE = "state"
NONE = "None"
"""A payload that says that the value is not known."""


class TopicReading(Struct, frozen=True):
    """A topic that is read.

    Attributes:
        topic: The key that names it.
        template: The key of the template that picks the value.
        into: The attribute that gets the value; the state for `STATE`.
        convert: Makes the value of a text; None is not known. `ValueError` means that the text is nothing it may be.
        take: Does something else with the text than to set `into`; it is called with the entity.
    """

    topic: str
    template: str
    into: str = STATE
    convert: Callable[[str, Config], Any] = lambda value, _: value
    take: Callable[[Any, str], None] | None = None


class TopicWriting(Struct, frozen=True):
    """A service that publishes on a topic.

    Attributes:
        service: Its name without the domain.
        topic: The key that names the topic; without it the entity does not have the service.
        template: The key of the template that makes the payload.
        field: The key of the data that is sent; nothing when the payload is always the same.
        payload: The key of the payload that is always the same, and its default; None in it means no such service.
        convert: Makes of the value what is sent.
        into: The attributes set when nothing confirms a command.
        state: The key of the topic that confirms a command.
        shown: The value of `into`, when it is not the sent value.
    """

    service: str
    topic: str = "command_topic"
    template: str = "command_template"
    field: str = ""
    payload: tuple[str, Any] = ("", "")
    convert: Callable[[Any, Config], Any] = lambda value, _: value
    into: str = ""
    state: str = "state_topic"
    shown: Any = None


class Family(Struct, frozen=True):
    """A kind of component.

    Attributes:
        attributes: Attributes of its capability, and the keys and defaults they come from.
        further: Returns commands of an entity that no table describes.
        large: Whether it reads pictures.
    """

    readings: tuple[TopicReading, ...] = ()
    writings: tuple[TopicWriting, ...] = ()
    attributes: Mapping[str, tuple[str, Any]] = {}
    further: Callable[[Any], Mapping[str, Command]] | None = None
    large: bool = False


def setting(
    name: str,
    *,
    into: str = "",
    service: str = "",
    field: str = "",
    template: str = "state_template",
    read: Callable[[str, Config], Any] | None = None,
    sent: Callable[[Any, Config], Any] = lambda value, _: value,
) -> tuple[TopicReading, TopicWriting]:
    """Return how a value with topics of its own is read and written: `fan_mode`, `percentage`, …

    Args:
        name: The beginning of its keys.
        into: The attribute that it is, `name` by default.
        service, field: What sets it, and the key of the data; `set_<name>` and the rest of the service's name.
        template: The end of the key of its template.
    """
    service = service or f"set_{name}"
    state, field = f"{name}_state_topic", field or service.removeprefix("set_")
    return (
        TopicReading(state, f"{name}_{template}", into or name, read or read_known),
        TopicWriting(
            service, f"{name}_command_topic", f"{name}_command_template", field, ("", ""), sent, into or name, state
        ),
    )


def table(
    readings: Iterable[TopicReading],
    settings: Iterable[tuple[TopicReading, TopicWriting]],
    writings: Iterable[TopicWriting] = (),
    attributes: Mapping[str, tuple[str, Any]] | None = None,
    further: Callable[[Any], Mapping[str, Command]] | None = None,
) -> Family:
    """Return a kind of component with settings."""
    pairs = list(settings)
    read = (*readings, *(each for each, _ in pairs))
    return Family(read, (*writings, *(each for _, each in pairs)), attributes or {}, further)


def json_object(value: str, key: str = "") -> dict[str, Any]:
    """Read a JSON object; with `key`, what is none is the value of that key.

    Raises:
        ValueError: It is not one, and there is no key.
    """
    try:
        said = json.loads(value)
    except (ValueError, RecursionError):
        said = value
    if isinstance(said, dict):
        return said
    if not key:
        raise ValueError("expected a JSON object")
    return {key: said}


def read_known(value: str, _: Config) -> str | None:
    """Read a word as it is."""
    return None if value == NONE else value


def on_off(value: str, config: Config) -> str | None:
    """Read `on` or `off` by the payloads of a configuration."""
    if value == NONE:
        return None
    if value == str(config.get("state_on", config.get("payload_on", "ON"))):
        return "on"
    if value == str(config.get("state_off", config.get("payload_off", "OFF"))):
        return "off"
    raise ValueError(f"{value[:50]!r} is neither on nor off")


def number(value: str, _: Config) -> float | int | None:
    """Read a number."""
    if value in (NONE, ""):
        return None
    found = float(value)
    if found != found or abs(found) == float("inf"):
        raise ValueError(f"{value[:50]!r} is not a number")
    return int(found) if found.is_integer() else found


def one_of(key: str) -> Callable[[str, Config], Any]:
    """Return a reader for one of the words under a key."""

    def read(value: str, config: Config) -> str | None:
        if value == NONE:
            return None
        choices = config.get(key)
        if choices and value not in choices:
            raise ValueError(f"{value[:50]!r} is none of the {key}")
        return value

    return read


def words(table: Mapping[str, tuple[str, str]]) -> Callable[[str, Config], Any]:
    """Return a reader of states by their payloads: `{state: (key of its payload, default)}`."""

    def read(value: str, config: Config) -> str | None:
        if value == config.get("payload_reset", NONE):
            return None
        for state, (key, default) in table.items():
            if value == str(config.get(key, default)):
                return state
        raise ValueError(f"{value[:50]!r} is not a state")

    return read
