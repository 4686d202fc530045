"""Reads payloads by the templates of a device, which see this payload and nothing else of the home.

They come from outside: their engine has no states, no functions of the hub and narrow limits.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from datetime import tzinfo
from typing import Any

from hub.core.clock import Clock
from hub.core.events import EventBus
from hub.core.states import StateMachine
from hub.core.tasks import TaskOwner
from hub.template.engine import TemplateEngine
from hub.template.work import TemplateLimits

Read = Callable[[bytes], str]
_NAME = r"(?:\.[A-Za-z_]\w*|\[\s*'[^'\\]+'\s*\]|\[\s*\"[^\"\\]+\"\s*\])"
_PATH = re.compile(rf"\{{\{{-?\s*value_json(?P<path>{_NAME}{{1,6}})\s*-?\}}\}}")
_STEP = re.compile(r"\.(\w+)|\[\s*'([^']+)'\s*\]|\[\s*\"([^\"]+)\"\s*\]")
_LIMITS = TemplateLimits(
    source_chars=4_096, output_chars=65_536, text_chars=65_536, total_chars=500_000, steps=20_000, cpu_s=0.02
)
_MISSING: Any = object()


class PayloadTemplates:
    """Compiles the templates of devices."""

    def __init__(self, clock: Clock, zone: Callable[[], tzinfo]) -> None:
        nothing = StateMachine(EventBus(TaskOwner("mqtt templates"), clock.time), clock.time)
        self._engine = TemplateEngine(nothing, clock, zone, limits=_LIMITS)
        self._last: tuple[bytes, Any] = (b"", None)

    def load(self) -> None:
        """Import what the first template needs, which takes a tenth of a second; for a thread."""
        self._engine.compile("{{ value }}").render({"value": ""})

    def reader(self, text: str | None, name: str, encoding: str = "utf-8", **variables: Any) -> Read:
        """Return a reader of payloads: with a template, or unchanged without one.

        The reader raises `TemplateFailed`, or `UnicodeDecodeError` for a payload that is not text.

        Args:
            name: The template's place, for errors.
            variables: Further variables of the template beside `value` and `value_json`.
        """
        if not text:
            return lambda payload: payload.decode(encoding)
        if (found := _PATH.fullmatch(text.strip())) is not None:
            return self._path([next(filter(None, each)) for each in _STEP.findall(found["path"])])
        template = self._engine.compile(text, name)

        def read(payload: bytes) -> str:
            value = payload.decode(encoding)
            seen = {**variables, "value": value, "value_json": self.as_json(payload)}
            return str(template.render(seen, parse_result=False))

        return read

    def command(self, text: str | None, name: str) -> Callable[[Mapping[str, Any]], str]:
        """Return a maker of payloads; the template sees the value as `value`, among others."""
        if not text:
            return lambda variables: _plain(variables["value"])
        template = self._engine.compile(text, name)
        return lambda variables: str(template.render(variables, parse_result=False))

    def as_json(self, payload: bytes) -> Any:
        """Return a payload read as JSON, None when it is none; the components of a device read the same one."""
        if payload is not self._last[0]:
            try:
                self._last = (payload, json.loads(payload))
            except (ValueError, RecursionError):
                self._last = (payload, None)
        return self._last[1]

    def _path(self, steps: list[str]) -> Read:
        """The most common template without an engine: `{{ value_json.a.b }}`."""

        def read(payload: bytes) -> str:
            value = self.as_json(payload)
            for step in steps:
                value = value.get(step, _MISSING) if isinstance(value, dict) else _MISSING
                if value is _MISSING:
                    return ""
            return str(value)

        return read


def _plain(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, str) else json.dumps(value) if isinstance(value, dict | list) else str(value)
