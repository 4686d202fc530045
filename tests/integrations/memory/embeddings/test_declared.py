"""The embedding model of an integration: chosen by its name, and what is said when it fails."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from integrations.memory.notes.index.contract import EmbeddingFailed
from integrations.memory.notes.index.embeddings.chain import choose
from integrations.memory.notes.index.embeddings.settings import EmbeddingSettings
from integrations.memory.notes.index.settings import IndexSettings
from tests.e2e.homes import add_integration
from tests.integrations.memory.embeddings.conftest import QUICK

ENGINE = """
from hub.memory.engine_contract import EngineUnavailable


class Model:
    model = "{model}"
    dimensions = 2

    async def embed(self, texts, *, query):
        if "away" in texts[0]:
            raise EngineUnavailable("the model is away")
        return [[3.0, 4.0 if query else 0.0] for text in texts]{broken}

    async def close(self): ...


def open_embeddings(settings):
    return Model()
"""


def settings_of(home: Path, source: str) -> dict[str, Any]:
    folder = home / "custom_integrations" / "mine"
    if not folder.exists():
        folder = add_integration(home, "mine", "", engine="embeddings")
    (folder / "engine.py").write_text(source)
    return {"mine": {"module": "custom_integrations.mine.engine", "folder": str(folder), "settings": {}}}


async def test_its_vectors_are_normalised_and_it_is_told_what_is_a_query(tmp_path: Path, cache_path: Path) -> None:
    engines = settings_of(tmp_path, ENGINE.format(model="one", broken=""))

    embedder, notes = await choose(EmbeddingSettings(provider="mine", engines=engines), cache_path, retries=QUICK)

    assert embedder is not None
    query, (document, spent) = await embedder.query("boiler"), await embedder.documents(["boiler"])
    with pytest.raises(EmbeddingFailed, match="the model is away"):
        await embedder.query("away")
    await embedder.close()
    assert [round(float(each), 3) for each in query] == [0.6, 0.8]
    assert document[0] is not None
    assert [float(each) for each in document[0]] == [1.0, 0.0]
    assert (embedder.id.fingerprint, notes, spent.requests) == ("mine|one|integration|2", [], 1)


async def test_one_that_fails_in_its_own_way_is_an_embedding_that_failed(tmp_path: Path, cache_path: Path) -> None:
    engines = settings_of(tmp_path, ENGINE.format(model="one", broken="[texts]"))

    embedder, _ = await choose(EmbeddingSettings(provider="mine", engines=engines), cache_path, retries=QUICK)

    assert embedder is not None
    with pytest.raises(EmbeddingFailed, match=r"mine .* failed: TypeError"):
        await embedder.query("boiler")
    await embedder.close()


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("1 / 0", "The engine mine cannot be loaded: ZeroDivisionError: division by zero."),
        ("def open_embeddings(settings):\n    1 / 0\n", "The model of mine cannot be opened: ZeroDivisionError"),
        ("", "The model of mine cannot be opened: AttributeError"),
    ],
)
async def test_one_that_cannot_be_opened_gives_way_to_words(
    tmp_path: Path, cache_path: Path, source: str, reason: str
) -> None:
    engines = settings_of(tmp_path, source)

    embedder, notes = await choose(EmbeddingSettings(provider="mine", engines=engines), cache_path, retries=QUICK)

    assert embedder is None
    assert notes[0].startswith(f"mine is not used: {reason}")
    assert notes[-1] == "Search goes by words alone."


async def test_a_name_that_no_integration_has_gives_way_to_words(cache_path: Path) -> None:
    embedder, notes = await choose(EmbeddingSettings(provider="nobody"), cache_path, retries=QUICK)

    assert embedder is None
    assert "There is no engine called 'nobody'" in notes[0]


def test_its_settings_and_its_code_decide_whether_it_is_chosen_again() -> None:
    known: list[dict[str, Any]] = [
        {"settings": {}},
        {"settings": {"size": 1}},
        {"settings": {}, "changed": [["engine.py", 1, 2]]},
    ]

    keys = {
        IndexSettings.from_plain({"embeddings": {"provider": "mine"}, "engines": {"mine": each}}).embeddings_key
        for each in known
    }

    assert len(keys) == 3
