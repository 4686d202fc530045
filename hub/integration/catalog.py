"""Finds the integrations: the bundled ones, and those in `custom_integrations/` of the home directory."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from msgspec import Struct

from hub.integration.errors import ManifestError
from hub.integration.manifest import MANIFEST, Manifest, read_manifest

CUSTOM_FOLDER = "custom_integrations"
BUILT_IN_PACKAGE = "integrations"
FOUND_LIMIT = 1_000


class CatalogEntry(Struct, frozen=True):
    """An integration that was found.

    Attributes:
        domain: Its key in the configuration.
        path: Its folder.
        package: The name it is imported by.
        manifest: Its manifest; None when that is broken.
        error: Why the manifest is broken.
        custom: Whether it is in `custom_integrations/`.
        overrides: Whether it replaces a bundled one.
    """

    domain: str
    path: Path
    package: str
    manifest: Manifest | None
    error: str = ""
    custom: bool = False
    overrides: bool = False


def find(home: str | os.PathLike[str] | None, *, built_in: Path | None = None) -> dict[str, CatalogEntry]:
    """Return all integrations by domain, without importing any.

    Args:
        home: The home directory; None finds only the bundled ones.
        built_in: Their folder, for tests; the one next to `hub/` by default.
    """
    found = _built_in(built_in) if built_in is not None else dict(_bundled())
    if home is not None:
        for each in _custom(Path(home) / CUSTOM_FOLDER, frozenset(found)):
            found[each.domain] = each
    return found


def custom_names(home: str | os.PathLike[str]) -> set[str]:
    """Return the names of the folders in `custom_integrations/` of a home."""
    return {folder.name for folder in _folders(Path(home) / CUSTOM_FOLDER)}


def declared_kinds(found: CatalogEntry | None) -> frozenset[str]:
    """Return the kinds of triggers, conditions and actions that an integration declares."""
    if found is None or found.manifest is None:
        return frozenset()
    return frozenset((*found.manifest.triggers, *found.manifest.conditions, *found.manifest.actions))


def model_apis(catalog: Mapping[str, CatalogEntry]) -> dict[str, str]:
    """Return the domain of the integration that implements each API of model providers, from the manifests."""
    return {api: found.domain for found in catalog.values() if found.manifest for api in found.manifest.model_apis}


def engines(what: str, home: str | os.PathLike[str] | None) -> dict[str, CatalogEntry]:
    """Return the integrations that bring an engine for the memory's index: `keywords`, `vectors` or `embeddings`."""
    return {domain: each for domain, each in find(home).items() if each.manifest and each.manifest.engine == what}


@cache
def _bundled() -> Mapping[str, CatalogEntry]:
    """Return the integrations that come with the hub: while it runs they stay as they are."""
    return _built_in(Path(__file__).resolve().parents[2] / BUILT_IN_PACKAGE)


def _built_in(root: Path) -> dict[str, CatalogEntry]:
    """Return the integrations in the groups `channels/`, `models/`, … below `root`."""
    found: dict[str, CatalogEntry] = {}
    for group in _folders(root):
        for folder in _folders(group):
            if (folder / MANIFEST).is_file():
                each = _look(folder, f"{root.name}.{group.name}.{folder.name}")
                found[each.domain] = each
    return found


def _custom(root: Path, known: frozenset[str]) -> list[CatalogEntry]:
    """Return the integrations below `root`; a folder without a manifest is one whose manifest is broken."""
    return [
        _look(folder, f"{CUSTOM_FOLDER}.{folder.name}", custom=True, overrides=folder.name in known)
        for folder in _folders(root)
    ]


def _look(folder: Path, package: str, *, custom: bool = False, overrides: bool = False) -> CatalogEntry:
    try:
        manifest = read_manifest(folder)
    except ManifestError as error:
        return CatalogEntry(folder.name, folder, package, None, error.message, custom, overrides)
    return CatalogEntry(manifest.domain, folder, package, manifest, "", custom, overrides)


def _folders(root: Path) -> list[Path]:
    try:
        names = sorted(entry.name for entry in os.scandir(root) if entry.is_dir())
    except (FileNotFoundError, NotADirectoryError):
        return []
    return [root / name for name in names[:FOUND_LIMIT] if not name.startswith((".", "_"))]
