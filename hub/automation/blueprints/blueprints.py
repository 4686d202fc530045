"""All blueprints of this home: found, listed, filled in, imported, updated, removed."""

from __future__ import annotations

import asyncio
import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct, to_builtins

from hub.automation.blueprints.document import Blueprint
from hub.automation.blueprints.expanding import FOLDER, expand, store_of
from hub.automation.blueprints.filling import USE
from hub.automation.blueprints.foreign import ForeignBlueprint, blueprint_of_answer, blueprint_of_text
from hub.automation.blueprints.metadata import DOMAINS
from hub.automation.blueprints.sources import fetch_source
from hub.automation.blueprints.store import SUFFIXES, BlueprintFile
from hub.automation.definition.kinds import OUR_KINDS, Kinds
from hub.core.errors import Conflict, InvalidRequest, NotFound
from hub.core.phrases import phrase
from hub.security.egress import Egress

AUTOMATION = "automation"

Listed = list[dict[str, Any]]
Users = dict[tuple[str, str], list[dict[str, str]]]
Keep = Callable[[str, bytes], object]
"""Keeps what a file of the home holds before it is changed: its name below the home, and its bytes."""


class BlueprintDraft(Struct, frozen=True):
    """A blueprint that has not been saved in the home yet.

    Attributes:
        path: Its path once saved.
        about: Its own description.
        exists: Whether the home has a file at that path.
    """

    path: str
    text: str
    about: Mapping[str, Any]
    exists: bool

    @property
    def domain(self) -> str:
        """The domain of what it creates: automations or scripts."""
        return str(self.about["domain"])

    def as_dict(self) -> dict[str, Any]:
        """The draft as the gateway and the dashboard show it."""
        return {**self.about, "path": self.path, "text": self.text, "exists": self.exists}


class Update(Struct, frozen=True):
    """A newer version of a blueprint.

    Attributes:
        diff: What changes, as a unified diff; empty when nothing does.
        hash: The confirmation of exactly this version.
        written: Whether it was confirmed and is in place.
    """

    path: str
    diff: str
    hash: str
    written: bool

    def as_dict(self) -> dict[str, Any]:
        """The update as the gateway and the CLI show it."""
        plain: dict[str, Any] = to_builtins(self)
        return plain


