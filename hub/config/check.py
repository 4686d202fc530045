"""Checks the configuration: every section against its schema, then the checks that span sections.

Broken parts are left out of the result and reported as errors; only a root file that cannot be read and a critical
section make it a matter of recovery mode.
"""

from __future__ import annotations

import gc
import logging
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hub.config.checked import Checked, Config
from hub.config.errors import ERROR_LIMIT, ConfigError
from hub.config.explain import as_written
from hub.config.loader import Loaded, ParseCache, load
from hub.config.marks import BROKEN, ConfigList, ConfigMapping, mark_of
from hub.config.paths import Key, KeyPath
from hub.config.section_check import SectionCheck, Validated
from hub.config.sections import SchemaProblem, Section, Sections
from hub.config.suggest import did_you_mean, nearest
from hub.core.json_schema import to_json_schema
from hub.core.phrases import phrase
from hub.core.schema import Schema
from hub.core.secret import Secret

__all__ = ["CheckCache", "Checked", "Config", "check", "check_loaded"]

_log = logging.getLogger(__name__)

STAYS_FROM = 50_000
"""Objects that a check made; fewer are looked through in a few milliseconds."""


class CheckCache:
    """Results of the last check of the same directory for reuse: items read, items validated."""

    def __init__(self) -> None:
        self.parsed = ParseCache()
        self._last: dict[tuple[str, int], tuple[Any, Section, Validated]] = {}
        self._next: dict[tuple[str, int], tuple[Any, Section, Validated]] = {}

    def validated(self, section: Section, item: Any) -> Validated | None:
        """Return the value of an item that is the same object as last time."""
        found = self._last.get((section.name, id(item)))
        if found is None or found[0] is not item or found[1].schema is not section.schema:
            return None
        return found[2]

    def keep(self, section: Section, item: Any, found: Validated) -> None:
        """Remember an item, for the next check."""
        self._next[(section.name, id(item))] = (item, section, found)

    def turn(self) -> None:
        """End a check: unused entries are forgotten."""
        self._last, self._next = self._next, {}


def check(
    home_dir: str | os.PathLike[str],
    sections: Sections,
    *,
    overrides: Mapping[str, str] | None = None,
    environment: Mapping[str, str] | None = None,
    cache: CheckCache | None = None,
) -> Checked:
    """Read and check the configuration of a home directory; never raises for what is in the files.

    Args:
        home_dir: The directory with `configuration.yaml`.
        sections: Its sections.
        overrides: Texts that replace files, by name; nothing is written.
        environment: For `!env_var`; the process's own without it.
        cache: The cache of the last check of this directory.
    """
    parsed = cache.parsed if cache is not None else None
    with _without_collector():
        loaded = load(home_dir, overrides=overrides, environment=environment, cache=parsed)
        return check_loaded(loaded, sections, cache, Path(home_dir))


def check_loaded(
    loaded: Loaded, sections: Sections, cache: CheckCache | None = None, home: Path | None = None
) -> Checked:
    """Check what was read; see `check`."""
    with sections.within():
        return _Check(loaded, sections, cache or CheckCache(), home).run()


@contextmanager
def _without_collector() -> Iterator[None]:
    """Suspend garbage collection: what is built here has no cycles, and collecting costs half the time.

    It would be made up for at once, with the interpreter held all the while; so what is much is counted as what stays.
    """
    was_enabled = gc.isenabled()
    before = gc.get_count()[0]
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            if gc.get_count()[0] - before > STAYS_FROM:
                gc.freeze()
            gc.enable()


