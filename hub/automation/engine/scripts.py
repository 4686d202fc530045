"""The section `script`: sequences of actions that are services, applied and removed one by one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from hub.automation.contract import RunOutcome
from hub.automation.definition.fields import variables
from hub.automation.definition.registry_ids import NamedIds
from hub.automation.definition.values import some_or_all
from hub.automation.engine.script import Script, ScriptEnvironment
from hub.automation.running.execute import RunEnd
from hub.automation.running.signals import ScriptStopped, error_text
from hub.config.checked import Config
from hub.core.errors import Conflict, HubError, InvalidRequest, NotFound
from hub.core.events import Unsubscribe
from hub.core.phrases import phrase
from hub.core.schema import Optional, Required, Schema, SchemaError, describe_error
from hub.core.services import AgentRule, ResponseMode, ServiceCall
from hub.entities.danger import steps_endanger

SECTION = "script"
EVENT_RELOADED = "script_reloaded"
REPAIRS = "script"
RESERVED = frozenset({"turn_on", "turn_off", "toggle", "reload"})
OFF = phrase("it was turned off")
"""Why its runs end when a script is turned off."""
_BAD = frozenset({RunOutcome.FAILED, RunOutcome.TIMED_OUT, RunOutcome.INTERRUPTED})

Expand = Callable[[Mapping[str, Any]], dict[str, Any]]


class ScriptFailed(HubError):
    """A script that was called failed; the message says where and why."""

    code = "SCRIPT_FAILED"


class Scripts:
    """Holds every script.

    Args:
        environment: The shared dependencies of scripts.
        expand: Makes a script of one that uses a blueprint; raises `Invalid`.
    """

    def __init__(self, environment: ScriptEnvironment, expand: Expand) -> None:
        self._environment = environment
        self._parts = environment.parts
        self._expand = expand
        self._scripts: dict[str, Script] = {}
        self._sources: dict[str, Mapping[str, Any]] = {}
        self._broken: dict[str, str] = {}
        self._services: dict[str, Unsubscribe] = {}
        self._common: list[Unsubscribe] = []
        self._applying = asyncio.Lock()
        self.moves: Callable[[str], bool] = lambda _: False
        """Returns whether what an entity does by itself is asked about."""
        self._ids = NamedIds(self._parts.ids, self._make_again)

    # --- life ---

    async def open(self, config: Config) -> None:
        """Register the scripts, then resume the runs that a stop or a crash cut off."""
        # Looked up before any script can be called, since a run started later was not interrupted.
        cut_off = await self._environment.waiting.load() if self._environment.waiting is not None else []
        self._register_common()
        await self.apply(config)
        self._ids.listen(self._parts.bus)
        for waiting in cut_off:
            if waiting.owner_kind == SECTION:
                await waiting.go_on(self._scripts.get(waiting.owner_id), self._parts, self._environment.traces)

    async def close(self) -> None:
        """Remove all services; active runs are interrupted with the tasks of the parts."""
        self._ids.close()
        for remove in (*self._services.values(), *self._common):
            remove()
        self._services.clear()
        self._common.clear()

    async def apply(self, config: Config, *, again: bool = False) -> list[str]:
        """Apply the section; only what changed is touched.

        Args:
            again: Expand blueprints again even if the section has not changed.

        Returns:
            Keys of those that are new, changed or removed.
        """
        async with self._applying:
            wanted: Mapping[str, Mapping[str, Any]] = config.get(SECTION) or {}
            changed = []
            for key, item in wanted.items():
                if self._sources.get(key) == item and not (again and "use_blueprint" in item):
                    continue
                await self._put(key, item)
                changed.append(key)
            changed += await self._put_broken(config, wanted)
            for key in [key for key in self._sources if key not in wanted]:
                del self._sources[key]
                if key not in self._broken:
                    await self._drop(key)
                    self._parts.states.remove(f"{SECTION}.{key}")
                    changed.append(key)
            if changed:
                self._parts.bus.fire(EVENT_RELOADED, {"changed": changed})
            return changed

    # --- asking ---

    def all(self) -> list[Script]:
        """Return the loaded scripts by key."""
        return [self._scripts[key] for key in sorted(self._scripts)]

    def broken(self) -> Mapping[str, str]:
        """Return the reasons why scripts are unavailable, by key."""
        return dict(self._broken)

    def get(self, name: str) -> Script:
        """Return a script by its key or its entity id.

        Raises:
            NotFound: It does not exist.
        """
        script = self._scripts.get(name.removeprefix(f"{SECTION}."))
        if script is None:
            raise NotFound(f"there is no script {name}", details={"script": name})
        return script

    async def call(self, key: str, call: ServiceCall) -> Mapping[str, Any]:
        """Run a script to its end and return its response.

        Raises:
            ScriptStopped: It ended with `stop` and `error: true`.
            ScriptFailed: It failed otherwise, or took longer than its timeout.

        Cancelling it ends the run.
        """
        going = self.get(key).begin(call.data, call.context)
        if going is None:
            return {}
        if call.notes is not None:
            call.notes["run_id"] = going.run.id
            call.notes["automation_id"] = going.run.plan.trace_id
        try:
            await asyncio.wait((going.task,))
        except asyncio.CancelledError:
            going.run.cancel(phrase("its caller was ended"))
            raise
        if going.run.context.authority.tainted:
            call.taint()  # what it read goes on in what it answers
        if going.task.cancelled():
            return {}
        return _answer(key, going.task.result())

    # --- inside ---

    def _endangers(self, key: str) -> bool:
        """Whether a script uses what an agent asks about."""

        def steps_of(key: str) -> Any:
            return self._scripts[key].config if key in self._scripts else None

        return steps_endanger(steps_of(key), self._parts.states.get, steps_of, frozenset({key}), self.moves)

    def _make_again(self, keys: list[str]) -> None:
        self._parts.tasks.spawn(self._put_again(keys), name="make scripts again")

    async def _put_again(self, keys: list[str]) -> None:
        async with self._applying:
            for key in [each for each in keys if each in self._scripts]:
                await self._put(key, self._sources[key])

    async def _put(self, key: str, item: Mapping[str, Any]) -> None:
        await self._drop(key)
        self._sources[key] = item
        try:
            if key in RESERVED:
                raise Conflict(f"script.{key} is a service of its own; give the script another name")
            whole = self._expand(item) if "use_blueprint" in item else item
            script = Script(key, self._ids.filled(key, whole), self._environment)
        except (HubError, SchemaError) as error:
            text = error_text(error)
            self._break(key, text)
            self._parts.repairs.raise_(REPAIRS, key, phrase("The script {script} is unavailable", script=key), text)
            return
        self._scripts[key] = script
        self._services[key] = self._parts.services.register(
            SECTION,
            key,
            lambda call: self.call(key, call),
            script.schema,
            ResponseMode.OPTIONAL,
            AgentRule.ALLOW if script.config.get("expose") else AgentRule.NEVER,
            description=script.config.get("description") or script.plan.alias,
            fields={name: field or {} for name, field in script.config["fields"].items()},
            prepare=lambda data: (data, self._endangers(key)),
        )
        script.show()

    async def _put_broken(self, config: Config, wanted: Mapping[str, Any]) -> list[str]:
        """Show a script that the check rejected as unavailable, with its error."""
        changed = []
        broken = {str(key): errors for key, errors in config.broken_items.get(SECTION, {}).items()}
        for key, errors in broken.items():
            text = "; ".join(f"{error.path}: {error.message}" for error in errors)
            if self._broken.get(key) == text:
                continue
            await self._drop(key)
            self._sources.pop(key, None)
            self._break(key, text)
            changed.append(key)
        for key in [key for key in self._broken if key not in broken and key not in wanted]:
            await self._drop(key)
            self._parts.states.remove(f"{SECTION}.{key}")
            changed.append(key)
        return changed

    def _break(self, key: str, text: str) -> None:
        self._broken[key] = text
        self._parts.states.set(f"{SECTION}.{key}", "unavailable", {"friendly_name": key, "error": text[:500]})

    async def _drop(self, key: str) -> None:
        """Remove a script, working or broken."""
        self._ids.forget(key)
        if self._broken.pop(key, None) is not None:
            self._parts.repairs.clear(REPAIRS, key)
        remove = self._services.pop(key, None)
        if remove is not None:
            remove()
        script = self._scripts.pop(key, None)
        if script is not None:
            await script.stop(phrase("its definition was changed"))

    def _register_common(self) -> None:
        """Register `script.turn_on` (which does not wait), `turn_off`, `toggle`."""
        named: dict[Any, Any] = {Required("entity_id", description="Scripts by entity id."): some_or_all}
        given: dict[Any, Any] = {Optional("variables", default=dict, description="Variables of the run."): variables}
        for name, handler, schema, description in (
            ("turn_on", self._turn_on, Schema({**named, **given}), "Start scripts without waiting for them."),
            ("turn_off", self._turn_off, Schema(named), "Stop scripts."),
            ("toggle", self._toggle, Schema({**named, **given}), "Stop scripts that are running, start the others."),
        ):
            self._common.append(self._parts.services.register(SECTION, name, handler, schema, description=description))

    async def _turn_on(self, call: ServiceCall) -> None:
        for script in self._named(call):
            self._begin(script, call)
        await asyncio.sleep(0)  # each runs to its first wait before the caller goes on, as in Home Assistant

    async def _turn_off(self, call: ServiceCall) -> None:
        for script in self._named(call):
            await script.stop(OFF)

    async def _toggle(self, call: ServiceCall) -> None:
        for script in self._named(call):
            if script.current:
                await script.stop(OFF)
            else:
                self._begin(script, call)
        await asyncio.sleep(0)

    def _named(self, call: ServiceCall) -> list[Script]:
        names: list[str] | str = call.data["entity_id"]
        if isinstance(names, str):
            return self.all() if names == "all" else []
        return [self.get(name) for name in names]

    def _begin(self, script: Script, call: ServiceCall) -> None:
        try:
            given = script.schema(dict(call.data["variables"]))
        except SchemaError as error:
            raise InvalidRequest(f"{script.entity_id}: {describe_error(error)}") from error
        going = script.begin(given, call.context)
        if going is not None and call.notes is not None:
            call.notes["run_id"] = going.run.id
            call.notes["automation_id"] = going.run.plan.trace_id


def _answer(key: str, ended: RunEnd) -> Mapping[str, Any]:
    if ended.outcome is RunOutcome.FAILED and ended.failure is None:
        raise ScriptStopped(
            phrase("{script} failed: {error}", script=f"script.{key}", error=ended.error), details={"script": key}
        )
    if ended.outcome in _BAD:
        raise ScriptFailed(
            phrase("{script} failed: {error}", script=f"script.{key}", error=ended.error),
            details={"script": key, "outcome": ended.outcome.value},
        )
    if isinstance(ended.response, Mapping):
        return ended.response
    return {} if ended.response is None else {"response": ended.response}
