"""The model that runs here, against what is published of it and against a slow reference of the same."""

from __future__ import annotations

import asyncio
import math
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file
from tokenizers import Tokenizer

from integrations.memory.notes.index.embeddings.chain import EmbeddingSettings, choose
from integrations.memory.notes.index.embeddings.costs import spent
from integrations.memory.notes.index.embeddings.local import Local, model_directory
from integrations.memory.notes.index.embeddings.minilm import MiniLM, ModelDamaged
from integrations.memory.notes.index.embeddings.provider import EmbeddingRole, ProviderFailed

LONG = " ".join(
    f"Sentence number {number} is about the garden, the tools in the shed and the rain." for number in range(60)
)


@pytest.fixture(scope="module")
def model() -> MiniLM:
    """The real model of the installed package."""
    return MiniLM(model_directory())


def _unit(model: MiniLM, texts: list[str]) -> Any:
    rows, _ = model.embed(texts)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def test_it_gives_the_published_similarities(model: MiniLM) -> None:
    # As the model's page shows them for sentence-transformers.
    rows = _unit(
        model,
        ["That is a happy person", "That is a happy dog", "That is a very happy person", "Today is a sunny day"],
    )

    assert (rows @ rows[0])[1:] == pytest.approx([0.695, 0.943, 0.257], abs=0.001)


@pytest.mark.parametrize(
    "text", ["Hello", "The dentist appointment is on May 12th.", "Ünïcödé, 你好 and emoji 🎉", "a " * 25]
)
def test_it_agrees_with_a_slow_reference(model: MiniLM, text: str) -> None:
    (row,) = _unit(model, [text])

    assert float(row @ _reference(text)) == pytest.approx(1.0, abs=1e-5)


def test_neighbours_in_a_batch_change_nothing(model: MiniLM) -> None:
    texts = ["short", LONG[:200], "", "a text of middling length about the car and its tyres", "short"]

    together, alone = _unit(model, texts), np.concatenate([_unit(model, [text]) for text in texts])

    assert np.allclose(together, alone, atol=1e-5)


def test_the_end_of_a_long_text_counts(model: MiniLM) -> None:
    plain, about_fish, query = _unit(
        model,
        [LONG[:2_200], LONG[:1_500] + " The aquarium holds goldfish and two catfish. " * 12, "fish in the aquarium"],
    )

    assert float(query @ about_fish) > float(query @ plain) + 0.1


def test_what_is_alike_is_nearer(model: MiniLM) -> None:
    notes = [
        "Anna is allergic to peanuts.",
        "The car was at the garage, the brakes are new.",
        "We fly to Lisbon on the third of June.",
        "The router's password is on the back of the box.",
    ]
    queries = ["what food must my daughter avoid", "vehicle repair", "holiday trip to Portugal", "wifi credentials"]

    rows, asked = _unit(model, notes), _unit(model, queries)

    assert [int(np.argmax(rows @ query)) for query in asked] == [0, 1, 2, 3]


async def test_it_is_an_embedder_like_any_other(tmp_path: Path) -> None:
    embedder, notes = await choose(EmbeddingSettings(provider="local"), tmp_path / "embeddings.db")
    assert embedder is not None

    vectors, took = await embedder.documents(["one", "two", " "])
    again, cached = await embedder.documents(["one", "two"])
    query = await embedder.query("one")
    await embedder.close()

    assert notes == []
    assert [None if vector is None else len(vector) for vector in vectors] == [384, 384, None]
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


async def test_a_closed_model_makes_nothing(model: MiniLM) -> None:
    local = Local(model, "1")
    await local.close()

    with pytest.raises(ProviderFailed):
        await local.embed(["one"], EmbeddingRole.DOCUMENT)


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    """A copy of the model that a test may break; its weights are cut, so that it is small."""
    for name in ("config.json", "tokenizer.json"):
        shutil.copy(model_directory() / name, tmp_path / name)
    with (model_directory() / "model.safetensors").open("rb") as file:
        (tmp_path / "model.safetensors").write_bytes(file.read(1_000_000))
    return tmp_path


@pytest.mark.parametrize("what", ["nothing", "config.json", "tokenizer.json", "model.safetensors"])
def test_a_model_whose_files_are_damaged_is_not_loaded(broken: Path, what: str) -> None:
    if what != "nothing":
        (broken / what).write_bytes(b"\x00" * 1_000)

    with pytest.raises(ModelDamaged):
        MiniLM(broken)


def test_a_model_of_another_shape_is_not_loaded(broken: Path) -> None:
    config = broken / "config.json"
    config.write_text(config.read_text().replace('"hidden_size": 384', '"hidden_size": 768'))

    with pytest.raises(ModelDamaged):
        MiniLM(broken)


def _reference(text: str) -> Any:
    """The same model written out plainly, in float64, a token and a head at a time, with Python's own erf."""
    weights = {
        name: array.astype(np.float64) for name, array in load_file(model_directory() / "model.safetensors").items()
    }
    tokenizer = Tokenizer.from_file(str(model_directory() / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(256)
    ids = tokenizer.encode(text).ids
    erf = np.vectorize(math.erf)

    def dense(values: Any, name: str) -> Any:
        return values @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]

    def norm(values: Any, name: str) -> Any:
        mean, deviation = values.mean(-1, keepdims=True), values.std(-1, keepdims=True)
        return (values - mean) / np.sqrt(deviation**2 + 1e-12) * weights[f"{name}.weight"] + weights[f"{name}.bias"]

    hidden = norm(
        weights["embeddings.word_embeddings.weight"][ids]
        + weights["embeddings.position_embeddings.weight"][: len(ids)]
        + weights["embeddings.token_type_embeddings.weight"][0],
        "embeddings.LayerNorm",
    )
    for number in range(6):
        layer = f"encoder.layer.{number}"
        query, key, value = (dense(hidden, f"{layer}.attention.self.{name}") for name in ("query", "key", "value"))
        seen = np.zeros_like(hidden)
        for head in range(12):
            part = slice(head * 32, head * 32 + 32)
            scores = np.exp(query[:, part] @ key[:, part].T / math.sqrt(32))
            seen[:, part] = scores / scores.sum(-1, keepdims=True) @ value[:, part]
        hidden = norm(hidden + dense(seen, f"{layer}.attention.output.dense"), f"{layer}.attention.output.LayerNorm")
        wide = dense(hidden, f"{layer}.intermediate.dense")
        wide = wide * 0.5 * (1 + erf(wide / math.sqrt(2)))
        hidden = norm(hidden + dense(wide, f"{layer}.output.dense"), f"{layer}.output.LayerNorm")
    mean = hidden.mean(axis=0)
    return mean / np.linalg.norm(mean)
