"""Judges an automation or a script of a Home Assistant as if it were written here."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec
from msgspec import Struct

from hub.automation.editing.unknown_things import INTEGRATIONS, PROVIDES, stored_registries
from hub.config.check import CheckCache, check_loaded
from hub.config.errors import ConfigError
from hub.config.loader import Loaded
from hub.config.marks import ConfigList, ConfigMapping, Mark
from hub.config.sections import Sections
from hub.core.slugs import slugify
from hub.entities.entries import AreaEntry, FloorEntry, LabelEntry, RegistryData
from hub.entities.registry import FILE, VERSION
from hub.migrate.plan import NewPlace
from hub.security.root import Root

_STUB: dict[str, Any] = {"sequence": [{"stop": "known"}]}
"""Of a script whose name alone matters."""


class Judgement(Struct, frozen=True):
    """What our own checks say.

    Attributes:
        errors: Why it cannot run.
        warnings: What is not here.
    """

    errors: tuple[ConfigError, ...]
    warnings: tuple[ConfigError, ...]


class Judge:
    """A home as it would be, of which only the folders that the checks read exist, in a temporary directory.

    Args:
        home: The present home.
        raw: Its configuration as written.
        start: The mark of its beginning.
        sections: Its sections.
    """

    def __init__(self, home: Path, raw: ConfigMapping, start: Mark, sections: Sections) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="homarus-move-")
        self.path = Path(self._folder.name)
        self._start = start
        self._sections = sections
        self._cache = CheckCache()
        self._base = ConfigMapping(raw.mark)
        for key, value in raw.items():
            if key not in ("automation", "script"):
                self._base.put(key, value, raw.key_marks[key], raw.value_marks[key])
        self._scripts = {str(key): _STUB for key in raw.get("script") or ()}
        self._registries = stored_registries(home) or RegistryData()
        for each in (home / INTEGRATIONS).glob(f"*/{PROVIDES}"):
            (self.path / each.relative_to(home)).parent.mkdir(parents=True)
            shutil.copyfile(each, self.path / each.relative_to(home))
        if (home / "blueprints").is_dir():
            shutil.copytree(home / "blueprints", self.path / "blueprints", symlinks=True)

    def __enter__(self) -> Judge:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._folder.cleanup()

    @property
    def registries(self) -> RegistryData:
        """The labels, floors and areas of the home."""
        return self._registries

    def know_places(self, places: Iterable[NewPlace]) -> None:
        """Count labels, floors and areas as there."""
        found: dict[str, list[Any]] = {
            "label": [*self._registries.labels],
            "floor": [*self._registries.floors],
            "area": [*self._registries.areas],
        }
        kinds = {"label": LabelEntry, "floor": FloorEntry, "area": AreaEntry}
        for each in places:
            known = {entry.id for entry in found[each.kind]}
            found[each.kind] += [kinds[each.kind](id, each.name) for id in {each.id, slugify(each.name)} - known]
        data = msgspec.structs.replace(
            self._registries, labels=found["label"], floors=found["floor"], areas=found["area"]
        )
        (self.path / FILE).parent.mkdir(parents=True, exist_ok=True)
        (self.path / FILE).write_bytes(msgspec.json.encode({"version": VERSION, "data": data}))

    def know_people(self, people: Iterable[Mapping[str, Any]]) -> None:
        """Count persons as there."""
        present = self._base.get("people")
        added = list(people)
        if not added or not isinstance(present, ConfigList):
            return
        whole = ConfigList(present.mark)
        for each, mark in zip(present, present.marks, strict=True):
            whole.put(each, mark)
        for person in added:
            whole.put(person, present.mark)
        self._base["people"] = whole

    def know_location(self, values: Mapping[str, Any]) -> None:
        """Count keys of `hub:` as there."""
        present = self._base.get("hub")
        whole = ConfigMapping(present.mark if isinstance(present, ConfigMapping) else self._start)
        for key, value in {**(present if isinstance(present, Mapping) else {}), **values}.items():
            whole.put(key, value, self._start, self._start)
        self._base.put("hub", whole, self._start, self._start)

    def know_scripts(self, names: Iterable[str]) -> None:
        """Count scripts as there."""
        self._scripts.update(dict.fromkeys(names, _STUB))

    def know_helpers(self, domain: str, values: Mapping[str, Any], *, listed: bool) -> None:
        """Count helpers as there, beside those of the home."""
        present = self._base.get(domain)
        if listed:
            whole = ConfigList(self._start)
            for each in [*(present if isinstance(present, list) else ()), *values.values()]:
                whole.put(each, self._start)
            self._base.put(domain, whole, self._start, self._start)
            return
        mapping = ConfigMapping(self._start)
        for key, each in {**(present if isinstance(present, Mapping) else {}), **values}.items():
            mapping.put(key, each, self._start, self._start)
        self._base.put(domain, mapping, self._start, self._start)

    def helper(self, domain: str, key: str, value: Any, mark: Mark, *, listed: bool) -> Judgement:
        """Judge a helper."""
        data, one = ConfigMapping(self._start), ConfigMapping(self._start)
        one.put(key, value, mark, mark)
        many = ConfigList(mark)
        many.put(value, mark)
        data.put(domain, many if listed else one, mark, mark)
        loaded = Loaded(data, [], [], {}, set(), [], readable=True, start=self._start)
        found = check_loaded(loaded, self._sections, self._cache, self.path)
        return Judgement(tuple(found.errors), ())

    def blueprint(self, name: str, data: bytes) -> None:
        """Put a blueprint beside those of the home."""
        Root(self.path).write_bytes(name, data, parents=True)

    def automation(self, value: Any, mark: Mark) -> Judgement:
        """Judge an automation."""
        one = ConfigList(mark)
        one.put(value, mark)
        return self._judge("automation", one, {})

    def script(self, name: str, value: Any, mark: Mark) -> Judgement:
        """Judge a script."""
        return self._judge("script", None, {name: (value, mark)})

    def _judge(self, section: str, automations: ConfigList | None, own: Mapping[str, tuple[Any, Mark]]) -> Judgement:
        data = ConfigMapping(self._start)
        for key, value in self._base.items():
            data.put(key, value, self._base.key_marks[key], self._base.value_marks[key])
        scripts = ConfigMapping(self._start)
        for key, (value, mark) in own.items():
            scripts.put(key, value, mark, mark)
        for key, stub in self._scripts.items():
            if key not in own:
                scripts.put(key, stub, self._start, self._start)
        data.put("script", scripts, self._start, self._start)
        if automations is not None:
            data.put("automation", automations, self._start, self._start)
        loaded = Loaded(data, [], [], {}, set(), [], readable=True, start=self._start)
        found = check_loaded(loaded, self._sections, self._cache, self.path)
        mine = (section, *own) if own else (section,)
        return Judgement(
            tuple(each for each in found.errors if each.keys[: len(mine)] == mine),
            tuple(each for each in found.warnings if each.keys[: len(mine)] == mine),
        )
