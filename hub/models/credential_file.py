"""Keys and sign-ins added while the hub runs: a private document, changed under a lock."""

from __future__ import annotations

import asyncio
import fcntl
import logging
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from enum import StrEnum
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from hub.core.clock import Clock
from hub.core.errors import NotFound, Unavailable
from hub.core.executors import DOCUMENTS
from hub.core.secret import Secret
from hub.storage.files import FILES, Documents

FILE = "model_credentials.json"
SIZE_LIMIT = 1024 * 1024
STORED_LIMIT = 200
LOCK_LIMIT_S = 45.0
LOCK_RETRY_S = 0.05
REFRESH_BEFORE_S = 300.0
"""A sign-in is refreshed when it lasts no longer than this."""

_log = logging.getLogger(__name__)


class CredentialKind(StrEnum):
    """The kind of a stored credential."""

    API_KEY = "api_key"
    SETUP_TOKEN = "setup_token"  # noqa: S105  it is a kind
    OAUTH = "oauth"


class StoredCredential(Struct, frozen=True):
    """A key or a sign-in.

    Attributes:
        provider: Of which provider.
        id: Its name there.
        kind: Its kind.
        access: The key or access token.
        refresh: The token that gets a new access token.
        expires: When `access` ends, seconds since the epoch; None when it does not.
        account: Whose it is, for people.
    """

    provider: str
    id: str
    kind: CredentialKind
    access: Secret
    refresh: Secret | None = None
    expires: float | None = None
    account: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """The credential as plain data, without its secrets."""
        return {
            "provider": self.provider,
            "id": self.id,
            "kind": self.kind.value,
            "expires": self.expires,
            "renews": self.refresh is not None,
            "account": self.account,
        }


Refresh = Callable[[StoredCredential], Awaitable[StoredCredential]]


class ModelCredentials:
    """Keeps the credentials.

    Args:
        folder: The folder of the file.
        clock: The clock of the hub.
        on_secret: Called with each secret, so that no sink shows it.
        documents: Where the home keeps it.
    """

    def __init__(
        self, folder: Path, clock: Clock, on_secret: Callable[[Secret], object], documents: Documents = FILES
    ) -> None:
        self._documents = documents
        self._path = folder / FILE
        self._clock = clock
        self._on_secret = on_secret
        self._changing = asyncio.Lock()
        self._kept: dict[tuple[str, str], StoredCredential] = {}

    def load(self) -> None:
        """Load the file; a damaged one is set aside under a telling name.

        Raises:
            StorageError: It cannot be read.
        """
        try:
            data = self._documents.read(self._path, SIZE_LIMIT)
        except FileNotFoundError:
            self._kept = {}
            return
        try:
            found = msgspec.json.decode(data, type=list[StoredCredential], dec_hook=_decoded)
        except ValueError as error:
            aside = self._path.with_name(f"{FILE}.damaged-{int(self._clock.time())}")
            self._documents.rename(self._path, aside)
            _log.error("the credentials of models cannot be read (%s) and were set aside as %s", error, aside.name)
            found = []
        self._kept = {(each.provider, each.id): each for each in found}
        for each in found:
            self._hide(each)

    def all(self) -> list[StoredCredential]:
        """Return all credentials, in order of addition."""
        return list(self._kept.values())

    def get(self, provider: str, id: str) -> StoredCredential:
        """Return one credential.

        Raises:
            NotFound: It does not exist.
        """
        found = self._kept.get((provider, id))
        if found is None:
            raise NotFound(
                f"No credential {id} of {provider} was added; `homarus models auth list` shows those there are."
            )
        return found

    async def put(self, credential: StoredCredential) -> None:
        """Add a credential, or replace the one with that name.

        Raises:
            StorageError: It cannot be written.
        """
        async with self._locked():
            if len(self._kept) >= STORED_LIMIT and (credential.provider, credential.id) not in self._kept:
                raise Unavailable(f"{STORED_LIMIT} credentials are stored already; remove one first.")
            self._kept[credential.provider, credential.id] = credential
            await self._write()
        self._hide(credential)

    async def remove(self, provider: str, id: str) -> None:
        """Remove one credential.

        Raises:
            NotFound: It does not exist.
            StorageError: The file cannot be written.
        """
        async with self._locked():
            self.get(provider, id)
            del self._kept[provider, id]
            await self._write()

    async def current(self, provider: str, id: str, refresh: Refresh) -> StoredCredential:
        """Return a valid sign-in: one that expires soon is refreshed, by one process at a time.

        Raises:
            HubError: It has ended and cannot be refreshed.
        """
        known = self.get(provider, id)
        if not self._ends(known):
            return known
        async with self._locked():
            known = self.get(provider, id)  # another process may have refreshed it meanwhile
            if self._ends(known):
                known = await refresh(known)
                self._kept[provider, id] = known
                await self._write()
        self._hide(known)
        return known

    def _ends(self, credential: StoredCredential) -> bool:
        ends = credential.expires
        return ends is not None and credential.refresh is not None and ends - self._clock.time() <= REFRESH_BEFORE_S

    @asynccontextmanager
    async def _locked(self) -> AsyncIterator[None]:
        """Hold the lock of the file, with its present contents loaded."""
        async with self._changing:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
            descriptor = os.open(self._path.with_name(f"{FILE}.lock"), flags, 0o600)
            try:
                await self._lock(descriptor)
                await asyncio.to_thread(self.load)
                yield
            finally:
                os.close(descriptor)

    async def _lock(self, descriptor: int) -> None:
        # In real time, since it waits for another process.
        deadline = asyncio.get_running_loop().time() + LOCK_LIMIT_S
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if asyncio.get_running_loop().time() >= deadline:
                    raise Unavailable("Another process holds the credentials of models.", retry_after_s=5) from None
                await asyncio.sleep(LOCK_RETRY_S)
            else:
                return

    async def _write(self) -> None:
        data = msgspec.json.encode(list(self._kept.values()), enc_hook=_encoded)
        await DOCUMENTS.run(self._documents.write, self._path, msgspec.json.format(data) + b"\n")

    def _hide(self, credential: StoredCredential) -> None:
        for secret in (credential.access, credential.refresh):
            if secret is not None:
                self._on_secret(secret)


def _encoded(value: Any) -> str:
    if isinstance(value, Secret):
        return value.reveal()
    raise TypeError(type(value).__name__)


def _decoded(kind: type, value: Any) -> Secret:
    if kind is Secret and isinstance(value, str):
        return Secret(value)
    raise TypeError(kind.__name__)
