"""Every component in every state: what page owners choose from, and what tests photograph."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from aiohttp import web

from hub.core.surfaces import HttpCall
from web.core.render import RenderedPage, Renderer
from web.core.template_loader import SPRITE

PATH = "/settings/advanced/ui"
WIDGETS: Sequence[tuple[Mapping[str, Any], object]] = (
    ({"name": "text", "label": "Text", "help": "Shown below only where it adds something."}, "Sofa lamp"),
    ({"name": "optional", "label": "Optional text", "optional": True, "placeholder": "Nothing yet"}, None),
    ({"name": "long", "label": "Long text", "widget": "long"}, "Two lines\nor more of them."),
    ({"name": "number", "label": "Number with unit", "widget": "number", "unit": "°C", "min": 5, "max": 30}, 21),
    ({"name": "slider", "label": "Slider", "widget": "slider", "unit": "%"}, 60),
    ({"name": "switch", "label": "Switch", "widget": "switch", "help": "Takes effect at once."}, True),
    ({"name": "select", "label": "Select", "widget": "select", "options": [("a", "First"), ("b", "Second")]}, "b"),
    (
        {
            "name": "segmented",
            "label": "Segmented",
            "widget": "segmented",
            "options": [("ask", "Ask me"), ("safe", "Unless harmless"), ("never", "Never")],
        },
        "ask",
    ),
    ({"name": "days", "label": "Weekdays", "widget": "weekdays"}, ["mon", "tue", "fri"]),
    (
        {
            "name": "choices",
            "label": "Choices",
            "widget": "choices",
            "multiple": True,
            "options": [("read", "Read"), ("write", "Write")],
        },
        ["read"],
    ),
    ({"name": "time", "label": "Time", "widget": "time"}, "07:30"),
    ({"name": "date", "label": "Date", "widget": "date"}, "2026-11-24"),
    ({"name": "duration", "label": "Duration", "widget": "duration"}, "0:30:00"),
    (
        {
            "name": "pick",
            "label": "Entity",
            "widget": "pick",
            "kind": "entity",
            "picked": [{"value": "light.sofa", "text": "Sofa lamp", "icon": "lightbulb", "sub": "on"}],
        },
        "light.sofa",
    ),
    ({"name": "people", "label": "People", "widget": "pick", "kind": "person", "multiple": True}, []),
    ({"name": "secret", "label": "Secret", "widget": "secret", "stored": True}, None),
    ({"name": "template", "label": "Template", "widget": "template", "result": "21.4"}, "{{ states('sensor.hall') }}"),
    ({"name": "list", "label": "List", "widget": "list"}, ["Milk", "Eggs"]),
    ({"name": "mapping", "label": "Mapping", "widget": "mapping"}, {"volume": "0.4"}),
    ({"name": "yaml", "label": "Anything else", "widget": "yaml"}, "message: hello\n"),
)
POINTS = [0.3, 0.35, 0.3, 0.42, 0.5, 0.48, 0.62, 0.7, 0.66, 0.8, 0.74, 0.9, 0.82, 0.7, 0.6, 0.55]


@lru_cache(maxsize=1)
def _icons() -> list[str]:
    return re.findall(r'<symbol id="([^"]+)"', SPRITE.read_text(encoding="utf-8"))


class ComponentsPage:
    """The page."""

    def __init__(self, renderer: Renderer) -> None:
        self._renderer = renderer

    async def show(self, call: HttpCall) -> web.StreamResponse:
        """`GET /settings/advanced/ui`."""
        data = {"widgets": WIDGETS, "points": POINTS, "icons": _icons()}
        return await self._renderer.respond(call, RenderedPage("components", "Components", data, PATH))
