"""Who makes vectors, and what is said of those who do not."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from hub.memory.schema import VENDORS as NAMES
from integrations.memory.notes.index.contract import Embedder, EmbeddingFailed
from integrations.memory.notes.index.embeddings.chain import choose
from integrations.memory.notes.index.embeddings.local import missing_packages
from integrations.memory.notes.index.embeddings.settings import EmbeddingSettings
from integrations.memory.notes.index.embeddings.vendors import VENDORS
from tests.integrations.memory.embeddings.conftest import ENGINES, QUICK
from tests.servers.embedding_server import EmbeddingServer

NO_LOCAL = {"dimensions": 256}
"""A length that the local model does not have, so that the chain goes on behind it."""
KEYS = {"openai": "sk-one-key", "gemini": "AIza-another", "voyage": "pa-third"}


class Chooser:
    """Chooses, and closes what it chose."""

    def __init__(self, cache_path: Path) -> None:
        self._cache_path = cache_path
        self.notes: list[str] = []
        self._made: list[Embedder] = []

    async def __call__(self, **settings: Any) -> Embedder | None:
        wanted = EmbeddingSettings(**{"engines": ENGINES, **settings})
        embedder, self.notes = await choose(wanted, self._cache_path, retries=QUICK)
        if embedder is not None:
            self._made.append(embedder)
        return embedder

    async def close(self) -> None:
        for embedder in self._made:
            await embedder.close()


@pytest.fixture
async def chosen(cache_path: Path) -> AsyncIterator[Chooser]:
    chooser = Chooser(cache_path)
    yield chooser
    await chooser.close()


async def test_the_local_model_comes_first_when_it_is_installed(chosen: Chooser) -> None:
    embedder = await chosen(keys=KEYS, base_url="http://127.0.0.1:9/v1")

    assert embedder is not None
    assert (embedder.id.provider, embedder.id.model, embedder.id.dimensions) == (
        "local",
        "universal-sentence-encoder-multilingual",
        512,
    )
    assert chosen.notes == []


@pytest.mark.parametrize(
    ("keys", "fingerprint"),
    [
        (KEYS, "openai|text-embedding-3-small|https://api.openai.com/v1|256"),
        (
            {"gemini": "k", "voyage": "k"},
            "gemini|gemini-embedding-001|https://generativelanguage.googleapis.com/v1beta|256",
        ),
        ({"voyage": "k"}, "voyage|voyage-4|https://api.voyageai.com/v1|256"),
    ],
)
async def test_behind_it_the_first_that_has_a_key(chosen: Chooser, keys: dict[str, str], fingerprint: str) -> None:
    embedder = await chosen(keys=keys, **NO_LOCAL)

    assert embedder is not None
    assert embedder.id.fingerprint == fingerprint
    assert len(chosen.notes) == 4 - len(keys)
    assert list(embedder.notes) == chosen.notes


async def test_at_last_the_server_at_the_base_url(chosen: Chooser, server: EmbeddingServer) -> None:
    embedder = await chosen(base_url=server.base_url, **NO_LOCAL)

    assert embedder is not None
    assert embedder.id.fingerprint == f"openai|text-embedding-3-small|{server.base_url}|256"
    assert len(chosen.notes) == 4
    assert "OPENAI_API_KEY" in chosen.notes[1]


async def test_without_any_of_them_search_goes_by_words_and_it_is_said_why(chosen: Chooser) -> None:
    assert await chosen(**NO_LOCAL) is None

    assert [note.split(" is ")[0] for note in chosen.notes[:-1]] == [
        "The local model",
        "OpenAI",
        "Gemini",
        "Voyage",
        "A server",
    ]
    assert chosen.notes[-1] == "Search goes by words alone."


@pytest.mark.parametrize(
    ("settings", "note"),
    [
        ({"provider": "gemini", "api_key": "k", "engines": {}}, "Gemini is not used: There is no engine called"),
        ({"provider": "litellm"}, "litellm is not used: set memory.embeddings.model to a vendor and its model"),
        ({"provider": "litellm", "model": "cohere"}, "litellm is not used: set memory.embeddings.model to a vendor"),
    ],
)
async def test_a_vendor_that_cannot_be_asked_is_told(chosen: Chooser, settings: dict[str, Any], note: str) -> None:
    assert await chosen(**settings) is None

    assert chosen.notes[0].startswith(note)


async def test_any_vendor_that_litellm_knows_is_named_before_its_model(chosen: Chooser) -> None:
    embedder = await chosen(provider="litellm", model="cohere/embed-v4.0", keys={"cohere": "k"}, dimensions=1_024)

    assert embedder is not None
    assert embedder.id.fingerprint == "cohere|embed-v4.0|litellm|1024"


async def test_none_asks_nobody(chosen: Chooser, cache_path: Path) -> None:
    assert await chosen(provider="none", keys=KEYS) is None

    assert len(chosen.notes) == 1
    assert not await asyncio.to_thread(cache_path.exists)


@pytest.mark.parametrize("provider", ["openai", "gemini", "voyage"])
async def test_who_is_named_needs_a_key(chosen: Chooser, provider: str) -> None:
    others = {name: key for name, key in KEYS.items() if name != provider}

    assert await chosen(provider=provider, keys=others) is None

    assert "there is no key" in chosen.notes[0]
    assert not any(key in note for note in chosen.notes for key in KEYS.values())


async def test_the_local_model_that_is_named_must_fit(chosen: Chooser) -> None:
    assert await chosen(provider="local", model="bge-m3") is None

    assert "bge-m3" in chosen.notes[0]


def test_the_vendors_of_the_configuration_are_those_that_are_known() -> None:
    assert list(VENDORS) == list(NAMES)


def test_what_is_not_installed_is_named() -> None:
    assert missing_packages(["numpy", "no_such_package_at_all"]) == ["no_such_package_at_all"]


@pytest.mark.parametrize(
    ("model", "provider"),
    [("voyage-4-large", "voyage"), ("gemini-embedding-2", "gemini"), ("text-embedding-3-large", "openai")],
)
async def test_a_model_that_is_named_decides_whose_it_is(chosen: Chooser, model: str, provider: str) -> None:
    embedder = await chosen(model=model, keys=KEYS)

    assert embedder is not None
    assert (embedder.id.provider, embedder.id.model) == (provider, model)


@pytest.mark.parametrize(("key", "provider"), [("AIza-x", "gemini"), ("pa-x", "voyage"), ("sk-x", "openai")])
async def test_a_key_without_a_provider_is_of_whom_it_looks_like(chosen: Chooser, key: str, provider: str) -> None:
    embedder = await chosen(api_key=key, **NO_LOCAL)

    assert embedder is not None
    assert embedder.id.provider == provider


async def test_a_key_beside_a_base_url_is_the_servers(chosen: Chooser, server: EmbeddingServer) -> None:
    server.set(key="sk-of-the-server")
    embedder = await chosen(base_url=server.base_url, api_key="sk-of-the-server", **NO_LOCAL)

    assert embedder is not None
    vectors, _ = await embedder.documents(["one"])
    assert vectors[0] is not None


@pytest.mark.parametrize(
    ("models", "expected"),
    [
        (["whatever.gguf"], "whatever.gguf"),
        (["llama3.2:latest", "nomic-embed-text:latest", "qwen3"], "nomic-embed-text:latest"),
        (["chat-a", "BAAI/bge-m3"], "BAAI/bge-m3"),
    ],
)
async def test_a_server_is_asked_which_model_it_has(
    chosen: Chooser, server: EmbeddingServer, models: list[str], expected: str
) -> None:
    server.set(models=models, any_model=False)

    embedder = await chosen(provider="openai", base_url=server.base_url)

    assert embedder is not None
    assert embedder.id.model == expected
    assert embedder.id.dimensions == 384


@pytest.mark.parametrize("models", [["llama3", "qwen3"], []])
async def test_a_server_whose_models_say_nothing_asks_for_one(
    chosen: Chooser, server: EmbeddingServer, models: list[str]
) -> None:
    server.set(models=models)

    assert await chosen(provider="openai", base_url=server.base_url) is None

    assert "memory.embeddings.model" in chosen.notes[0]
    assert all(model in chosen.notes[0] for model in models)


async def test_a_server_that_is_away_does_not_change_the_choice(chosen: Chooser, server: EmbeddingServer) -> None:
    before = await chosen(provider="openai", base_url=server.root_url)
    server.stop()

    after = await chosen(provider="openai", base_url=server.root_url)

    assert before is not None
    assert after is not None
    assert after.id.fingerprint == before.id.fingerprint


async def test_another_model_at_the_server_does_not_change_the_choice_while_the_first_is_there(
    chosen: Chooser, server: EmbeddingServer
) -> None:
    server.set(models=["m-embed"])
    await chosen(provider="openai", base_url=server.base_url)
    server.set(models=["a-embed", "m-embed"])

    embedder = await chosen(provider="openai", base_url=server.base_url)

    assert embedder is not None
    assert embedder.id.model == "m-embed"


async def test_a_server_that_was_never_seen_and_is_away_is_told(chosen: Chooser) -> None:
    assert await chosen(provider="openai", base_url="http://127.0.0.1:9/v1") is None

    assert "cannot be reached at http://127.0.0.1:9/v1" in chosen.notes[0]
    assert "memory.embeddings.model" in chosen.notes[0]


async def test_a_server_that_is_away_is_used_when_it_is_back(chosen: Chooser, server: EmbeddingServer) -> None:
    port = server.port
    server.stop()
    embedder = await chosen(provider="openai", base_url=server.base_url, model="words")
    assert embedder is not None
    with pytest.raises(EmbeddingFailed):
        await embedder.documents(["one"])

    again = EmbeddingServer()
    again.start(port)
    vectors, _ = await embedder.documents(["one"])
    again.stop()

    assert vectors[0] is not None
    assert embedder.id.dimensions == 384


async def test_a_key_goes_only_to_the_address_that_it_is_for(chosen: Chooser, server: EmbeddingServer) -> None:
    embedder = await chosen(keys={"openai": "sk-one"}, urls={"openai": server.base_url}, **NO_LOCAL)

    assert embedder is not None
    assert embedder.id.endpoint == server.base_url


async def test_a_market_of_models_is_not_chosen_from(chosen: Chooser, server: EmbeddingServer) -> None:
    server.set(models=[f"vendor/embed-{number}" for number in range(300)])

    assert await chosen(provider="openai", base_url=server.base_url) is None


async def test_cancelling_a_choice_leaves_nothing_open(cache_path: Path, server: EmbeddingServer) -> None:
    server.set(delay_s=30.0)
    settings = EmbeddingSettings(provider="openai", base_url=server.base_url, model="words")
    task = asyncio.create_task(choose(settings, cache_path))
    while not server.requests:  # noqa: ASYNC110  it is asked in another thread
        await asyncio.sleep(0.01)

    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task


def test_settings_do_not_print_keys() -> None:
    settings = EmbeddingSettings(api_key="sk-secret", keys={"openai": "sk-other"})

    assert "sk-" not in repr(settings)
