"""The three providers with a batch API, as tests of it see them: what they are asked, and what is left at them."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from integrations.memory.notes.index.embeddings.embedder import CachingEmbedder
from tests.integrations.memory.embeddings.conftest import Make
from tests.servers.embedding_server import EmbeddingServer

TEXTS = [f"passage {number} of a long diary" for number in range(600)]


@dataclass(frozen=True, slots=True)
class Vendor:
    """One of them.

    Attributes:
        name: As `provider` in the configuration.
        url: Attribute of the server that is its address.
        model: That is asked for.
        uploaded, began, listed, looked, cancelled, deleted: Patterns of what it is asked, as `METHOD /path`.
        files: How many files a job leaves.
        partial: Whether a job that expired or was cancelled has results.
    """

    name: str
    url: str
    model: str
    uploaded: str
    began: str
    listed: str
    looked: str
    cancelled: str
    deleted: str
    files: int
    partial: bool

    def settings(self, server: EmbeddingServer, **more: Any) -> dict[str, Any]:
        """Return what is configured, batch jobs with it."""
        given = {"provider": self.name, "base_url": getattr(server, self.url), "model": self.model}
        return {**given, "api_key": "the-right-key", "dimensions": 384, "batch": True, **more}

    def asked(self, server: EmbeddingServer, what: str) -> list[Any]:
        """Return the requests that fit one of the patterns."""
        return [each for each in server.asked("") if re.fullmatch(what, each.path)]

    async def begun(self, server: EmbeddingServer, make: Make, **more: Any) -> CachingEmbedder:
        """Return an embedder with a job under way for `TEXTS`."""
        embedder = await make(**self.settings(server, **more))
        vectors, took = await embedder.documents(TEXTS)
        assert vectors == [None] * 600
        assert (took.texts, took.requests) == (0, 0)
        return embedder


def _like_openai(name: str, url: str, model: str, base: str) -> Vendor:
    return Vendor(
        name,
        url,
        model,
        uploaded=f"POST {base}/files",
        began=f"POST {base}/batches",
        listed=f"GET {base}/batches",
        looked=f"GET {base}/batches/[^/]+",
        cancelled=f"POST {base}/batches/[^/]+/cancel",
        deleted=f"DELETE {base}/files/[^/]+",
        files=2,
        partial=True,
    )


VENDORS = (
    _like_openai("openai", "base_url", "words", "/v1"),
    _like_openai("voyage", "voyage_url", "voyage-4", "/voyage/v1"),
    Vendor(
        "gemini",
        "gemini_url",
        "gemini-embedding-001",
        uploaded="nothing",
        began="POST /v1beta/models/[^/]+:asyncBatchEmbedContent",
        listed="GET /v1beta/batches",
        looked="GET /v1beta/batches/[^/]+",
        cancelled="POST /v1beta/batches/[^/]+:cancel",
        deleted="DELETE /v1beta/batches/[^/]+",
        files=1,
        partial=False,
    ),
)


def due(cache_path: Path) -> None:
    """Make all jobs due to be looked at now."""
    with closing(sqlite3.connect(cache_path)) as database, database:
        database.execute("UPDATE jobs SET look_at=0")


def aged(cache_path: Path) -> None:
    """Make all jobs older than a day."""
    with closing(sqlite3.connect(cache_path)) as database, database:
        database.execute("UPDATE jobs SET look_at=0, created=created-200000")


def allow(cache_path: Path) -> None:
    """Let a day go by in which no job is begun."""
    with closing(sqlite3.connect(cache_path)) as database, database:
        database.execute("DELETE FROM no_jobs")


def jobs(cache_path: Path) -> list[tuple[Any, ...]]:
    """Return the jobs that are remembered: id, file, in how many seconds it was to be looked at."""
    with closing(sqlite3.connect(cache_path)) as database:
        return database.execute("SELECT id, input_file, look_at - created FROM jobs ORDER BY created").fetchall()
