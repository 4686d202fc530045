"""Installs integrations from elsewhere: they wait, out of the hub's sight, until an owner has looked at them.

Nothing of an integration that waits is imported or read by the hub but its manifest. What was enabled is pinned by the
hash of its files; whether it still is like that, the look and the audit say.
"""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from hub.config.checked import Config
from hub.core.clock import Clock
from hub.core.errors import Conflict, HubError, InvalidRequest, NotFound
from hub.core.executors import DOCUMENTS
from hub.core.extras import locked_packages, package_name
from hub.integration.in_use import install_mode
from hub.integration.manifest import MANIFEST, Manifest, parse_manifest
from hub.integration.requirements import is_installed
from hub.security.egress import Egress
from hub.skills.fetching import fetch_archive
from hub.skills.finding import dangers
from hub.skills.folder import digest_of, discard_folder, has_files, put_folder, read_folder
from hub.skills.pins import SkillPin, SkillPins
from hub.storage.homedir import Home

if TYPE_CHECKING:
    from hub.extensions.code_look import CodeLook

WAITING_FOLDER = "waiting_integrations"
PINS_FILE = "integrations.json"
BYTECODE = "__pycache__"
ENTRY = "__init__.py"
WAITING, ENABLED, CHANGED, OWN = "waiting", "enabled", "changed", "own"
"""States: not enabled yet; as it was enabled; not as it was enabled; put there by hand and never enabled by a look."""
INSTALLED, LOCKED, MISSING = "installed", "locked", "missing"
"""A requirement is there, or would be installed from the lock, or would not be."""


class IntegrationLook(Struct, frozen=True):
    """An integration as a person sees it before enabling it.

    Attributes:
        state: `waiting`, `enabled`, `changed` or `own`.
        digest: Of the files that are shown: enabling needs it, so that nothing else is enabled.
        files: All of them.
        differs: Paths that are not as in the folder that this would take the place of.
        requirements: Python packages, each with `installed`, `locked` or `missing`.
        code: What its code shows.
    """

    manifest: Manifest
    state: str
    digest: str
    files: Mapping[str, bytes]
    differs: tuple[str, ...]
    requirements: Mapping[str, str]
    code: CodeLook
    pin: SkillPin


def integration_pins(home: Home) -> SkillPins:
    """Return the hashes of the integrations that were enabled, by domain."""
    return SkillPins(home.storage, PINS_FILE, documents=home.documents)


def has_drifted(folder: Path, pin: SkillPin | None) -> bool:
    """Whether the files of an integration are not those that were enabled; never for one that was put there by hand."""
    if pin is None or pin.digest is None:
        return False
    try:
        return digest_of(read_folder(folder, left_out=BYTECODE)) != pin.digest
    except HubError:
        return True


