"""The backups of a home: made, listed, copied elsewhere, checked, deleted and restored.

Programs without a running hub (the command line) use it in the same way as the hub. Archives are processed in a
separate process; the decisions are here.
"""

from __future__ import annotations

import asyncio
import logging
import shutil
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from hub import __version__
from hub.backup.contents import path_in_home
from hub.backup.job import SNAPSHOTS, BackupJob, CreateOptions, drop_partial
from hub.backup.listings import RemoteFile
from hub.backup.manifest import BackupName, home_slug, parse_name
from hub.backup.place import BackupPlace
from hub.backup.retention import Keep, superfluous
from hub.backup.s3 import S3Place
from hub.backup.swap import RESTORE, clear, commit, replaced_home
from hub.backup.webdav import WebDavPlace
from hub.backup.work import run_job
from hub.core.clock import Clock
from hub.core.errors import Conflict, HubError, InvalidRequest, NotFound
from hub.core.phrases import phrase
from hub.security.egress import Egress
from hub.storage.files import write_atomic
from hub.storage.homedir import Home

_log = logging.getLogger(__name__)

STATE_FILE = "backup.json"
UPLOAD = "upload"
LOCAL = "folder"
REPLACED_KEPT_S = 7 * 86_400
"""How long the home is kept that a restore replaced."""
UPLOADS_KEPT_S = 86_400
LIST_LIMIT_S = 10.0

Changed = Callable[[], None]


class BackupRun(Struct, frozen=True):
    """The outcome of a backup.

    Attributes:
        name: The name of the archive; empty when there is none.
        error: Why it failed, or a copy of it; empty when all went well.
        copies: The places that have it, by kind.
        left_out: How much is not in it, by reason.
    """

    at_ms: int
    name: str = ""
    size_bytes: int = 0
    files: int = 0
    took_ms: int = 0
    error: str = ""
    copies: tuple[str, ...] = ()
    left_out: dict[str, int] = {}


class BackupState(Struct, frozen=True):
    """The state that is stored between starts.

    Attributes:
        last: The last attempt.
        good_ms: When the last one succeeded.
        due_ms: The last scheduled time that was handled.
    """

    last: BackupRun | None = None
    good_ms: int = 0
    due_ms: int = 0


class BackupWork(Struct):
    """The work in progress.

    Attributes:
        what: create | copy | verify | restore.
    """

    what: str
    began_ms: int
    done: int = 0
    total: int = 0
    place: str = ""


class KnownBackup(Struct):
    """A backup, and where it is.

    Attributes:
        places: Kinds of places that have it; the first one it is read from.
        own: Whether it is of this home, by its name.
    """

    name: str
    made_ms: int
    encrypted: bool
    size_bytes: int
    places: list[str]
    own: bool


class BackupSettings(Struct, frozen=True):
    """The section `backup`, and the relevant parts of other sections.

    Attributes:
        config: The validated section.
        home_name: The home's name.
        rows_elsewhere: Whether `storage:` names a database.
    """

    config: Mapping[str, Any]
    home_name: str
    zone: tzinfo
    rows_elsewhere: bool = False

    @property
    def passphrase(self) -> str:
        """Encrypts the backups; empty for none."""
        found = self.config.get("passphrase")
        return "" if found is None else str(found.reveal())

    @property
    def keep(self) -> Keep:
        """The backups to keep."""
        return Keep(**self.config["keep"])


