"""What making vectors took and cost."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from integrations.memory.notes.index.embeddings.costs import Costs, price_usd, spent
from integrations.memory.notes.index.embeddings.store import Store
from tests.integrations.memory.embeddings.conftest import Make


async def test_requests_texts_and_tokens_are_counted_by_day_provider_and_model(make: Make, cache_path: Path) -> None:
    embedder = await make()
    before = spent(cache_path)
    await embedder.documents(["one two three four", "five"])
    await embedder.query("six")
    await embedder.close()

    (row,) = spent(cache_path)

    assert before == []
    assert (row["provider"], row["model"], row["requests"], row["texts"]) == ("openai", "words", 2, 3)
    assert row["tokens"] > 0
    assert row["usd"] is None


async def test_list_prices_hold_at_the_providers_own_address_only(cache_path: Path) -> None:
    store = Store(cache_path)
    for model, priced in (("text-embedding-3-small", True), ("text-embedding-3-large", False), ("unheard-of", True)):
        costs = Costs(store, "openai", model, priced=priced)
        costs.note(1, 1, 1_000_000)
        await costs.flush()
    await store.close()

    assert {row["model"]: row["usd"] for row in spent(cache_path)} == {
        "text-embedding-3-small": pytest.approx(0.02),
        "text-embedding-3-large": None,
        "unheard-of": None,
    }


async def test_days_are_apart_and_old_ones_go(cache_path: Path) -> None:
    store, now = Store(cache_path), datetime(2026, 11, 21, 23, 59, tzinfo=UTC)
    for days in (500, 1, 0):
        moment = (now - timedelta(days=days)).timestamp()
        costs = Costs(store, "voyage", "voyage-4", priced=True, clock=lambda moment=moment: moment)  # type: ignore[misc]
        costs.note(1, 2, 3)
        await costs.flush()
    await store.close()

    assert [row["day"] for row in spent(cache_path)] == ["2026-11-21", "2026-11-20"]


def test_nothing_was_spent_before_anything_was_asked(tmp_path: Path) -> None:
    (tmp_path / "damaged.db").write_bytes(b"no database" * 500)

    assert spent(tmp_path / "none.db") == []
    assert spent(tmp_path / "damaged.db") == []


def test_a_price_is_per_million_tokens() -> None:
    assert price_usd("voyage", "voyage-4-large", 500_000) == pytest.approx(0.06)
    assert price_usd("local", "universal-sentence-encoder-multilingual", 500_000) is None
