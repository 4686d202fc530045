"""Usage and cost of embeddings, by day, provider and model."""

from __future__ import annotations

import logging
import sqlite3
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from integrations.memory.notes.index.embeddings.store import Store

KEPT_DAYS = 400

# US dollars per million tokens of the providers' own addresses: openai.com/api/pricing, ai.google.dev/gemini-api/docs/
# pricing, docs.voyageai.com/docs/pricing; as of July 2026. Voyage's free first tokens are not taken off.
_PRICES_USD = {
    ("openai", "text-embedding-3-small"): 0.02,
    ("openai", "text-embedding-3-large"): 0.13,
    ("openai", "text-embedding-ada-002"): 0.10,
    ("gemini", "gemini-embedding-001"): 0.15,
    ("gemini", "gemini-embedding-2"): 0.20,
    ("voyage", "voyage-4-large"): 0.12,
    ("voyage", "voyage-4"): 0.06,
    ("voyage", "voyage-4-lite"): 0.02,
    ("voyage", "voyage-3-large"): 0.18,
    ("voyage", "voyage-3.5"): 0.06,
    ("voyage", "voyage-3.5-lite"): 0.02,
    ("voyage", "voyage-code-3"): 0.18,
    ("voyage", "voyage-finance-2"): 0.12,
    ("voyage", "voyage-law-2"): 0.12,
}
_log = logging.getLogger(__name__)


def price_usd(provider: str, model: str, tokens: int) -> float | None:
    """Return the price of tokens at a provider's own address; None if unknown."""
    price = _PRICES_USD.get((provider, model))
    return None if price is None else price * tokens / 1_000_000


class Costs:
    """Counts the usage of one embedder; disk failures lose counts, never an answer.

    Args:
        store: The store.
        provider, model: The embedding model.
        priced: Whether its list prices hold.
        clock: Seconds since the epoch.
    """

    def __init__(
        self, store: Store, provider: str, model: str, *, priced: bool, clock: Callable[[], float] = time.time
    ) -> None:
        self._store = store
        self._provider = provider
        self._model = model
        self._priced = priced
        self._clock = clock
        self._waiting: dict[str, tuple[int, int, int, float | None]] = {}

    def note(self, requests: int, texts: int, tokens: int) -> None:
        """Count a request; it is written with the next `flush`."""
        day = datetime.fromtimestamp(self._clock(), UTC).date().isoformat()
        usd = price_usd(self._provider, self._model, tokens) if self._priced else None
        before = self._waiting.get(day, (0, 0, 0, None))
        total = usd if before[3] is None else before[3] + (usd or 0.0)
        self._waiting[day] = (before[0] + requests, before[1] + texts, before[2] + tokens, total)

    @property
    def unflushed(self) -> int:
        """Requests that were counted since the last `flush`."""
        return sum(counts[0] for counts in self._waiting.values())

    async def flush(self) -> None:
        """Write what was counted."""
        waiting, self._waiting = self._waiting, {}
        if not waiting:
            return
        rows = [(day, self._provider, self._model, *counts) for day, counts in waiting.items()]
        oldest = (datetime.fromtimestamp(self._clock(), UTC).date() - timedelta(days=KEPT_DAYS)).isoformat()

        def work(database: sqlite3.Connection) -> None:
            database.executemany(
                "INSERT INTO spent (day, provider, model, requests, texts, tokens, usd) VALUES (?, ?, ?, ?, ?, ?, ?) "
                "ON CONFLICT (day, provider, model) DO UPDATE SET requests = requests + excluded.requests, "
                "texts = texts + excluded.texts, tokens = tokens + excluded.tokens, "
                "usd = CASE WHEN excluded.usd IS NULL THEN usd ELSE coalesce(usd, 0) + excluded.usd END",
                rows,
            )
            database.execute("DELETE FROM spent WHERE day < ?", (oldest,))

        try:
            await self._store.run(work)
        except (sqlite3.Error, OSError) as error:
            _log.warning("what embeddings cost cannot be written: %s", error)


def spent(cache_path: Path) -> list[dict[str, Any]]:
    """Return the spending, the newest day first: `provider`, `model`, `day`, `requests`, `texts`, `tokens`, `usd`.

    `usd` is None where the price is not known, or it is free; the whole is empty when it cannot be read.
    """
    if not cache_path.exists():
        return []
    try:
        database = sqlite3.connect(f"{cache_path.resolve().as_uri()}?mode=ro", uri=True, timeout=2.0)
    except sqlite3.Error as error:
        _log.warning("what embeddings cost cannot be read: %s", error)
        return []
    try:
        rows = database.execute(
            "SELECT day, provider, model, requests, texts, tokens, usd FROM spent ORDER BY day DESC, provider, model"
        ).fetchall()
    except sqlite3.Error as error:
        if "no such table" not in str(error):  # it is being made at this moment
            _log.warning("what embeddings cost cannot be read: %s", error)
        return []
    finally:
        database.close()
    names = ("day", "provider", "model", "requests", "texts", "tokens", "usd")
    return [dict(zip(names, row, strict=True)) for row in rows]
