"""The seam under batch jobs: what a provider's batch API does, whatever its requests look like."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

LIST_PAGES_LIMIT = 20
LIST_PAGE = 100
UPLOAD_TIMEOUT_S = 600.0


@dataclass(frozen=True, slots=True)
class JobLimits:
    """How much goes into one job.

    Attributes:
        texts: Texts at most.
        size_bytes: All its requests together at most.
    """

    texts: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class JobState:
    """What a provider says of a job.

    Attributes:
        word: Its state as the provider calls it.
        ended: Whether nothing more will come of it.
        completed: Whether it ended as it should.
        reason: Why not, as far as the provider says.
        files: Ids of the files that it left.
        output: Where its results are, or what they are; for `BatchApi.results`.
    """

    word: str
    ended: bool
    completed: bool
    reason: str = ""
    files: tuple[str, ...] = ()
    output: Any = None


@dataclass(frozen=True, slots=True)
class JobResult:
    """What came of one text.

    Attributes:
        digest: The hash of the text; None when the result is for none of ours.
        row: Its raw numbers, as in `Made.rows`; None when there are none.
        tokens: As the provider counts them.
    """

    digest: bytes | None
    row: Any = None
    tokens: int = 0


class BatchApi(Protocol):
    """Speaks the batch API of one provider; it remembers nothing and tries nothing twice.

    All methods raise `ProviderFailed`; cancelling one closes its connection.
    """

    limits: JobLimits

    def request(self, digest: bytes, text: str) -> bytes:
        """Return one text as JSON on one line; its result will carry the hash."""
        ...

    async def upload(self, nonce: str, requests: Sequence[bytes]) -> str | None:
        """Store requests for a job at the provider, and return the file's id; None where `begin` carries them.

        It takes `UPLOAD_TIMEOUT_S` at most, as does `begin`.
        """
        ...

    async def uploaded(self, nonce: str) -> str | None:
        """Return the id of the file that was stored with this nonce; None when there is none for certain."""
        ...

    async def begin(self, nonce: str, file: str | None, requests: Sequence[bytes]) -> str:
        """Begin a job that can be found by its nonce, and return its id."""
        ...

    async def find(self, nonce: str) -> str | None:
        """Return the id of the job with this nonce; None when there is none for certain."""
        ...

    async def look(self, id: str) -> JobState:
        """Return the state of a job."""
        ...

    def results(self, state: JobState) -> AsyncIterator[JobResult]:
        """Give the results of a job that ended, in any order."""
        ...

    async def cancel(self, id: str) -> None:
        """Ask the provider to end a job."""
        ...

    async def delete(self, what: str) -> None:
        """Delete something that `leftovers` named."""
        ...

    def leftovers(self, id: str | None, files: Sequence[str]) -> list[str]:
        """Return what of a job stays at the provider until it is deleted: it holds somebody's memory.

        Args:
            id: Of the job; None when it never began, or the provider does not know it any more.
            files: Ids of files.
        """
        ...


def is_id(value: Any) -> bool:
    """Whether an id that a provider gave can stand in an address."""
    return isinstance(value, str) and 0 < len(value) <= 128 and all(each.isalnum() or each in "-_." for each in value)


def digest_of(key: Any) -> bytes | None:
    """Return the hash that a result carries; None when it carries none."""
    try:
        return bytes.fromhex(key)
    except (ValueError, TypeError):
        return None
