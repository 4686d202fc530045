"""Sources of later versions: the tags of a checkout's remote, or the package index that uv or pip is set up for."""

from __future__ import annotations

import json
import re
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from hub import __version__
from hub.core.errors import Conflict, InvalidRequest, NotFound
from hub.core.phrases import phrase
from hub.update.errors import SourceUnreachable, UpdateFailed
from hub.update.place import Kind, Place
from hub.update.programs import last_words, run_program
from hub.update.record import is_version, python_in, version_order
from hub.update.release_notes import notes_between

PACKAGE = "homarus"
NOTES = "hub/_data/CHANGELOG.md"
"""In an installed package."""
_PRINTED = re.compile(rf"^{PACKAGE}==(\S+)", re.MULTILINE)


class Release(Struct, frozen=True):
    """A version that can be installed.

    Attributes:
        notes: What it brings, in Markdown; empty when nobody says.
        signature: Of a tag: verified | unverified (signed, and the key is not known here) | none. Empty elsewhere.
    """

    version: str
    notes: str = ""
    signature: str = ""


class ReleaseSource(Protocol):
    """A place with versions."""

    async def find(self, version: str = "") -> Release | None:
        """Return the newest version after the running one, or the one that is asked for; None when there is none.

        Raises:
            NotFound: There is no such version.
            SourceUnreachable: It does not answer.
            HubError: It cannot be used as it is; the message says what to do.
        """
        ...

    async def fetch(self, version: str, folder: Path) -> Sequence[str | Path]:
        """Put what a version is made of into an empty folder; return the program that installs it there.

        Raises:
            HubError: It cannot be had.
        """
        ...


def make_source(place: Place) -> ReleaseSource:
    """Return the source of an installation.

    Raises:
        Conflict: It cannot replace itself; the message says what to do instead.
    """
    if place.kind is Kind.CHECKOUT and place.checkout is not None:
        return GitSource(place.checkout, place.base)
    if place.kind is Kind.WHEEL:
        return IndexSource(place.base)
    raise Conflict(place.why_not)


def refuse_unusable(version: str) -> None:
    """Refuse a version that cannot replace this one.

    Raises:
        InvalidRequest: It is not a version, or an older one.
    """
    if not is_version(version):
        raise InvalidRequest(phrase("{version} is not a version such as 0.2.1.", version=repr(version[:50])))
    if version_order(version) < version_order(__version__):
        raise InvalidRequest(
            phrase(
                "{version} is older than {current}, which runs, and cannot read what that wrote. Install the older one "
                "beside it, and restore a backup from that time into a home of its own.",
                version=version,
                current=__version__,
            )
        )


