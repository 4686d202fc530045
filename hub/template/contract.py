"""The interface of templates: the error, the dependencies of a rendering, and what counts as a template."""

from __future__ import annotations

from msgspec import Struct

from hub.core.errors import HubError

SHOWN_CHARS = 80
"""An error shows so much of its template."""

HUB_FUNCTIONS = frozenset({"memory_search", "memory_get", "sessions", "session"})
"""Functions that the hub adds to those of `docs/templates.md`; the check of the configuration knows them by name."""


REGISTRY_FUNCTIONS = frozenset(
    {
        *("areas", "area_id", "area_name", "area_entities", "area_devices"),
        *("floors", "floor_id", "floor_name", "floor_areas", "floor_entities"),
        *("labels", "label_id", "label_name", "label_description", "label_areas", "label_devices", "label_entities"),
        *("device_id", "device_name", "device_entities", "device_attr", "is_device_attr"),
        *("integration_entities", "is_hidden_entity"),
    }
)
"""Functions and filters over the registries of the home; those that begin with `is_` are tests too."""


class RenderInfo(Struct, frozen=True):
    """The dependencies of a rendering, by which a trigger knows when to render again.

    Attributes:
        entities: Entity ids that were looked at, existing or not.
        domains: Domains whose entities were counted or iterated.
        all_states: Whether all states were iterated.
        uses_time: Whether the time of day or an age was used.
        outside: Whether a state was looked at that somebody else than an owner or the hub itself brought about.
    """

    entities: frozenset[str] = frozenset()
    domains: frozenset[str] = frozenset()
    all_states: bool = False
    uses_time: bool = False
    outside: bool = False


class TemplateFailed(HubError):
    """A template cannot be compiled or rendered; the message names the template, the line and the variable.

    Args:
        message: The problem.
        text: The template; its first 80 characters are shown.
        name: Its place, such as `automation morning, actions[0].data.message`.
        line: The line inside the template, from 1; 0 when not known.

    Attributes:
        info: What it had looked at until it failed.
    """

    info = RenderInfo()
    code = "TEMPLATE_FAILED"
    http_status = 400

    def __init__(self, message: str, *, text: str = "", name: str = "", line: int = 0) -> None:
        self.reason = message
        self.line = line
        shown = " ".join(text.split())
        shown = shown if len(shown) <= SHOWN_CHARS else f"{shown[:SHOWN_CHARS]}…"
        where = f"the template of {name}" if name else "the template"
        where = f"{where} `{shown}`" if shown else where
        where = f"{where}, line {line}" if line else where
        details = {"reason": message, "name": name, "template": shown, "line": line}
        super().__init__(f"{where}: {message}", details=details)


class NeedsWaiting(TemplateFailed):
    """It calls a slow function, such as a memory search, and was rendered without waiting for one."""


def is_template(text: str) -> bool:
    """Return whether a text contains template syntax: `{{`, `{%` or `{#`."""
    return "{" in text and ("{{" in text or "{%" in text or "{#" in text)