class _Check:
    def __init__(self, loaded: Loaded, sections: Sections, cache: CheckCache, home: Path | None) -> None:
        self._loaded = loaded
        self._home = home
        self._sections = sections
        self._cache = cache
        self._errors = list(loaded.errors)
        self._warnings = list(loaded.warnings)
        self._may_be_broken = bool(loaded.errors)
        self._values: dict[str, Any] = {}
        self._defaults: dict[str, Any] = {}
        self._broken: dict[str, list[ConfigError]] = {}
        self._broken_items: dict[str, dict[Key, list[ConfigError]]] = {}
        self._kept: dict[str, list[Key]] = {}
        self._secrets: list[Secret] = []

    def run(self) -> Checked:
        data = self._loaded.data
        for section in self._sections.core():
            default = self._default(section)
            self._defaults[section.name] = default
            if section.name in data:
                self._section(section, data[section.name], default)
            else:
                self._values[section.name] = default
        for name in data:
            if not self._sections.is_core(name):
                self._other(name)
        if not self._loaded.readable:
            self._values.clear()
        config = self._config()
        self._cross_checks(config)
        self._cache.turn()
        config = self._config()
        return Checked(config, list(config.errors), self._warnings[:ERROR_LIMIT])

    def _default(self, section: Section) -> Any:
        return None if section.default is None else section.validate(section.default)

    def _other(self, name: str) -> None:
        """Check a section that is not the hub's own: an integration's, or one that does not exist."""
        mark = self._loaded.data.key_marks[name]
        try:
            section = self._sections.get(name)
        except SchemaProblem as problem:
            message = phrase("the integration {name} cannot be used: {reason}", name=name, reason=problem.message)
            self._break(name, [ConfigError.at(mark, (name,), message)])
            return
        if section is None:
            hint = did_you_mean(name, self._sections.names())
            message = phrase("there is no integration or section {name}", name=name)
            self._break(name, [ConfigError.at(mark, (name,), message, hint)])
            self._break_meant(name)
            return
        self._section(section, self._loaded.data[name], None)

    def _break_meant(self, name: str) -> None:
        """Count the section that a misspelt name seems to mean as broken: what it would forbid must not be allowed.

        Defaults of critical sections are the careful ones, and a typo is no reason for recovery mode.
        """
        meant = nearest(name, [section.name for section in self._sections.core() if not section.critical])
        if meant is not None and meant not in self._loaded.data:
            self._break(meant, [])

    def _section(self, section: Section, value: Any, default: Any) -> None:
        name = section.name
        if value is BROKEN:
            self._break(name, [])
            return
        if value is None:
            if default is not None:
                self._values[name] = default
                return
            value = [] if to_json_schema(section.schema).get("type") == "array" else {}
        checker = SectionCheck(section, self._loaded.data, self._loaded.start, may_be_broken=self._may_be_broken)
        if section.each_item and isinstance(value, ConfigList):
            self._items(section, checker, value)
            return
        if section.each_item and isinstance(value, ConfigMapping) and not _takes_a_list(section):
            self._entries(section, checker, value)
            return
        found = checker.whole(value)
        if found.broken and section.entries:
            found = self._without_broken(section, checker, value, found)
        if found.broken:
            self._break(name, found.errors)
        else:
            self._values[name] = found.value
            self._secrets += found.secrets

    def _without_broken(self, section: Section, checker: SectionCheck, value: Any, whole: Validated) -> Validated:
        """Return the section validated without the broken entries of its mapping; `whole` if that does not help."""
        key = section.entries
        entries = value.get(key) if isinstance(value, dict) else None
        if not isinstance(entries, dict):
            return whole
        broken = [name for name, entry in entries.items() if checker.whole({key: {name: entry}}).broken]
        rest = checker.whole({**value, key: {name: entry for name, entry in entries.items() if name not in broken}})
        if rest.broken:
            return whole
        for name in broken:
            way = (section.name, key, name)
            self._break_item(section.name, name, [error for error in whole.errors if error.keys[:3] == way])
        return rest

    def _items(self, section: Section, checker: SectionCheck, items: ConfigList) -> None:
        kept: list[Key] = []
        values: list[Any] = []
        for index, item in enumerate(items):
            found = self._cache.validated(section, item) or checker.item(item, index)
            if found.broken:
                self._break_item(section.name, index, found.errors)
                continue
            if isinstance(item, (dict, list)):
                self._cache.keep(section, item, found)
            self._secrets += found.secrets
            kept.append(index)
            values.append(found.value)
        self._values[section.name] = values
        self._kept[section.name] = kept

    def _entries(self, section: Section, checker: SectionCheck, entries: ConfigMapping) -> None:
        values: dict[str, Any] = {}
        for name, entry in entries.items():
            found = self._cache.validated(section, entry) or checker.validate_entry(entry, name)
            if found.broken:
                self._break_item(section.name, name, found.errors)
                continue
            if isinstance(entry, (dict, list)):
                self._cache.keep(section, entry, found)
            self._secrets += found.secrets
            values[name] = found.value
        self._values[section.name] = values
        self._kept[section.name] = list(values)

    def _cross_checks(self, config: Config) -> None:
        if not self._loaded.readable:
            return
        checks = {**self._sections.cross_checks, **self._sections.integrations.cross_checks}
        for name, cross_check in checks.items():
            try:
                cross_check(config, _Reporter(self))
            except Exception:  # a mistake in one second check must not hide what the others find
                _log.exception("the check %s failed", name)

    def report(self, keys: KeyPath, message: str, hint: str, *, is_error: bool) -> None:
        """Report the findings of a second check; its list indexes count validated items."""
        name = str(keys[0]) if keys else ""
        kept = self._kept.get(name)
        if kept is not None and len(keys) > 1 and isinstance(keys[1], int) and keys[1] < len(kept):
            keys = (name, kept[keys[1]], *keys[2:])
        keys = as_written(self._loaded.data, keys)
        error = ConfigError.at(mark_of(self._loaded.data, keys, self._loaded.start), keys, message, hint)
        if not is_error:
            self._warnings.append(error)
            return
        section = self._sections.get(name) if name in self._loaded.data else None
        if section is not None and section.each_item and len(keys) > 1:
            self._break_item(name, keys[1], [error])
            return
        self._break(name, [error])

    def _break(self, name: str, errors: Iterable[ConfigError]) -> None:
        told = list(errors)
        self._broken.setdefault(name, []).extend(told)
        self._errors.extend(told)

    def _break_item(self, name: str, index: Key, errors: Iterable[ConfigError]) -> None:
        told = list(errors)
        self._broken_items.setdefault(name, {}).setdefault(index, []).extend(told)
        self._errors.extend(told)

    def _config(self) -> Config:
        loaded = self._loaded
        values = {name: value for name, value in self._values.items() if name not in self._broken}
        kept = {name: tuple(indexes) for name, indexes in self._kept.items()}
        for name, items in self._broken_items.items():
            if name in values and isinstance(values[name], dict):
                values[name] = {key: value for key, value in values[name].items() if key not in items}
                kept[name] = tuple(values[name])
            elif name in values:
                pairs = [(i, v) for i, v in zip(kept[name], values[name], strict=True) if i not in items]
                kept[name] = tuple(i for i, _ in pairs)
                values[name] = [v for _, v in pairs]
        critical = any(section.critical and section.name in self._broken for section in self._sections.core())
        return Config(
            sections=values,
            defaults=self._defaults,
            raw=loaded.data,
            broken={name: tuple(errors) for name, errors in self._broken.items()},
            broken_items={
                name: {index: tuple(errors) for index, errors in items.items()}
                for name, items in self._broken_items.items()
            },
            kept_items=kept,
            errors=tuple(sorted(self._errors, key=_by_file_and_line)[:ERROR_LIMIT]),
            recovery=critical or not loaded.readable,
            present=frozenset(loaded.data),
            files=loaded.files,
            folders=frozenset(loaded.folders),
            secrets=tuple({id(secret): secret for secret in [*loaded.secrets, *self._secrets]}.values()),
            start=loaded.start,
            home=self._home,
        )


class _Reporter:
    """Collects the findings of a second check."""

    def __init__(self, target: _Check) -> None:
        self._target = target

    def error(self, keys: Iterable[Key], message: str, hint: str = "") -> None:
        self._target.report(tuple(keys), message, hint, is_error=True)

    def warning(self, keys: Iterable[Key], message: str, hint: str = "") -> None:
        self._target.report(tuple(keys), message, hint, is_error=False)


def _by_file_and_line(error: ConfigError) -> tuple[bool, str, int, int]:
    return error.file != "configuration.yaml", error.file, error.line, error.column


def _takes_a_list(section: Section) -> bool:
    """Whether a mapping is one item of a list that may be written without the list, and not entries by name."""
    plain = section.schema.schema if isinstance(section.schema, Schema) else section.schema
    if isinstance(plain, Mapping):
        return False  # without the JSON Schema of its entries: that of scripts holds every kind of action
    schema = to_json_schema(section.schema)
    return any(each.get("type") == "array" for each in schema.get("anyOf", (schema,)))
