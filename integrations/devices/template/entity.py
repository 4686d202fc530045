"""One template entity: what its templates gave, what was assumed, and what it shows."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from msgspec.structs import replace

from hub.automation.running.plan import RunPlan
from hub.automation.triggers.dependencies import TemplateDependencies
from hub.config.paths import KeyPath
from hub.core.context import SYSTEM, Context
from hub.core.events import Event
from hub.core.phrases import phrase
from hub.core.schema import show
from hub.core.states import STATE_LENGTH_LIMIT
from hub.entities.description import EntityDescription
from hub.entities.entities import Command, EntityHandle, FirstState
from hub.entities.pictures import TakePicture
from hub.template.contract import RenderInfo, TemplateFailed
from hub.template.engine import Template
from hub.template.native import as_bool
from integrations.devices.template.contract import Serve, Settings, TemplateKind, Values
from integrations.devices.template.home import Remembered, TemplateHome
from integrations.devices.template.reading import Unchanged
from integrations.devices.template.schema import object_id

_log = logging.getLogger(__name__)

LOOP_LIMIT = 100
"""How often one is worked out again in one turn of the event loop."""
SHOWN = ("name", "icon", "picture")
AVAILABILITY = "availability"
_THIS = re.compile(r"\bthis\b")
_ICON = re.compile(r"[a-z0-9-]{1,64}:[a-z0-9-]{1,64}")
_NOTHING = RenderInfo()
_FAILED = object()
"""What a template that cannot be rendered gave."""


class TemplateEntity:
    """A template entity; its states follow what its templates read.

    Args:
        home: What all share.
        kind: What it is.
        settings: Its configuration, with the variables of its block.
        unique_id: Tells it from all others.
        keys: Where it is in the configuration.
        triggered: Whether triggers say when it is worked out.
    """

    def __init__(
        self,
        home: TemplateHome,
        kind: TemplateKind,
        settings: Settings,
        unique_id: str,
        keys: KeyPath,
        *,
        triggered: bool = False,
    ) -> None:
        self.home, self.kind, self.settings, self.unique_id = home, kind, settings, unique_id
        self._keys, self.triggered = keys, triggered
        self.values: dict[str, Any] = dict(kind.begin)
        self._shown: dict[str, Any] = {}
        self._attributes: dict[str, Any] = {}
        self._is_available = True
        self._told: set[str] = set()
        self._early: dict[str, str] = {}
        self._results: dict[str, Any] = {}
        self._infos: dict[str, RenderInfo] = {}
        self._outside = False
        self._assumed_by: Context | None = None
        self._own_changes = self._turn = self._turns = 0
        self._is_judged = False
        self.variables: dict[str, Any] = {}
        texts = {key: settings.get(key, each.default) for key, each in kind.templates.items()}
        texts |= {key: settings.get(key) for key in SHOWN}
        texts |= {f"attributes.{key}": text for key, text in (settings.get("attributes") or {}).items()}
        texts = {AVAILABILITY: settings.get(AVAILABILITY), **texts}
        compile = home.parts.templates.compile
        self._templates: dict[str, Template] = {
            key: compile(text) for key, text in texts.items() if isinstance(text, str)
        }
        self._using_this = {key for key, each in self._templates.items() if _THIS.search(each.text)}
        fixed = {key: value for key, value in texts.items() if isinstance(value, float)}
        self.values |= fixed  # durations that are no templates
        wanted = object_id(kind, settings, self._first_name())
        self._name = self._first_name() or wanted.replace("_", " ")
        self._last: tuple[Any, ...] = ()
        self._described = EntityDescription(
            kind.domain,
            unique_id,
            self._name,
            object_id=wanted,
            device_class=settings.get("device_class"),
            unit=settings.get("unit_of_measurement"),
            is_full_name=True,
            picture=self.picture(),
        )
        self.dependencies = TemplateDependencies(home.parts, unique_id, self._changed)
        self.handle: EntityHandle = home.host.entities.add(self._described, self._commands())
        self.handle.endangers = self._endangers

    def place(self, key: str = "") -> str:
        """Return where in the files one of its keys is."""
        return self.home.place((*self._keys, *filter(None, key.split(".", 1))))

    def start(self) -> None:
        """Work it out for the first time, after what is remembered of it."""
        known = self.home.remembered(self.unique_id)
        if known is not None and self.kind.restores(self.settings, self.triggered):
            self.restore(known)
        if not self.triggered:
            self.variables = self._own_variables({"this": self.home.state(self.handle.entity_id)})
            self._work_out(self._templates, None)
        else:
            for key in ("name", "icon", "picture"):
                text = self._templates.get(key)
                if text is not None and "{" not in text.text:
                    self._shown[key] = text.text
            self.write(None)

    def close(self) -> None:
        """Follow nothing any more."""
        self.dependencies.close()

    def restore(self, known: Remembered) -> None:
        """Be what it was."""
        self.values["state"] = known.state
        self._outside = known.tainted
        if self.triggered:
            self._shown = {key: value for key, value in known.shown.items() if key in self.settings}
            wanted = self.settings.get("attributes") or {}
            self._attributes = {key: value for key, value in known.attributes.items() if key in wanted}

    def tell_early(self) -> None:
        """Log what has not worked since the hub began to start."""
        for key, text in self._early.items():
            self._tell(key, text)
        self._early.clear()

    def picture(self) -> TakePicture | None:
        """Return what takes its picture; None for one without."""
        return None

    # --- templates ---

    def update(self, variables: Mapping[str, Any], cause: Context | None, *, tainted: bool) -> None:
        """Work all of it out because of a trigger; where one template fails, it is unavailable."""
        self._outside = tainted
        self._infos.clear()
        seen = {**variables, "this": self.home.state(self.handle.entity_id)}
        self.variables = self._own_variables(seen)
        seen |= self.variables
        found = {key: self._rendered(key, seen) for key in self._templates}
        self._outside |= any(info.outside for info in self._infos.values())
        if _FAILED in found.values():
            self._is_available = False
            self.values, self._attributes = dict(self.kind.begin), {}
        else:
            self._is_available = True
            for key, result in found.items():
                self._take(key, result)
        self.settle(cause, seen)

    def settle(self, cause: Context | None, variables: Mapping[str, Any]) -> None:
        """Show what was worked out."""
        self.write(cause)

    def taken(self, before: Mapping[str, Any], changed: Iterable[str]) -> None:
        """Handle that templates gave something else than before; called before it is shown."""

    def _own_variables(self, seen: Mapping[str, Any]) -> dict[str, Any]:
        """Return its variables, rendered each with those before it."""
        found: dict[str, Any] = {}
        for name, value in (self.settings.get("variables") or {}).items():
            place = f"{self.place('variables')}.{name}"
            try:
                found[name] = self.home.parts.templates.render_value(value, {**seen, **found}, place)
            except TemplateFailed as error:
                self._tell(f"variables.{name}", error.message)
        return found

    def _changed(self, event: Event | None) -> None:
        """Work out again what read something that has changed."""
        if event is None:
            touched = [key for key, info in self._infos.items() if info.uses_time]
        else:
            entity_id = event.data["entity_id"]
            touched = [
                key
                for key, info in self._infos.items()
                if entity_id in info.entities or info.domains or info.all_states
            ]
        if (turn := self.home.turn()) != self._turn:
            self._turn, self._turns = turn, 0
        self._turns += 1
        if self._turns > LOOP_LIMIT:
            self._tell("loop", phrase("it changes because of its own changes, without end; it was left as it is"))
            return
        self._work_out(touched, event)

    def _work_out(self, keys: Iterable[str], event: Event | None) -> None:
        entity_id = self.handle.entity_id
        variables = {"this": self.home.state(entity_id), **self.variables}
        changed: dict[str, Any] = {}
        keys = [*keys]
        if AVAILABILITY in keys and self._differs(AVAILABILITY, variables, changed):
            keys = [*self._templates]  # what is available again may have changed meanwhile
        hidden = AVAILABILITY in self._templates and self._results[AVAILABILITY] is not _FAILED
        hidden = hidden and not as_bool(self._results[AVAILABILITY])
        for key in keys if not hidden else ():
            if key != AVAILABILITY:
                self._differs(key, variables, changed)
        self.dependencies.depend_on(_together(self._infos.values()))
        if not changed and event is not None:
            return
        self._own_changes = self._own_changes + 1 if event and event.data["entity_id"] == entity_id else 0
        if self._own_changes > len(self._templates):
            self._tell("loop", phrase("it changes because of its own changes, without end; it was left as it is"))
            return
        before = dict(self.values)
        for key, result in changed.items():
            self._take(key, result)
        self.taken(before, changed)
        self._outside = any(info.outside for info in self._infos.values())
        if "state" in changed:
            self._assumed_by = None
        self.write(event.context if event is not None else None)

    def _differs(self, key: str, variables: Mapping[str, Any], changed: dict[str, Any]) -> bool:
        """Render a template; return whether it gave something else than the last time, which is put into `changed`."""
        result = self._rendered(key, variables)
        last = self._results.get(key, self)
        if last is not self and type(last) is type(result) and last == result:
            return False
        self._results[key] = changed[key] = result
        return True

    def _rendered(self, key: str, variables: Mapping[str, Any]) -> Any:
        parse = not self.triggered or key not in ("state", "last_reset", *SHOWN)
        try:
            result, info = self._templates[key].render_info(variables, parse_result=parse)
        except TemplateFailed as error:
            self._tell(key, error.message)
            result, info = _FAILED, error.info
        else:
            self._early.pop(key, None)
        if key in self._using_this:
            mine = self.home.state(self.handle.entity_id)
            outside = info.outside or (mine is not None and mine.context.authority.tainted)
            info = replace(info, entities=info.entities | {self.handle.entity_id}, outside=outside)
        if info != _NOTHING:
            self._infos[key] = info
        else:
            self._infos.pop(key, None)
        return result

    def _take(self, key: str, result: Any) -> None:
        """Take over what a template gave."""
        failed = result is _FAILED
        if key == AVAILABILITY:
            self._is_available = failed or as_bool(result)
        elif key in SHOWN:
            self._shown[key] = None if failed else self._readable(key, result)
        elif key.startswith("attributes."):
            self._attributes[key.partition(".")[2]] = None if failed else result
        else:
            field = self.kind.templates[key]
            if field.is_state and AVAILABILITY not in self._templates:
                self._is_available = not failed
            if failed:
                self.values |= field.broken if field.broken is not None else field.failed
                return
            try:
                self.values |= field.read(result, self.settings, self.values)
            except ValueError as error:
                self._tell(key, str(error))
                self.values |= {} if isinstance(error, Unchanged) else field.failed

    def _readable(self, key: str, result: Any) -> str | None:
        text = "" if result is None else str(result)
        if key == "icon" and text.strip() and not _ICON.fullmatch(text):
            self._tell(key, phrase("expected an icon such as mdi:fan, got {value}", value=show(text)))
            return None
        return text or None

    def _tell(self, key: str, text: str) -> None:
        """Log what is wrong with a key, once; what cannot be found while the hub starts may still come."""
        if key in self._told:
            return
        if self.home.is_starting:
            self._early[key] = text
            return
        self._told.add(key)
        _log.warning("%s (%s): %s", self.handle.entity_id, self.place(key if key != "loop" else ""), text)

    # --- what it shows ---

    def write(self, cause: Context | None) -> None:
        """Show what is known of it now, because of something."""
        shown = self.kind.show(self.settings, self.values)
        state = shown.state
        if state is not None and len(state) > STATE_LENGTH_LIMIT:
            self._tell("state", phrase("a state has at most {most} characters", most=STATE_LENGTH_LIMIT))
            state = None
        picture = {"entity_picture": self._shown["picture"]} if self._shown.get("picture") else {}
        name, icon = self._shown.get("name") or self._name, self._shown.get("icon")
        if (name, icon, fixed := {**shown.fixed, **picture}) != self._last:
            self._last = (name, icon, fixed)
            self._described = replace(self._described, name=name, icon=icon, attributes=fixed)
        tainted = self._outside or (self._assumed_by is not None and self._assumed_by.authority.tainted)
        context = Context(SYSTEM.narrow(tainted=tainted))
        if cause is not None:
            context = Context(context.authority, cause.id, cause.parent_id)
        now = FirstState(state, {**self._attributes, **shown.attributes}, context)
        self.handle.become(self._described, now, is_available=self._is_available)
        if self.kind.restores(self.settings, self.triggered):
            self.home.remember(self.unique_id, self.remembered(tainted=tainted) if state is not None else None)

    def remembered(self, *, tainted: bool) -> Remembered | None:
        """Return what is to be known of it after a restart."""
        if not self._is_available:
            return None
        if not self.triggered:
            return Remembered(self.values.get("state"), tainted=tainted)
        return Remembered(self.values.get("state"), dict(self._shown), dict(self._attributes), tainted=tainted)

    def _first_name(self) -> str:
        """Return its name before anything is known, which its id is made of."""
        template = self._templates.get("name")
        try:
            return str(template.render({"this": None}, parse_result=False)) if template is not None else self.kind.name
        except TemplateFailed:
            return self.kind.name

    # --- services ---

    def _commands(self) -> Mapping[str, Command]:
        plans = {
            key: RunPlan("template", f"{self.kind.domain} {self.unique_id} {key}", self.place(key), self.settings[key])
            for key in self.kind.actions
            if key in self.settings
        }
        return {name: self._command(serve, plans) for name, serve in self.kind.services(self.settings).items()}

    def _endangers(self) -> bool:
        """Whether its actions do what an agent asks about."""
        if self._is_judged:  # it is among what its own actions move
            return False
        self._is_judged = True
        try:
            steps = [self.settings[key] for key in self.kind.actions if key in self.settings]
            return self.home.endanger(steps)
        finally:
            self._is_judged = False

    def _command(self, serve: Serve, plans: Mapping[str, RunPlan]) -> Command:
        async def command(data: Mapping[str, Any]) -> Mapping[str, Any] | None:
            cause = self.handle.cause or Context(SYSTEM)
            now = datetime.fromtimestamp(self.home.clock.time(), UTC).isoformat()
            step = serve(self.settings, self.values, {**data, "now": now})
            if step.at_once:
                self._assume(step.assumed, cause)
            for key, variables in step.runs:
                if key in plans:
                    seen = {"this": self.home.state(self.handle.entity_id), **self.variables, **variables}
                    await self.home.run(plans[key], seen, cause)
            if not step.at_once:
                self._assume(step.assumed, cause)
            return step.answer

        return command

    def _assume(self, values: Values, cause: Context) -> None:
        if values:
            self.values |= values
            self._assumed_by = cause
            self.write(cause)


def _together(infos: Iterable[RenderInfo]) -> RenderInfo:
    """Return what several templates looked at."""
    found = [*infos]
    if len(found) == 1:
        return found[0]
    return RenderInfo(
        frozenset().union(*(each.entities for each in found)),
        frozenset().union(*(each.domains for each in found)),
        any(each.all_states for each in found),
        any(each.uses_time for each in found),
    )
