"""A process that makes vectors, to be killed or starved of disk.

`python -m … BASE_URL CACHE TEXTS [FILE_LIMIT]`
"""

from __future__ import annotations

import asyncio
import resource
import signal
import sys
from pathlib import Path

from integrations.memory.notes.index.embeddings.chain import choose
from integrations.memory.notes.index.embeddings.settings import EmbeddingSettings


async def main(base_url: str, cache_path: str, count: str, file_limit: str = "") -> None:
    """Embed `count` texts and print how many got a vector."""
    if file_limit:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(file_limit), int(file_limit)))
    settings = EmbeddingSettings(provider="openai", base_url=base_url, model="words", parallel=2)
    embedder, notes = await choose(settings, Path(cache_path))
    assert embedder is not None, notes
    vectors, _ = await embedder.documents([f"text {number}" for number in range(int(count))])
    query = await embedder.query("text")
    await embedder.close()
    print(sum(vector is not None for vector in vectors), len(query), flush=True)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
