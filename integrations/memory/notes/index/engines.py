"""The engines of an index: our own two, or the configured ones of other integrations."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from hub.memory.chunking import CUT_VERSION
from hub.memory.engine_contract import EngineMissing, EngineModule, KeywordIndex, VectorIndex, package
from integrations.memory.notes.index.fts5 import Fts5Index
from integrations.memory.notes.index.settings import EXACT, FTS5, IndexSettings
from integrations.memory.notes.index.sqlite_file import SqliteFile

FORMAT = 5
"""Goes up when conversations are cut, or passages indexed, in another way than before; every index is then rebuilt.
How files are cut has a version of its own, `hub.memory.chunking.CUT_VERSION`."""


class Engines:
    """Opens engines for one agent's index; blocks.

    Args:
        settings: Which are configured.

    Attributes:
        notes: Why a configured engine is not used, by its purpose.
    """

    def __init__(self, settings: IndexSettings) -> None:
        self._settings = settings
        self._modules: dict[str, EngineModule] = {}
        self.notes: dict[str, str] = {}

    @property
    def fingerprint(self) -> str:
        """The settings that determine an index, apart from its embedder."""
        wanted = self._settings
        places = "|".join(str(self._section(name).get("url") or "") for name in (wanted.keywords, wanted.vectors))
        rules = f"{FORMAT}|{CUT_VERSION}"
        return f"{rules}|{wanted.keywords}|{wanted.vectors}|{places}|{wanted.tokens}|{wanted.overlap}"

    def keywords(self, file: SqliteFile, directory: Path) -> KeywordIndex:
        """Open the engine for words; see `EngineModule.open_keywords`."""
        name = self._settings.keywords
        if name != FTS5:
            try:
                return self._module(name).open_keywords(directory, self._section(name))
            except EngineMissing as error:
                self.notes["keywords"] = error.text
        return Fts5Index(file)

    def vectors(self, file: SqliteFile, directory: Path, dimensions: int) -> VectorIndex:
        """Open the engine for vectors; see `EngineModule.open_vectors`."""
        name = self._settings.vectors
        if name != EXACT:
            try:
                return self._module(name).open_vectors(directory, dimensions, self._section(name))
            except EngineMissing as error:
                self.notes["vectors"] = error.text
        with package("numpy", "embeddings", "embeddings: {provider: none}"):
            from integrations.memory.notes.index.exact import ExactIndex
        return ExactIndex(file, dimensions)

    def discard(self, directory: Path) -> None:
        """Delete the external data of an abandoned vector index.

        Raises:
            EngineMissing, EngineUnavailable: It cannot be deleted now.
        """
        if self._settings.vectors != EXACT:
            module = self._module(self._settings.vectors)
            if hasattr(module, "discard"):
                module.discard(directory, self._section(self._settings.vectors))

    def _module(self, name: str) -> EngineModule:
        if name not in self._modules:
            self._modules[name] = engine_module(name, self._settings.engines)
        return self._modules[name]

    def _section(self, name: str) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self._settings.engines.get(name, {}).get("settings") or {}
        return found


def engine_module(name: str, engines: Mapping[str, Any]) -> EngineModule:
    """Import the module of an engine that another integration brings.

    Args:
        name: The integration.
        engines: See `IndexSettings.engines`.

    Raises:
        EngineMissing: There is none, or it cannot be imported.
    """
    if (known := engines.get(name)) is None:
        raise EngineMissing(f"There is no engine called {name!r}; no integration brings it.")
    if "folder" in known:
        return _custom(name, known["module"], Path(known["folder"]))
    return cast(EngineModule, import_module(known["module"]))


def _custom(name: str, module: str, folder: Path) -> EngineModule:
    """Import the engine of a custom integration, as its files are now.

    Raises:
        EngineMissing: It cannot be imported.
    """
    from hub.integration.catalog import CatalogEntry
    from hub.integration.importing import import_alone

    package, _, inner = module.rpartition(".")
    try:
        return cast(EngineModule, import_alone(CatalogEntry(name, folder, package, None, custom=True), inner))
    except Exception as error:  # whatever somebody's engine does, memory is searched by ours
        raise EngineMissing(f"The engine {name} cannot be loaded: {type(error).__name__}: {error}.") from error
