"""What a worker that rests has loaded: what its memories need, and nothing else."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.servers.embedding_server import EmbeddingServer

PROGRAM = """
import asyncio, json, sys
from pathlib import Path
from integrations.memory.notes.index.embedders import Embedders
from integrations.memory.notes.worker.preparing import prepare
from integrations.memory.notes.index.settings import IndexSettings

async def main():
    embedders = Embedders(Path(sys.argv[1]) / "embeddings.db")
    await prepare([IndexSettings.from_plain(json.loads(sys.argv[2]))], embedders)
    await embedders.close()

asyncio.run(main())
print(json.dumps([name for name in ("numpy", "aiohttp", "whoosh", "chromadb") if name in sys.modules]))
"""


async def loaded(folder: Path, settings: dict[str, Any]) -> list[str]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", PROGRAM, str(folder), json.dumps(settings)),
        stdout=asyncio.subprocess.PIPE,
        cwd=Path(__file__).parents[4],
    )
    said, _ = await process.communicate()
    names: list[str] = json.loads(said)
    return names


async def test_for_words_alone_nothing_more_is_loaded(tmp_path: Path) -> None:
    assert await loaded(tmp_path, {"embeddings": {"provider": "none"}}) == []


async def test_for_a_server_what_reaches_it_and_what_compares_vectors_is_loaded(
    tmp_path: Path, server: EmbeddingServer
) -> None:
    embeddings = {"provider": "openai", "base_url": server.base_url, "model": "words"}

    assert await loaded(tmp_path, {"embeddings": embeddings}) == ["numpy", "aiohttp"]


@pytest.mark.parametrize("engines", [{"keywords": "whoosh"}, {"vectors": "chroma"}])
async def test_engines_that_take_much_room_are_left_to_the_first_question(
    tmp_path: Path, engines: dict[str, str]
) -> None:
    assert await loaded(tmp_path, {"embeddings": {"provider": "none"}, **engines}) == []