class GitSource:
    """The tags of a checkout's remote.

    Args:
        checkout: The clone.
        base: Its environment.
    """

    def __init__(self, checkout: Path, base: Path) -> None:
        self._checkout = checkout
        self._base = base

    async def find(self, version: str = "") -> Release | None:
        """See `ReleaseSource.find`; a clone with changes of its own is refused."""
        await self._refuse_changes()
        await self._fetch()
        tags = {tag.removeprefix("v"): tag for tag in (await self._git("tag", "--list")).split()}
        tags = {each: tag for each, tag in tags.items() if is_version(each)}
        if version:
            if version not in tags:
                raise _unknown(version, tags)
        else:
            final = [each for each in tags if not re.search("[a-z]", each)]
            version = max(final, key=version_order, default=__version__)
        if version_order(version) <= version_order(__version__):
            return None
        await self._refuse_commits(tags[version], version)
        code, changelog, _ = await self._try("show", f"refs/tags/{tags[version]}:CHANGELOG.md")
        notes = notes_between(changelog, __version__, version) if not code else ""
        return Release(version, notes, await self._signature(tags[version]))

    async def fetch(self, version: str, folder: Path) -> Sequence[str | Path]:
        """See `ReleaseSource.fetch`; the extras are those of the running environment."""
        tags = (await self._git("tag", "--list", f"v{version}", version)).split()
        if not tags:
            raise _unknown(version, {})
        archive = folder / "source.tar"
        await self._git("archive", "--format=tar", f"--output={archive}", f"refs/tags/{tags[0]}")
        await _done(["tar", "-xf", archive, "-C", folder])
        archive.unlink()
        # `script/setup --same` installs what the last one did here.
        running = Path(sys.prefix)
        (folder / ".venv").mkdir()
        for name in ("homarus-setup", "homarus-extras"):
            if (running / name).is_file():
                shutil.copyfile(running / name, folder / ".venv" / name)
        return [folder / "script/setup", "--same"]

    async def _refuse_changes(self) -> None:
        changed = (await self._git("status", "--porcelain", "--untracked-files=no")).splitlines()
        if changed:
            names = ", ".join(each[3:] for each in changed[:3]) + (" …" if len(changed) > 3 else "")
            raise Conflict(
                phrase(
                    "{folder} has changes of your own, which a new version would not have: {names}. Commit them to a "
                    "branch and update by hand with git, or take them back (git restore .), and try again.",
                    folder=self._checkout,
                    names=names,
                )
            )

    async def _refuse_commits(self, tag: str, version: str) -> None:
        code, _, _ = await self._try("merge-base", "--is-ancestor", "HEAD", f"refs/tags/{tag}")
        if code:
            raise Conflict(
                phrase(
                    "{folder} has commits that {version} does not have. Update by hand with git (git rebase {tag}), or "
                    "go to a version first (git checkout TAG).",
                    folder=self._checkout,
                    version=version,
                    tag=tag,
                )
            )

    async def _fetch(self) -> None:
        remotes = (await self._git("remote")).split()
        if not remotes:
            raise Conflict(
                phrase("{folder} has no remote to ask for versions: git remote add origin URL", folder=self._checkout)
            )
        remote = "origin" if "origin" in remotes else remotes[0]
        try:
            code, out, err = await self._try("fetch", "--quiet", "--tags", "--no-recurse-submodules", remote)
        except TimeoutError:
            code, out, err = 1, "", "it did not answer in time"
        if code:
            why = last_words(out, err)
            raise SourceUnreachable(phrase("The remote {remote} cannot be asked: {why}", remote=remote, why=why))

    async def _signature(self, tag: str) -> str:
        code, _, _ = await self._try("verify-tag", tag)
        if not code:
            return "verified"
        _, text, _ = await self._try("cat-file", "tag", tag)
        return "unverified" if re.search("-----BEGIN [A-Z ]*SIGNATURE-----", text) else "none"

    async def _try(self, *arguments: str) -> tuple[int, str, str]:
        try:
            return await run_program(["git", "-C", self._checkout, *arguments])
        except OSError as error:
            raise UpdateFailed(phrase("git cannot be started: {why}", why=str(error))) from error

    async def _git(self, *arguments: str) -> str:
        code, out, err = await self._try(*arguments)
        if code:
            raise UpdateFailed(phrase("git {what} failed: {why}", what=arguments[0], why=last_words(out, err)))
        return out


