"""Descriptions of what happened: phrases, so that a page can show them in its reader's language. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hub.core.phrases import Phrase, phrase, stored_phrase

_SWITCHED = frozenset({"light", "switch", "fan", "input_boolean", "siren", "humidifier", "remote", "media_player"})
OPENINGS = frozenset({"door", "garage_door", "window", "opening"})
MOTION = frozenset({"motion", "occupancy", "presence", "moving"})
"""Classes of sensors."""


def device_change(name: str, domain: str, device_class: str | None, before: str, state: str) -> Phrase:
    """Return what happened to a device.

    Args:
        name: People's name for it.
        domain: The domain of its entity.
        before, state: Its previous and its new state.
    """
    if domain in _SWITCHED and state in ("on", "off"):
        return phrase("{name} turned on", name=name) if state == "on" else phrase("{name} turned off", name=name)
    if domain == "binary_sensor":
        return _sensed(name, device_class, state == "on")
    match domain, state:
        case ("cover" | "valve", "open"):
            return phrase("{name} opened", name=name)
        case ("cover" | "valve", "closed"):
            return phrase("{name} closed", name=name)
        case "lock", "locked":
            return phrase("{name} was locked", name=name)
        case "lock", "unlocked":
            return phrase("{name} was unlocked", name=name)
        case (("person" | "device_tracker"), "home"):
            return phrase("{name} came home", name=name)
        case (("person" | "device_tracker"), "not_home"):
            return phrase("{name} left home", name=name)
    return phrase("{name} went from {before} to {state}", name=name, before=before, state=state)


def _sensed(name: str, device_class: str | None, is_on: bool) -> Phrase:
    if device_class in MOTION:
        return phrase("{name} saw motion", name=name) if is_on else phrase("{name} sees no motion now", name=name)
    if device_class in OPENINGS:
        return phrase("{name} opened", name=name) if is_on else phrase("{name} closed", name=name)
    return phrase("{name} turned on", name=name) if is_on else phrase("{name} turned off", name=name)


def event_title(type: str, data: Mapping[str, Any]) -> Phrase:
    """Return the sentence for an event of the hub itself."""
    match type:
        case "hub_started":
            return phrase("The hub started")
        case "config_changed":
            return phrase("The settings changed")
        case "config_refused":
            return phrase("Settings with errors were not applied")
        case "budget_reached":
            return phrase("The budget of {name} is used up", name=data.get("automation_id") or data.get("agent_id"))
        case "integration_changed":
            return phrase("{name} does not work", name=data.get("domain"))
        case "logbook_entry":
            return phrase("{name} {message}", name=data.get("name"), message=data.get("message"))
        case "message_dead":
            return phrase("A message on {channel} could not be delivered", channel=data.get("channel"))
        case "voice_failed":
            return phrase("{satellite} could not do what was said", satellite=stored_phrase(data, "name"))
    return phrase("{name} asked to write on {channel}", name=data.get("identity"), channel=data.get("channel"))


def join_values(values: Sequence[Any]) -> str:
    """Return values as one text."""
    return ", ".join(str(each) for each in values)


# --- steps of a run ---


def tool_sentence(name: str, arguments: Mapping[str, Any]) -> Phrase:
    """Return the sentence for a tool call."""
    about = about_call(arguments)
    if not about:
        return phrase("Used {tool}", tool=name)
    if name.startswith("web_"):
        if "url" in arguments:
            return phrase("Read {page}", page=about)
        return phrase("Searched the web for “{words}”", words=about)
    match name:
        case "memory_search":
            return phrase("Searched memory for “{words}”", words=about)
        case "exec" | "bash":
            return phrase("Ran {command}", command=about)
        case "read" | "ls" | "find" | "grep" | "memory_get":
            return phrase("Looked at {file}", file=about)
        case "write" | "edit":
            return phrase("Wrote {file}", file=about)
        case "call_service":
            return phrase("Called {service}", service=about)
    return phrase("Used {tool}: {about}", tool=name, about=about)


def about_call(arguments: Mapping[str, Any]) -> str:
    """Return the subject of a tool call: its command, its words, its file; empty when it has none."""
    if isinstance(arguments.get("domain"), str) and isinstance(arguments.get("service"), str):
        return f"{arguments['domain']}.{arguments['service']}"
    about = next((str(arguments[key]) for key in _ABOUT if isinstance(arguments.get(key), (str, int))), "")
    return about if len(about) <= 80 else f"{about[:80]}…"


_ABOUT = ("command", "query", "url", "path", "service", "pattern", "text", "task", "name", "entity_id")


def tool_kind(name: str) -> str:
    """Return what kind of tool it is: `terminal`, `globe`, `file`, `brain`, `clock`, `lamp`, else `tool`."""
    return _TOOL_KINDS.get(name) or next((kind for start, kind in _BEGINNINGS if name.startswith(start)), "tool")


_TOOL_KINDS = {
    **dict.fromkeys(("exec", "bash", "process"), "terminal"),
    **dict.fromkeys(("read", "write", "edit", "ls", "find", "grep", "apply_patch"), "file"),
    **dict.fromkeys(("schedule", "cron", "intents"), "clock"),
    **dict.fromkeys(("call_service", "get_states", "nodes"), "lamp"),
    "remember": "brain",
}
_BEGINNINGS = (("memory", "brain"), ("web_", "globe"), ("brows", "globe"), ("image", "file"))