class CustomIntegrations:
    """Installs integrations, shows them, enables and removes them.

    Args:
        home: The home; integrations are in `custom_integrations/`, those that wait in `.storage/`.
        egress: Fetches what is installed by URL, and reads what was fetched.
        config: Returns the configuration, whose `hub: install` says whether packages may be installed.
        taken: Returns the names that an integration cannot have, with what has them.
        clock: The clock.
    """

    def __init__(
        self,
        home: Home,
        egress: Egress,
        config: Callable[[], Config],
        taken: Callable[[], Mapping[str, str]],
        clock: Clock,
    ) -> None:
        self._folder = home.custom_integrations
        self._waiting = home.storage / WAITING_FOLDER
        self._pins = integration_pins(home)
        self._egress = egress
        self._config = config
        self._taken = taken
        self._clock = clock
        self._changing = asyncio.Lock()

    async def waiting(self) -> list[str]:
        """Return the domains of those that wait to be enabled."""
        return await asyncio.to_thread(_folders, self._waiting)

    async def look(self, domain: str) -> IntegrationLook:
        """Return an integration from elsewhere: the one that waits, or else the one that is there.

        Raises:
            NotFound: There is none with that name.
            InvalidRequest: It cannot be read.
        """
        from hub.extensions.code_look import CodeLook, look_at_code

        waits = domain in await self.waiting()
        if not waits and domain not in await asyncio.to_thread(_folders, self._folder):
            raise NotFound(f"no integration {domain[:64]!r} was put into this home")
        files = await asyncio.to_thread(
            read_folder, self._waiting / domain if waits else self._folder / domain, left_out=BYTECODE
        )
        if MANIFEST not in files:
            raise InvalidRequest(f"{domain} has no {MANIFEST}")
        manifest, digest = parse_manifest(files[MANIFEST]), digest_of(files)
        code = await self._egress.reader.read("the integration", look_at_code, files, returns=CodeLook)
        pins = await asyncio.to_thread(self._pins.all)
        pin = pins.get(f"{WAITING}/{domain}" if waits else domain, SkillPin())
        state = WAITING if waits else OWN if pin.digest is None else ENABLED if pin.digest == digest else CHANGED
        present = await asyncio.to_thread(self._present, domain) if waits else {}
        differs = tuple(sorted(path for path in {*present, *files} if present.get(path) != files.get(path)))
        needs = {each: _state_of(each, manifest) for each in manifest.requirements}
        return IntegrationLook(manifest, state, digest, files, differs if present else (), needs, code, pin)

    async def install(
        self,
        data: bytes,
        origin: Mapping[str, Any],
        *,
        path: str | None = None,
        overwrite: bool = False,
        domain: str | None = None,
    ) -> str:
        """Unpack an integration and let it wait; return its domain. Nothing of it is run.

        Args:
            data: An archive.
            origin: Its origin.
            path: The folder in the archive, when it holds several.
            overwrite: Whether it may take the place of one that is there, once it is enabled.
            domain: The only name that it may have.

        Raises:
            InvalidRequest: It is refused; the message says why.
            Conflict: Its name is taken.
        """
        from hub.extensions.code_look import read_integration

        _, files = await self._egress.reader.read(
            "the integration", read_integration, data, path, returns=tuple[str, dict[str, bytes]]
        )
        files = {name: each for name, each in files.items() if BYTECODE not in name.split("/")}
        manifest = parse_manifest(files[MANIFEST])
        name = manifest.domain
        if domain not in (None, name):
            raise InvalidRequest(f"this is the integration {name}; expected {domain}")
        if name in (taken := self._taken()):
            raise Conflict(f"an integration cannot be called {name}: that is {taken[name]}")
        if ENTRY not in files:
            raise InvalidRequest(f"{name} has no {ENTRY}, so it is no integration")
        async with self._changing:
            present = self._folder / name
            if await asyncio.to_thread(present.exists):
                if not overwrite:
                    raise Conflict(f"there is an integration {name} already; replace it, or remove it first")
                if await asyncio.to_thread(has_files, present, files, left_out=BYTECODE):
                    return name
            await asyncio.to_thread(put_folder, self._waiting / name, files, overwrite=True)
            kept = {**origin, **({"path": path} if path else {})}
            await DOCUMENTS.run(self._pins.put, f"{WAITING}/{name}", SkillPin(origin=kept))
        return name

    async def install_url(self, url: str, **options: Any) -> str:
        """Fetch an archive and install it; see `install`.

        Raises:
            HubError: It cannot be fetched.
        """
        data = await fetch_archive(self._egress, url, "an archive of an integration")
        return await self.install(data, {"kind": "url", "source": url}, **options)

    async def enable(self, domain: str, digest: str, *, accept: bool = False) -> None:
        """Put what waits into the home, and pin what was looked at; it is code that runs in the hub from then on.

        Args:
            digest: The digest of the files that were looked at.
            accept: Whether it is enabled in spite of what the scan found.

        Raises:
            NotFound: There is none with that name.
            Conflict: It is not what was shown, the scan found signs of harm, or a package it needs is not installed and
                would not be.
        """
        async with self._changing:
            look = await self.look(domain)
            if digest != look.digest:
                raise Conflict(f"the files of {domain} have changed since you saw them; look at it again")
            if not accept and (bad := dangers(look.code.findings)):
                raise Conflict(
                    f"{domain} shows signs of harm: {'; '.join(map(str, bad))}", details={"findings": len(bad)}
                )
            self._refuse_missing(look)
            if look.state == WAITING:
                await asyncio.to_thread(put_folder, self._folder / domain, look.files, overwrite=True)
                await asyncio.to_thread(discard_folder, self._waiting / domain)
                await DOCUMENTS.run(self._pins.put, f"{WAITING}/{domain}", None)
            pin = SkillPin(True, digest, int(self._clock.time() * 1_000), look.pin.origin)
            await DOCUMENTS.run(self._pins.put, domain, pin)

    async def remove(self, domain: str) -> str:
        """Delete one that waits, or else one that is there; return which of them.

        Raises:
            NotFound: There is none with that name.
        """
        async with self._changing:
            waits = domain in await self.waiting()
            if not waits and domain not in await asyncio.to_thread(_folders, self._folder):
                raise NotFound(f"no integration {domain[:64]!r} was put into this home")
            await asyncio.to_thread(discard_folder, (self._waiting if waits else self._folder) / domain)
            await DOCUMENTS.run(self._pins.put, f"{WAITING}/{domain}" if waits else domain, None)
            return WAITING if waits else ENABLED

    def _refuse_missing(self, look: IntegrationLook) -> None:
        """Refuse packages that are not there and that the hub would not install: it installs from its lock alone."""
        mode, name = install_mode(self._config()), look.manifest.domain
        missing = [each for each, state in look.requirements.items() if state == MISSING]
        if missing:
            command = f"uv pip install {' '.join(map(shlex.quote, missing))}"
            told = f"{name} needs {', '.join(missing)}, which is neither installed nor in the lock of Homarus"
            raise Conflict(f"{told}; install it yourself if you trust it, then enable {name}: {command}")
        if mode == "never" and LOCKED in look.requirements.values():
            raise Conflict(f"{name} needs packages that are not installed, and `hub: install` is never")

    def _present(self, domain: str) -> Mapping[str, bytes]:
        try:
            return read_folder(self._folder / domain, left_out=BYTECODE)
        except HubError:
            return {}


def _state_of(requirement: str, manifest: Manifest) -> str:
    if is_installed(requirement):
        return INSTALLED
    return LOCKED if package_name(requirement) in locked_packages(manifest.extra) else MISSING


def _folders(root: Path) -> list[str]:
    try:
        return sorted(each.name for each in root.iterdir() if each.is_dir() and not each.name.startswith((".", "_")))
    except (FileNotFoundError, NotADirectoryError):
        return []