class Backups:
    """The backups of one home.

    Args:
        settings: Returns what is configured now.
        changed: Told when there is something new to show.
        list_limit_s: How long a place may take to list what it has.
    """

    def __init__(
        self,
        home: Home,
        settings: Callable[[], BackupSettings],
        *,
        egress: Egress,
        clock: Clock,
        changed: Changed = lambda: None,
        list_limit_s: float = LIST_LIMIT_S,
    ) -> None:
        self.home = home
        self.work: BackupWork | None = None
        self._settings = settings
        self._egress = egress
        self._clock = clock
        self._changed = changed
        self._list_limit_s = list_limit_s

    # -- where they are ------------------------------------------------------------------------------------------------

    @property
    def settings(self) -> BackupSettings:
        """The configured settings."""
        return self._settings()

    @property
    def folder(self) -> Path:
        """The folder in which they are made."""
        return self.home.path / Path(self.settings.config["to"]["folder"]).expanduser()

    def places(self) -> Sequence[BackupPlace]:
        """Return the servers that get a copy of each."""
        to = self.settings.config["to"]
        found: list[BackupPlace] = []
        if "webdav" in to:
            found.append(WebDavPlace(to["webdav"], self._egress))
        if "s3" in to:
            found.append(S3Place(to["s3"], self._egress, self._clock.time))
        return found

    def state(self) -> BackupState:
        """Return what is remembered, also by another process; blocks."""
        try:
            return msgspec.json.decode((self.home.storage / STATE_FILE).read_bytes(), type=BackupState)
        except (OSError, ValueError):
            return BackupState()  # nothing that matters is lost with it

    def remember(self, state: BackupState) -> None:
        """Remember a state; blocks."""
        write_atomic(self.home.storage / STATE_FILE, msgspec.json.encode(state))

    async def find_all(self) -> tuple[list[KnownBackup], dict[str, str]]:
        """Return the backups, the newest first, and the places that did not answer with their reasons."""
        found: dict[str, KnownBackup] = {}
        failed: dict[str, str] = {}
        slug = home_slug(self.settings.home_name)

        def add(name: BackupName | None, size_bytes: int, place: str) -> None:
            if name is not None:
                fresh = KnownBackup(name.name, name.made_ms, name.encrypted, size_bytes, [], name.home == slug)
                found.setdefault(name.name, fresh).places.append(place)

        for path, size_bytes in await asyncio.to_thread(self._local):
            add(parse_name(path.name), size_bytes, LOCAL)
        for place, files in await asyncio.gather(*(self._asked(each) for each in self.places())):
            if isinstance(files, str):
                failed[place.kind] = files
                continue
            for each in files:
                add(parse_name(each.name), each.size_bytes, place.kind)
        return sorted(found.values(), key=_order, reverse=True), failed

    def path_of(self, name: str) -> Path:
        """Return the path of an archive of this home.

        Raises:
            NotFound: There is none with that name in the folder.
        """
        path = self.folder / name
        if parse_name(name) is None or not path.is_file():
            raise NotFound(f"there is no backup {name[:100]} in {self.folder}")
        return path

    # -- what is done --------------------------------------------------------------------------------------------------

    async def create(self) -> BackupRun:
        """Make a backup, copy it to all places, and delete expired ones.

        Raises:
            Conflict: Something else is going on.
            HubError: It could not be made. A copy that failed is in the result.
        """
        work = self._begin("create")
        began = self._clock.monotonic()
        try:
            run = await self._create(work)
        except HubError as error:
            await self._remember(BackupRun(work.began_ms, error=error.message))
            raise
        except asyncio.CancelledError:  # the process was killed, and could not tidy up
            drop_partial(self.folder)
            shutil.rmtree(self.home.storage / SNAPSHOTS, ignore_errors=True)
            raise
        finally:
            self._end()
        took_ms = int((self._clock.monotonic() - began) * 1000)
        run = msgspec.structs.replace(run, took_ms=took_ms)
        await self._remember(run)
        return run

    async def verify(self, source: str, passphrase: str = "") -> dict[str, Any]:
        """Read a backup whole and compare each file with its hash; return its content.

        Args:
            source: The name of a backup, or the path of an archive.
            passphrase: Instead of the configured one.

        Raises:
            BackupDamaged: Something in it is not as it was written.
            HubError: It cannot be read.
        """
        work = self._begin("verify")
        try:
            path = await self._fetched(source)
            return await self._run("verify", work, path=str(path), passphrase=passphrase or self.settings.passphrase)
        finally:
            await asyncio.to_thread(self._drop_fetched)
            self._end()

    async def preview(self, source: str, passphrase: str = "") -> dict[str, Any]:
        """Return a backup's head, and what a restore would replace.

        Raises:
            HubError: It cannot be read.
        """
        work = self._begin("preview")
        try:
            path = await self._fetched(source)
            return await self._run("preview", work, path=str(path), passphrase=passphrase or self.settings.passphrase)
        finally:
            self._end()

    async def restore(self, source: str, passphrase: str = "") -> dict[str, Any]:
        """Prepare a home from a backup and schedule the exchange: the next start applies it.

        Raises:
            HubError: It cannot be; the present home stays.
        """
        work = self._begin("restore")
        try:
            path = await self._fetched(source)
            result = await self._run("stage", work, path=str(path), passphrase=passphrase or self.settings.passphrase)
            try:
                await asyncio.to_thread(commit, self.home, self._stamp(), self._stays())
            except BaseException:
                clear(self.home)
                raise
            await asyncio.to_thread(self._drop_fetched, uploads=True)
            return result
        finally:
            self._end()

    async def go_back(self) -> None:
        """Schedule a return to the home that the last restore replaced: the next start applies it.

        Raises:
            NotFound: It does not exist.
        """
        found = await asyncio.to_thread(replaced_home, self.home)
        if found is None:
            raise NotFound("there is no earlier home to go back to; one is kept for a week after a restore")
        await asyncio.to_thread(commit, self.home, self._stamp(), self._stays(), found.name)

    async def delete_replaced_home(self, *, older_than_s: float = 0.0) -> bool:
        """Delete the home that the last restore replaced; return whether there was one of that age."""
        if deleted := await asyncio.to_thread(self._forget_replaced, older_than_s):
            self._changed()
        return deleted

    async def delete(self, name: str) -> list[str]:
        """Delete a backup everywhere; return the kinds of places that had it.

        Raises:
            NotFound: It is nowhere.
            HubError: A place refuses to delete it.
        """
        if parse_name(name) is None:
            raise InvalidRequest(f"{name[:100]!r} is not the name of a backup; homarus backup list shows them")
        known, _ = await self.find_all()
        found = next((each for each in known if each.name == name), None)
        if found is None:
            raise NotFound(f"there is no backup {name}")
        await self._delete(found.name, found.places)
        self._changed()
        return found.places

    # -- inside --------------------------------------------------------------------------------------------------------

    async def _create(self, work: BackupWork) -> BackupRun:
        settings = self.settings
        options = CreateOptions(
            str(self.folder),
            settings.home_name,
            __version__,
            work.began_ms,
            settings.passphrase,
            bool(settings.config["history"]),
            settings.rows_elsewhere,
        )
        made = await self._run("create", work, options=options)
        left_out: dict[str, int] = {}
        for each in made["left_out"]:
            left_out[each["why"]] = left_out.get(each["why"], 0) + 1
        path = self.folder / made["name"]
        copies, errors = [], []
        for place in self.places():
            work.what, work.place, work.done, work.total = "copy", place.title, 0, 0
            self._changed()
            try:
                await place.put(path, made["sha256"])
                copies.append(place.kind)
            except HubError as error:
                errors.append(error.message)
        errors += await self._prune()
        told = "; ".join(errors)
        return BackupRun(
            work.began_ms, made["name"], made["size_bytes"], made["files"], 0, told, tuple(copies), left_out
        )

    def _forget_replaced(self, older_than_s: float) -> bool:
        found = replaced_home(self.home)
        if found is None or self._clock.time() - found.stat().st_ctime < older_than_s:
            return False
        shutil.rmtree(found, ignore_errors=True)
        return True

    async def _asked(self, place: BackupPlace) -> tuple[BackupPlace, Sequence[RemoteFile] | str]:
        """Return the files of a place, or why it does not tell; a page does not wait for long."""
        try:
            async with asyncio.timeout(self._list_limit_s):
                return place, await place.files()
        except TimeoutError:
            return place, f"{place.title} did not answer within {self._list_limit_s:g} s"
        except HubError as error:
            return place, error.message

    async def _prune(self) -> list[str]:
        """Delete expired backups, in each place separately; return the errors."""
        settings, slug, errors = self.settings, home_slug(self.settings.home_name), list[str]()
        for place in (None, *self.places()):
            try:
                names = (
                    [path.name for path, _ in await asyncio.to_thread(self._local)]
                    if place is None
                    else [each.name for each in await place.files()]
                )
                own = [name for name in map(parse_name, names) if name is not None and name.home == slug]
                for each in superfluous(own, settings.keep, settings.zone):
                    await self._delete(each.name, [LOCAL if place is None else place.kind])
            except HubError as error:
                errors.append(error.message)
            except OSError as error:
                errors.append(str(error))
        return errors

    async def _delete(self, name: str, kinds: Sequence[str]) -> None:
        places = {each.kind: each for each in self.places()}
        for kind in kinds:
            if kind == LOCAL:
                await asyncio.to_thread((self.folder / name).unlink, missing_ok=True)
            elif kind in places:
                await places[kind].delete(name)

    def _local(self) -> list[tuple[Path, int]]:
        if not self.folder.is_dir():
            return []
        found = [each for each in self.folder.iterdir() if parse_name(each.name) is not None and each.is_file()]
        return [(each, each.stat().st_size) for each in found]

    async def _fetched(self, source: str) -> Path:
        """Return the path of an archive, which is fetched when only a place elsewhere has it."""
        if (path := self._at_hand(source)) is not None:
            return path
        for place in self.places():
            if any(each.name == source for each in await place.files()):
                target = self._room_for(source)
                await place.get(source, target)
                return target
        raise NotFound(f"there is no backup {source}; homarus backup list shows them")

    def _at_hand(self, source: str) -> Path | None:
        """Return the path of an archive that is on this machine."""
        if "/" in source:
            if not source.startswith("/"):
                raise InvalidRequest("expected the absolute path of an archive")
            if not Path(source).is_file():
                raise NotFound(f"there is no file {source}")
            return Path(source)
        if source == UPLOAD:
            return self.last_upload()
        if parse_name(source) is None:
            raise NotFound(f"there is no backup {source[:100]}; homarus backup list shows them")
        local = self.folder / source
        return local if local.is_file() else None

    def _room_for(self, name: str) -> Path:
        """Return where a fetched archive is written; its folder is there."""
        target = self.home.storage / RESTORE / name
        target.parent.mkdir(mode=0o700, exist_ok=True)
        target.unlink(missing_ok=True)
        return target

    def upload_path(self) -> Path:
        """Return the path for an uploaded archive; an earlier one is deleted."""
        return self._room_for(UPLOAD)

    def last_upload(self) -> Path:
        """Return the archive that was uploaded last.

        Raises:
            NotFound: It does not exist.
        """
        path = self.home.storage / RESTORE / UPLOAD
        if not path.is_file():
            raise NotFound("no backup was uploaded, or it was too long ago; upload it again")
        return path

    def drop_old(self) -> None:
        """Delete uploads and downloads that were not restored within a day; blocks."""
        for each in self._brought():
            if self._clock.time() - each.stat().st_mtime > UPLOADS_KEPT_S:
                each.unlink(missing_ok=True)

    def _drop_fetched(self, *, uploads: bool = False) -> None:
        for each in self._brought():
            if uploads or each.name != UPLOAD:
                each.unlink(missing_ok=True)

    def _brought(self) -> list[Path]:
        folder = self.home.storage / RESTORE
        found = folder.iterdir() if folder.is_dir() else ()
        return [each for each in found if each.name == UPLOAD or parse_name(each.name) is not None]

    async def _run(self, what: str, work: BackupWork, **given: Any) -> dict[str, Any]:
        def progress(done: int, total: int) -> None:
            work.done, work.total = done, total
            self._changed()

        job = BackupJob(what=what, home=str(self.home), now_ms=int(self._clock.time() * 1000), **given)  # type: ignore[arg-type]  # one of its names
        return await run_job(job, progress)

    def _begin(self, what: str) -> BackupWork:
        if self.work is not None:
            raise Conflict(phrase("A backup or a restore is going on already; wait until it has ended."))
        self.work = BackupWork(what, int(self._clock.time() * 1000))
        self._changed()
        return self.work

    def _end(self) -> None:
        self.work = None
        self._changed()

    async def _remember(self, run: BackupRun) -> None:
        state = await asyncio.to_thread(self.state)
        good_ms = run.at_ms if run.name and not run.error else state.good_ms
        await asyncio.to_thread(self.remember, msgspec.structs.replace(state, last=run, good_ms=good_ms))
        self._changed()

    def _stamp(self) -> str:
        return datetime.fromtimestamp(self._clock.time(), UTC).strftime("%Y%m%dT%H%M%S%f")

    def _stays(self) -> tuple[str, ...]:
        own = path_in_home(self.home, self.folder)
        return ("backups", *([own.split("/")[0]] if own is not None else []))


def _order(backup: KnownBackup) -> tuple[int, int]:
    name = parse_name(backup.name)
    return name.order if name is not None else (0, 0)
