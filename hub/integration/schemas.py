"""The parts of integrations that checks need, each from one module: `schema.py`, `trigger.py` and the like.

The integration itself is not imported.
"""

from __future__ import annotations

import importlib.util
import sys
import traceback
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from hub.config.checked import Config
from hub.config.paths import KeyPath
from hub.config.sections import CrossCheck, SchemaProblem, Section
from hub.core.schema import Invalid, Schema
from hub.integration.catalog import CatalogEntry
from hub.integration.importing import clear_bytecode

SCHEMA_FILE = "schema.py"
CONFIG_SCHEMA = "CONFIG_SCHEMA"
EACH_ITEM = "EACH_ITEM"
RESTART = "RESTART"
CROSS_CHECKS = "CROSS_CHECKS"
WORKER_CHECKS = "WORKER_CHECKS"
PLATFORMS = "PLATFORMS"
ENTITIES = "ENTITIES"
ITEMS = "ITEMS"


class IntegrationSchemas:
    """The sections of all integrations in a catalog, each loaded on request.

    A `schema.py` has `CONFIG_SCHEMA`, and if it likes `EACH_ITEM` (a broken item of its list is left out alone),
    `RESTART` (a change needs a restart), `CROSS_CHECKS` (second checks by name), `WORKER_CHECKS` (those of a home
    that a worker carries beside others), `PLATFORMS` (by section, the schema of the items of `sensor`, `light` and
    the like that name it as their platform), `ENTITIES` (the ids of the entities that a checked configuration makes
    of it) and `ITEMS` (what of that has actions and triggers in it, with its keys). One without a `schema.py` takes
    any configuration.
    """

    def __init__(self, catalog: Mapping[str, CatalogEntry]) -> None:
        self._catalog = catalog
        self._sections: dict[str, Section] = {}
        self._cross_checks: dict[str, CrossCheck] = {}
        self._worker_checks: dict[str, CrossCheck] = {}
        self._kinds: dict[str, Mapping[str, Callable[[], Any]]] = {}
        self._entities: dict[str, Callable[[Config], Iterable[str]]] = {}
        self._items: dict[str, Callable[[Config], Iterable[tuple[KeyPath, Any]]]] = {}
        self._modules: dict[tuple[str, str], Mapping[str, Any]] = {}
        self._platforms: dict[str, Mapping[str, Schema]] = {}

    @property
    def catalog(self) -> Mapping[str, CatalogEntry]:
        """The integrations there are."""
        return self._catalog

    @property
    def cross_checks(self) -> Mapping[str, CrossCheck]:
        """Second checks of the integrations whose section was requested."""
        return self._cross_checks

    @property
    def worker_checks(self) -> Mapping[str, CrossCheck]:
        """Their checks of a home that a worker carries beside others."""
        return self._worker_checks

    def domains(self) -> Iterable[str]:
        """Return the domains of all integrations."""
        return self._catalog.keys()

    def section(self, domain: str) -> Section:
        """Return the section of an integration.

        Raises:
            SchemaProblem: There is none of that domain, its manifest is broken, or its schema.
        """
        if domain not in self._sections:
            self._sections[domain] = self._load(domain)
        return self._sections[domain]

    def platforms(self, section: str) -> list[str]:
        """Return the integrations that items of a section may name; one whose schema is broken is left out."""
        found = []
        for domain in self._catalog:
            try:
                if self.platform(section, domain) is not None:
                    found.append(domain)
            except SchemaProblem:
                continue
        return found

    def platform(self, section: str, domain: str) -> Schema | None:
        """Return the schema of the items of a section that name an integration; None if it makes none of them.

        Raises:
            SchemaProblem: Its schema is broken.
        """
        found = self._catalog.get(domain)
        if found is None or not (path := found.path / SCHEMA_FILE).is_file():
            return None
        if domain not in self._platforms:
            # Run only where it says so: a misspelt name asks all of them.
            has_some = PLATFORMS in path.read_text(encoding="utf-8", errors="replace")
            given = getattr(self._module(domain, path), PLATFORMS, {}) if has_some else {}
            self._platforms[domain] = {name: _compile(domain, schema, PLATFORMS) for name, schema in given.items()}
        return self._platforms[domain].get(section)

    def entities(self, config: Config) -> set[str]:
        """Return the entities that a checked configuration makes of integrations, as their schemas know them."""
        return {each for found in self._entities.values() for each in found(config)}

    def makes_entities(self, domain: str) -> bool:
        """Whether an integration makes entities of the configuration, so that without its section there are none."""
        found = self._catalog.get(domain)
        path = found.path / SCHEMA_FILE if found is not None else None
        return path is not None and path.is_file() and f"{ENTITIES}(" in path.read_text(encoding="utf-8")

    def items(self, config: Config) -> list[tuple[KeyPath, Any]]:
        """Return what of a checked configuration has actions and triggers of integrations in it, with its keys."""
        return [each for found in self._items.values() for each in found(config)]

    def _module(self, domain: str, path: Path) -> ModuleType:
        module = read_module(domain, path)
        for name, known in ((ENTITIES, self._entities), (ITEMS, self._items)):
            if (found := getattr(module, name, None)) is not None:
                known[domain] = found
        return module

    def refresh(self, catalog: Mapping[str, CatalogEntry]) -> None:
        """Use another catalog, and reload every schema and kind on its next use."""
        self._catalog = catalog
        self._sections.clear()
        self._cross_checks.clear()
        self._worker_checks.clear()
        self._kinds.clear()
        self._modules.clear()
        self._platforms.clear()
        self._entities.clear()
        self._items.clear()
        for found in catalog.values():
            clear_bytecode(found)

    def kinds(self, sort: str) -> Mapping[str, Callable[[], Any]]:
        """Return the loader of each automation kind in the manifests.

        Args:
            sort: `trigger`, `condition` or `action`: the module beside `schema.py` that has them, as `KINDS` by name.
        """
        if sort not in self._kinds:
            self._kinds[sort] = {
                name: partial(self._kind, found, sort, name)
                for found in self._catalog.values()
                if found.manifest is not None
                for name in getattr(found.manifest, f"{sort}s")
            }
        return self._kinds[sort]

    def _kind(self, found: CatalogEntry, sort: str, name: str) -> Any:
        key = (found.domain, sort)
        if key not in self._modules:
            try:
                self._modules[key] = getattr(read_module(found.domain, found.path / f"{sort}.py"), "KINDS", {})
            except SchemaProblem as problem:
                raise Invalid(problem.message) from problem
        if name not in self._modules[key]:
            raise Invalid(f"{found.domain}/{sort}.py has no {name!r} in KINDS")
        return self._modules[key][name]

    def _load(self, domain: str) -> Section:
        found = self._catalog.get(domain)
        if found is None:
            raise SchemaProblem(f"there is no integration {domain}")
        if found.manifest is None:
            raise SchemaProblem(found.error)
        path = found.path / SCHEMA_FILE
        description = found.manifest.description or found.manifest.name
        if not path.is_file():
            return Section(domain, Schema(object), default={}, description=description)
        module = self._module(domain, path)
        schema = getattr(module, CONFIG_SCHEMA, None)
        if schema is None:
            raise SchemaProblem(f"{domain}/{SCHEMA_FILE} has no {CONFIG_SCHEMA}")
        for kind, kept in ((CROSS_CHECKS, self._cross_checks), (WORKER_CHECKS, self._worker_checks)):
            checks: Any = getattr(module, kind, {})
            kept.update({f"{domain}.{name}": check for name, check in checks.items()})
        return Section(
            domain,
            _compile(domain, schema),
            description=description,
            restart=bool(getattr(module, RESTART, False)),
            each_item=bool(getattr(module, EACH_ITEM, False)),
        )


def schemas(catalog: Mapping[str, CatalogEntry]) -> IntegrationSchemas:
    """Return the sections of all integrations in a catalog; nothing is imported yet."""
    return IntegrationSchemas(catalog)


def read_module(domain: str, path: Path) -> ModuleType:
    """Run one module of an integration under its own name, without importing the package."""
    name = f"homarus_{path.stem}_{domain}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise SchemaProblem(f"{domain}/{path.name} cannot be loaded")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and the like look their module up
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:  # a failing schema must not stop the checks of the others
        raise SchemaProblem(f"{domain}/{path.name}{_line_of(error, path)}: {type(error).__name__}: {error}") from error
    finally:
        sys.modules.pop(name, None)
    return module


def _compile(domain: str, schema: Any, name: str = CONFIG_SCHEMA) -> Schema:
    try:
        return Schema(schema).checked()
    except Exception as error:  # the library raises several kinds for what is not a schema
        raise SchemaProblem(f"{domain}/{SCHEMA_FILE}: {name} is not a schema: {error}") from error


def _line_of(error: BaseException, path: Path) -> str:
    if isinstance(error, SyntaxError) and error.lineno is not None:
        return f" line {error.lineno}"
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    return f" line {lines[-1]}" if lines else ""
