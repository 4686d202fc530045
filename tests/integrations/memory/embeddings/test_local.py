"""The model that runs here: what is alike in either language is near, whatever else is embedded with it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import numpy as np
import pytest

from integrations.memory.notes.index.embeddings.chain import choose
from integrations.memory.notes.index.embeddings.costs import spent
from integrations.memory.notes.index.embeddings.local import Encoder, Local, load_encoder
from integrations.memory.notes.index.embeddings.provider import EmbeddingRole, ProviderFailed
from integrations.memory.notes.index.embeddings.settings import EmbeddingSettings

LONG = " ".join(
    f"Sentence number {number} is about the garden, the tools in the shed and the rain." for number in range(60)
)
NOTES = [
    "Anna is allergic to peanuts.",
    "The car was at the garage, the brakes are new.",
    "We fly to Lisbon on the third of June.",
    "The router's password is on the back of the box.",
]


@pytest.fixture(scope="module")
def model() -> Encoder:
    """The real model of the installed package."""
    return load_encoder()


def test_neighbours_in_a_batch_change_nothing(model: Encoder) -> None:
    texts = ["short", LONG[:200], "", "a text of middling length about the car and its tyres", "short"]

    together, alone = model.encode(texts), np.concatenate([model.encode([text]) for text in texts])

    assert np.allclose(together, alone, atol=1e-5)


@pytest.mark.parametrize(
    "queries",
    [
        ["what food must my daughter avoid", "vehicle repair", "holiday trip to Portugal", "wifi credentials"],
        ["安娜不能吃什么", "修车", "去葡萄牙度假", "无线网密码"],
    ],
)
def test_what_is_alike_is_nearer_in_either_language(model: Encoder, queries: list[str]) -> None:
    rows, asked = np.asarray(model.encode(NOTES)), model.encode(queries)

    assert [int(np.argmax(rows @ query)) for query in asked] == [0, 1, 2, 3]


async def test_half_a_character_is_no_reason_to_fail(model: Encoder) -> None:
    local = Local(model, "1")
    made = await local.embed(["a\udc80b"], EmbeddingRole.DOCUMENT)
    await local.close()

    assert len(made.rows[0]) == 512


async def test_it_is_an_embedder_like_any_other(tmp_path: Path) -> None:
    embedder, notes = await choose(EmbeddingSettings(provider="local"), tmp_path / "embeddings.db")
    assert embedder is not None

    vectors, took = await embedder.documents(["one", "two", " "])
    again, cached = await embedder.documents(["one", "two"])
    query = await embedder.query("one")
    await embedder.close()

    assert notes == []
    assert [None if vector is None else len(vector) for vector in vectors] == [512, 512, None]
    assert (took.texts, cached.cached) == (2, 2)
    assert vectors[0] is not None
    assert float(query @ vectors[0]) == pytest.approx(1.0, abs=1e-5)
    assert np.array_equal(np.asarray(again[0]), vectors[0])
    assert [row["usd"] for row in spent(tmp_path / "embeddings.db")] == [None]


async def test_a_question_does_not_wait_for_a_large_job(tmp_path: Path) -> None:
    embedder, _ = await choose(EmbeddingSettings(provider="local"), tmp_path / "embeddings.db")
    assert embedder is not None
    job = asyncio.create_task(embedder.documents([f"{LONG} {number}" for number in range(60)]))

    await embedder.query("who is there")

    assert not job.done()
    job.cancel()
    with pytest.raises(asyncio.CancelledError):
        await job
    await embedder.close()


async def test_a_closed_model_makes_nothing(model: Encoder) -> None:
    local = Local(model, "1")
    await local.close()

    with pytest.raises(ProviderFailed):
        await local.embed(["one"], EmbeddingRole.DOCUMENT)