class Blueprints:
    """Knows the blueprints. What is not `async` blocks for the reading of small files.

    Args:
        home: The home directory; blueprints are below `blueprints/<domain>` in it.
        egress: Fetches what is imported.
        keep: Keeps a file before it is changed.
        bundled: The folder of the bundled ones; found by default.
        further: Returns the folders of the integrations in use.
        kinds: The kinds of triggers, conditions and actions that a blueprint may use.
    """

    def __init__(
        self,
        home: Path,
        egress: Egress,
        keep: Keep | None = None,
        bundled: Path | None = None,
        further: Callable[[], Iterable[Path]] = tuple,
        *,
        kinds: Kinds = OUR_KINDS,
    ) -> None:
        self._store = store_of(home, bundled, further)
        self._home = home
        self._egress = egress
        self._keep = keep
        self._kinds = kinds

    # --- using ---

    def find(self, path: str, domain: str = AUTOMATION) -> Blueprint:
        """Return a blueprint.

        Raises:
            NotFound: There is no such file; the message names the nearest.
            BlueprintInvalid: It has mistakes.
        """
        found = self._store.find(_domain(domain), path)
        if found.error is not None:
            raise found.error
        if found.blueprint is None:
            raise NotFound(phrase("there is no blueprint {path}", path=path))
        return found.blueprint

    def expand(self, item: Mapping[str, Any], domain: str = AUTOMATION) -> dict[str, Any]:
        """Return the automation or script that an item with `use_blueprint: {path, input}` expands to, validated.

        Raises:
            Invalid: With the path in the item; errors in the blueprint name its file and line.
        """
        with self._kinds.in_use():
            return expand(item, _domain(domain), self._store)

    def list(self, config: Mapping[str, Any] | None = None) -> Listed:
        """Return all blueprints as the dashboard shows them.

        Args:
            config: The checked configuration, for `in_use`.

        Returns:
            Of each: path, domain, bundled, in_use (`[{"id", "alias"}]`), errors, and, when it can be read: name,
            description, author, icon, source_url, hash, sections (`[{"key", "name", …, "inputs": […]}]`).
        """
        used = self.in_use(config or {})
        return [self._shown(found, used) for domain in DOMAINS for found in self._store.all(domain)]

    def show(self, path: str, domain: str = AUTOMATION, config: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Return one blueprint as `list` does, with its `text`."""
        found = self._store.find(_domain(domain), path)
        shown = self._shown(found, self.in_use(config or {}))
        return {**shown, "text": found.blueprint.text if found.blueprint else self._text(found)}

    def in_use(self, config: Mapping[str, Any]) -> Users:
        """Return the items that use each blueprint, by (domain, path)."""
        found: Users = {}
        for domain, key, item in _users(config):
            named = str(item.get("alias") or item.get("name") or key)
            found.setdefault((domain, item[USE]["path"]), []).append({"id": key, "alias": named})
        return found

    # --- importing ---

    async def draft(self, text: str, path: str | None = None) -> BlueprintDraft:
        """Return the draft of a text.

        Raises:
            HubError: It is not a valid blueprint.
        """
        return await asyncio.to_thread(self._drafted, await blueprint_of_text(self._egress.reader, text), path)

    async def draft_from_url(self, url: str, path: str | None = None) -> BlueprintDraft:
        """Fetch a blueprint and return its draft, with its source URL.

        Raises:
            HubError: It cannot be fetched, is no blueprint, or has mistakes.
        """
        answer = await fetch_source(self._egress, url)
        found = await blueprint_of_answer(self._egress.reader, url, answer)
        return await asyncio.to_thread(self._drafted, found, path)

    async def import_text(self, text: str, path: str | None = None, *, overwrite: bool = False) -> BlueprintDraft:
        """Add a text to the home's blueprints.

        Raises:
            HubError: It is not a valid blueprint.
            Conflict: There is another file at this path, and it is not to be replaced.
        """
        return await asyncio.to_thread(self._add, await self.draft(text, path), overwrite)

    async def import_url(self, url: str, path: str | None = None, *, overwrite: bool = False) -> BlueprintDraft:
        """Fetch a blueprint and add it to the home's; see `draft_from_url` and `import_text`."""
        return await asyncio.to_thread(self._add, await self.draft_from_url(url, path), overwrite)

    async def update(self, path: str, domain: str = AUTOMATION, *, confirm: str | None = None) -> Update:
        """Fetch a blueprint again from its source.

        Args:
            confirm: The hash of an update that was shown; without it nothing is written.

        Raises:
            InvalidRequest: It does not say where it came from, or comes with the program.
            Conflict: The fetched text is not the confirmed one.
        """
        found = await asyncio.to_thread(self._store.find, _domain(domain), path)
        url = found.blueprint.metadata.source_url if found.blueprint else None
        if found.bundled:
            raise InvalidRequest(phrase("{path} is part of the program and is updated with it", path=path))
        if found.blueprint is None or url is None:
            raise InvalidRequest(phrase("{path} does not say where it came from (source_url)", path=path))
        draft = await self.draft_from_url(url, path)
        if draft.domain != domain:
            raise Conflict(
                phrase("what is at {url} now is a blueprint of domain {domain}", url=url, domain=draft.domain)
            )
        if confirm is not None and confirm != draft.about["hash"]:
            raise Conflict(
                phrase("what is at {url} changed since it was shown; look at it again", url=url), details={"path": path}
            )
        diff = _diff(found.blueprint.text, draft.text, found.blueprint.file)
        if confirm is not None and diff:
            await asyncio.to_thread(self._write, domain, path, draft.text)
        return Update(path, diff, draft.about["hash"], confirm is not None and bool(diff))

    def remove(self, path: str, config: Mapping[str, Any], domain: str = AUTOMATION) -> None:
        """Delete a blueprint of the home.

        Raises:
            Conflict: Something uses it; the message names what.
            InvalidRequest: It comes with the program.
        """
        found = self._store.find(_domain(domain), path)
        if found.bundled:
            raise InvalidRequest(phrase("{path} comes with the program and cannot be removed", path=path))
        users = self.in_use(config).get((domain, found.path), [])
        if users and not self._store.is_bundled(domain, found.path):
            names = ", ".join(each["alias"] for each in users[:5])
            told = phrase("{path} is used by {names}", path=path, names=names)
            if len(users) > 5:
                told = phrase(
                    "{path} is used by {names} and {count} more", path=path, names=names, count=len(users) - 5
                )
            raise Conflict(told, details={"path": path, "in_use": users})
        root = self._store.root(domain)
        self._keep_old(domain, found.path)
        root.unlink(found.path)

    # --- below ---

    def _drafted(self, found: ForeignBlueprint, path: str | None) -> BlueprintDraft:
        target = _yaml_path(path or found.suggested_path)
        return BlueprintDraft(target, found.text, found.about, self._exists(found.about["domain"], target))

    def _add(self, draft: BlueprintDraft, overwrite: bool) -> BlueprintDraft:
        if draft.exists and not overwrite:
            raise Conflict(phrase("there is a blueprint {path} already", path=draft.path), details={"path": draft.path})
        self._write(draft.domain, draft.path, draft.text)
        return draft

    def _shown(self, found: BlueprintFile, used: Users) -> dict[str, Any]:
        return {
            **(found.blueprint.as_dict() if found.blueprint else {}),
            "path": found.path,
            "domain": found.domain,
            "bundled": found.bundled,
            "in_use": used.get((found.domain, found.path), []),
            "errors": [error.as_dict() for error in found.error.errors] if found.error else [],
        }

    def _text(self, found: BlueprintFile) -> str:
        if found.bundled:
            return ""
        return self._store.root(found.domain).read_text(found.path, errors="replace")

    def _exists(self, domain: str, path: str) -> bool:
        try:
            return self._store.root(domain).exists(path)
        except (FileNotFoundError, NotADirectoryError):
            return False

    def _write(self, domain: str, path: str, text: str) -> None:
        (self._home / FOLDER / domain).mkdir(mode=0o700, parents=True, exist_ok=True)
        self._keep_old(domain, path)
        self._store.root(domain).write_text(path, text, parents=True)

    def _keep_old(self, domain: str, path: str) -> None:
        if self._keep is not None and self._exists(domain, path):
            self._keep(f"{FOLDER}/{domain}/{path}", self._store.root(domain).read_bytes(path))


def _users(config: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Yield the items that use a blueprint: domain, key and item."""
    for item in config.get("automation") or ():
        if USE in item:
            yield AUTOMATION, str(item.get("id") or item.get("alias") or ""), item
    for key, item in (config.get("script") or {}).items():
        if USE in item:
            yield "script", key, item
    for item in config.get("template") or ():
        if USE in item:
            yield "template", str(item.get("unique_id") or ""), item


def _domain(domain: str) -> str:
    if domain not in DOMAINS:
        raise InvalidRequest(
            phrase("blueprints are for {names}, not for {domain}", names=" and ".join(DOMAINS), domain=repr(domain))
        )
    return domain


def _yaml_path(path: str) -> str:
    if not path.endswith(SUFFIXES):
        raise InvalidRequest(phrase("the path of a blueprint ends in .yaml"))
    return path


def _diff(before: str, after: str, name: str) -> str:
    return "\n".join(difflib.unified_diff(before.split("\n"), after.split("\n"), name, f"{name} (new)", lineterm=""))
