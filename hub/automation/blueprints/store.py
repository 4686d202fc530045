"""Finds blueprints: in the home first, then those bundled with the program, then those of integrations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from msgspec import Struct

from hub.automation.blueprints.document import SIZE_LIMIT_BYTES, Blueprint, read_blueprint
from hub.automation.blueprints.errors import BlueprintInvalid
from hub.config.errors import ConfigError
from hub.config.marks import start_of
from hub.config.suggest import did_you_mean
from hub.core.bundled import find_bundled
from hub.core.errors import HubError, NotFound
from hub.core.phrases import in_series, phrase
from hub.security.jail_path import PathRefused
from hub.security.root import Root

FILES_LIMIT = 2_000
SUFFIXES = (".yaml", ".yml")


class BlueprintFile(Struct, frozen=True):
    """A blueprint file, or its errors.

    Attributes:
        path: Below `blueprints/<domain>`.
        bundled: Whether it comes with the program or an integration, and not from the home.
    """

    path: str
    domain: str
    bundled: bool
    blueprint: Blueprint | None
    error: BlueprintInvalid | None


class _Kept(Struct, frozen=True):
    stamp: tuple[int, int, int, int]
    found: BlueprintFile


def bundled_folder() -> Path:
    """Return the folder of the bundled blueprints: in the checkout, or inside the installed package.

    Raises:
        NotFound: It is in neither.
    """
    if (folder := find_bundled("blueprints", "automation")) is None:
        raise NotFound(phrase("the bundled blueprints are missing; the installation is incomplete"))
    return folder


class BlueprintStore:
    """Finds and reads blueprints; a file is read again only when it changed. Its methods block.

    Args:
        home: The folder `blueprints` of the home directory; it may be missing.
        bundled: The folder of the bundled ones.
        further: Returns the folders of the integrations in use.
    """

    def __init__(self, home: Path, bundled: Path, further: Callable[[], Iterable[Path]] = tuple) -> None:
        self._home = home
        self._bundled = bundled
        self._further = further
        self._kept: dict[tuple[Path, str], _Kept] = {}

    def root(self, domain: str) -> Root:
        """Return the jail of the home's blueprints of a domain."""
        return Root(self._home / domain)

    def find(self, domain: str, path: str) -> BlueprintFile:
        """Return the file at a path: the home's, else the bundled one, else an integration's.

        Raises:
            NotFound: There is none; the message names the nearest.
            PathRefused: The path leads elsewhere.
        """
        for folder in self._folders():
            try:
                return self._read(folder, domain, path)
            except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
                continue
        hint = did_you_mean(path, [each.path for each in self.all(domain)], known=phrase("there are"))
        told = phrase("there is no blueprint {path}", path=path)
        raise NotFound(in_series([told, hint] if hint else [told]), details={"path": path, "domain": domain})

    def all(self, domain: str) -> list[BlueprintFile]:
        """Return every file of a domain by path; one of the home hides a bundled one of the same path."""
        found: dict[str, BlueprintFile] = {}
        for folder in reversed(list(self._folders())):
            for path in self._paths(folder, domain):
                try:
                    found[path] = self._read(folder, domain, path)
                except (OSError, PathRefused):  # gone meanwhile, or no plain file
                    continue
        return [found[path] for path in sorted(found)]

    def is_bundled(self, domain: str, path: str) -> bool:
        """Whether a file of this path comes with the program or an integration."""
        return any(Root(folder / domain).exists(path) for folder in self._folders() if folder != self._home)

    def _folders(self) -> Iterator[Path]:
        """Yield the folders, those that hide others first."""
        yield self._home
        yield self._bundled
        yield from self._further()

    def _paths(self, folder: Path, domain: str) -> list[str]:
        try:
            entries = Root(folder / domain).walk(".", FILES_LIMIT)
        except (FileNotFoundError, NotADirectoryError):
            return []
        return [entry.path for entry in entries if entry.is_file and entry.name.endswith(SUFFIXES)]

    def _read(self, folder: Path, domain: str, path: str) -> BlueprintFile:
        root = Root(folder / domain)
        entry = root.stat(path)
        if not entry.is_file:
            raise FileNotFoundError(path)
        stamp = (entry.mtime_ns, entry.size_bytes, entry.device, entry.inode)
        key = (folder / domain, entry.path)
        kept = self._kept.get(key)
        if kept is not None and kept.stamp == stamp:
            return kept.found
        found = _parsed(root, domain, entry.path, bundled=folder != self._home)
        while len(self._kept) >= 2 * FILES_LIMIT:
            del self._kept[next(iter(self._kept))]
        self._kept[key] = _Kept(stamp, found)
        return found


def _parsed(folder: Root, domain: str, path: str, *, bundled: bool) -> BlueprintFile:
    file = f"blueprints/{domain}/{path}"
    try:
        blueprint = read_blueprint(folder.read_text(path, SIZE_LIMIT_BYTES), file)
        if blueprint.metadata.domain != domain:
            wanted = f"blueprints/{blueprint.metadata.domain}"
            told = f"this is a blueprint of domain {blueprint.metadata.domain}, and belongs below {wanted}"
            raise _at_start(file, told)
        return BlueprintFile(path, domain, bundled, blueprint, None)
    except BlueprintInvalid as error:
        return BlueprintFile(path, domain, bundled, None, error)
    except PathRefused:
        raise
    except HubError as error:  # too large, or no text
        return BlueprintFile(path, domain, bundled, None, _at_start(file, error.message))


def _at_start(file: str, message: str) -> BlueprintInvalid:
    return BlueprintInvalid(file, [ConfigError.at(start_of(file), (), message)])