class IndexSource:
    """The package index that uv or pip is set up for.

    Args:
        base: The environment that Homarus was installed into.
    """

    def __init__(self, base: Path) -> None:
        self._base = base

    async def find(self, version: str = "") -> Release | None:
        """See `ReleaseSource.find`."""
        wanted = f"{PACKAGE}=={version}" if version else PACKAGE
        client = await self._client()
        if client[0] == "uv":
            argv = ["uv", "pip", "compile", "-", "--quiet", "--no-deps", "--no-header", "--no-annotate"]
            code, out, err = await _run([*argv, "--python", sys.executable], given=wanted)
            found = _PRINTED.search(out)
            newest = found[1] if found else ""
        else:
            argv = ["install", "--dry-run", "--no-deps", "--ignore-installed", "--quiet", "--report", "-"]
            code, out, err = await _run([*client, *argv, wanted])
            newest = "" if code else str(json.loads(out)["install"][0]["metadata"]["version"])
        if code or not newest:
            why = last_words(err, out)
            if version and re.search(r"no version|no matching distribution", why, re.IGNORECASE):
                raise NotFound(phrase("There is no version {version}: {why}", version=version, why=why))
            raise SourceUnreachable(phrase("The package index cannot be asked: {why}", why=why))
        if version_order(newest) <= version_order(__version__):
            return None
        return Release(newest, await self._notes(newest, client))

    async def fetch(self, version: str, folder: Path) -> Sequence[str | Path]:
        """See `ReleaseSource.fetch`; a wheel has no lock, so the index decides on what it needs."""
        client, environment = await self._client(), folder / ".venv"
        extras = installed_extras()
        wanted = f"{PACKAGE}[{','.join(extras)}]=={version}" if extras else f"{PACKAGE}=={version}"
        if client[0] == "uv":
            await _done(["uv", "venv", "--quiet", "--no-python-downloads", "--python", sys.executable, environment])
            return ["uv", "pip", "install", "--compile-bytecode", "--python", python_in(folder), wanted]
        await _done([sys.executable, "-m", "venv", environment])
        return [python_in(folder), "-m", "pip", "install", "--disable-pip-version-check", wanted]

    async def _notes(self, version: str, client: Sequence[str]) -> str:
        """Return what the changelog in the package says; it is small, and nothing of it runs."""
        wanted = f"{PACKAGE}=={version}"
        with tempfile.TemporaryDirectory(prefix="homarus-notes-") as folder:
            install = (
                ["uv", "pip", "install", "--python", sys.executable] if client[0] == "uv" else [*client, "install"]
            )
            code, _, _ = await _run([*install, "--quiet", "--no-deps", "--target", folder, wanted])
            path = Path(folder) / NOTES
            if code or not path.is_file():
                return ""
            return notes_between(path.read_text("utf-8"), __version__, version)

    async def _client(self) -> list[str]:
        if shutil.which("uv"):
            return ["uv"]
        pip = [str(self._base / "bin/python"), "-m", "pip"]
        if (await _run([*pip, "--version"]))[0]:
            raise Conflict(
                phrase(
                    "Neither uv nor pip is there to get a new version with. Install uv (docs.astral.sh/uv), or update "
                    "with what Homarus was installed with."
                )
            )
        return pip


def installed_extras() -> list[str]:
    """Return the extras of this package whose packages are all installed."""
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        needed = distribution(PACKAGE).requires or []
    except PackageNotFoundError:
        return []
    extras: dict[str, bool] = {}
    for each in needed:
        found = re.search(r"extra == ['\"]([^'\"]+)['\"]", each)
        name = re.match(r"[A-Za-z0-9._-]+", each)
        if found is None or name is None:
            continue
        try:
            distribution(name[0])
            is_there = True
        except PackageNotFoundError:
            is_there = False
        extras[found[1]] = extras.get(found[1], True) and is_there
    return sorted(extra for extra, is_there in extras.items() if is_there)


async def _run(argv: Sequence[str | Path], *, given: str = "") -> tuple[int, str, str]:
    try:
        return await run_program(argv, given=given, limit_s=600.0)
    except TimeoutError as error:
        raise SourceUnreachable(phrase("{program} did not end in time.", program=str(argv[0]))) from error
    except OSError as error:
        raise UpdateFailed(
            phrase("{program} cannot be started: {why}", program=str(argv[0]), why=str(error))
        ) from error


async def _done(argv: Sequence[str | Path]) -> None:
    code, out, err = await _run(argv)
    if code:
        raise UpdateFailed(phrase("{program} failed: {why}", program=str(argv[0]), why=last_words(out, err)))


def _unknown(version: str, known: Sequence[str] | dict[str, str]) -> NotFound:
    newest = ", ".join(sorted(known, key=version_order, reverse=True)[:5]) or "none"
    return NotFound(phrase("There is no version {version}; there are: {versions}", version=version, versions=newest))
