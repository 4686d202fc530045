"""A home with notes and a hub that indexes and searches them, with a server that makes vectors at once."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from hub.memory.chunking import tokens_in
from tests.benchmarks.homes import BenchHub, empty_home
from tests.benchmarks.memory_engines_corpus import corpus
from tests.servers.embedding_server import EmbeddingServerProcess

PROBE = Path(__file__).with_name("hub_probe")
PASSAGES_OF_A_FILE = 8
PASSAGE_TOKENS = 160
"""Of the text below a heading: with the heading it is one passage."""
SENTENCE_WORDS = 14
FIRST_LINE = "hub:\n  name: Bench\nhub_probe: {}\nmodels: {default: offline}\nagents:\n  - {id: main, default: true}\n"
FOUND_LIMIT_S = 30.0


@dataclass(frozen=True, slots=True)
class Engines:
    """Which engines a memory has, and how long its vectors are."""

    keywords: str = "fts5"
    vectors: str = "exact"
    dimensions: int = 384

    @property
    def name(self) -> str:
        """As rows name them."""
        return f"{self.vectors}+{self.keywords}"


class MemoryHub:
    """A hub with notes, and what is asked of it.

    Args:
        hub: The process.
        server: Who makes its vectors.
        workspace: Where its files are.
    """

    def __init__(self, hub: BenchHub, server: EmbeddingServerProcess, workspace: Path) -> None:
        self.hub = hub
        self.server = server
        self.workspace = workspace
        self._connection: http.client.HTTPConnection | None = None

    def rpc(self, method: str, params: Mapping[str, Any] | None = None) -> Any:
        """Call a method over a connection that stays open."""
        if self._connection is None:
            self._connection = http.client.HTTPConnection("127.0.0.1", self.hub.port, timeout=1_800)
        headers = {"Authorization": f"Bearer {self.hub.token}", "Content-Type": "application/json"}
        body = json.dumps({"method": method, "params": params or {}}).encode()
        self._connection.request("POST", "/api/rpc", body, headers)
        answer = json.loads(self._connection.getresponse().read())
        assert answer.get("ok"), answer
        return answer["payload"]

    def page_ms(self, path: str) -> float:
        """Return what a page of the dashboard takes."""
        connection = http.client.HTTPConnection("127.0.0.1", self.hub.port, timeout=60)
        begun = time.perf_counter()
        connection.request("GET", path, headers={"Authorization": f"Bearer {self.hub.token}"})
        response = connection.getresponse()
        shown = response.read()
        taken = (time.perf_counter() - begun) * 1_000
        connection.close()
        assert response.status == 200, shown[:200]
        return taken

    def service(self, name: str, data: Mapping[str, Any] | None = None) -> Any:
        """Call a service of the probe and return its response."""
        return self.rpc("service.call", {"service": f"hub_probe.{name}", "data": dict(data or {})})["response"]

    def search_ms(self, queries: Sequence[str], engines: int = 2) -> list[float]:
        """Return what searches take at the gateway; each must have asked so many engines."""
        taken = []
        for query in queries:
            begun = time.perf_counter()
            answer = self.rpc("memory.search", {"query": query})
            taken.append((time.perf_counter() - begun) * 1_000)
            assert len(answer["engines"]) == engines, answer
        return taken

    def inside_ms(self, queries: Sequence[str]) -> list[float]:
        """Return what the same takes inside the hub."""
        return list(self.service("search", {"queries": list(queries)})["ms"])

    def until_found(self, query: str, begun: float) -> float:
        """Search until something is found that has the last word of the query, and return the milliseconds since."""
        word = query.rsplit(maxsplit=1)[-1]
        while time.perf_counter() - begun < FOUND_LIMIT_S:
            if any(word in hit["text"] for hit in self.rpc("memory.search", {"query": query})["hits"]):
                return (time.perf_counter() - begun) * 1_000
        raise AssertionError(f"{query!r} was not found within {FOUND_LIMIT_S:g} s")

    def saved_ms(self, path: str, word: str) -> float:
        """Save a file as an editor does, and return the milliseconds until what is new in it is found."""
        file = self.workspace / path
        beside = file.with_suffix(".tmp")
        beside.write_text(f"{file.read_text('utf-8')}\nThe spare key hangs at the hook called {word}\n", "utf-8")
        begun = time.perf_counter()
        os.replace(beside, file)
        return self.until_found(f"where hangs the spare key {word}", begun)

    def remembered_ms(self, word: str) -> float:
        """Have something remembered, and return the milliseconds until it is found."""
        begun = time.perf_counter()
        self.rpc("memory.add", {"text": f"The ladder stands behind the door called {word}"})
        return self.until_found(f"where stands the ladder {word}", begun)

    def loop_ms(self) -> tuple[float, float, list[str]]:
        """Return by how much the loop was late at most since last asked, how much it computed at once, and where."""
        found = self.service("loop")
        return found["late_ms"], found["computed_ms"], found["places"]

    @property
    def worker(self) -> psutil.Process | None:
        """The index's process."""
        children = psutil.Process(self.hub.pid).children()
        return next((each for each in children if "integrations.memory.notes.worker" in each.cmdline()), None)

    @property
    def index_mb(self) -> float:
        """What the index takes on the disk, without the vectors that were paid for."""
        folder = self.hub.home / ".storage" / "memory" / "main"
        return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6

    def close(self) -> None:
        """Let go of the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None


@contextmanager
def memory_home(engines: Engines) -> Iterator[MemoryHub]:
    """A home with these engines; its hub is not started yet, and stopped at the end."""
    with empty_home() as home, EmbeddingServerProcess() as server:
        server.set(dimensions=engines.dimensions)
        home.mkdir(mode=0o700, parents=True)
        (home / "workspace" / "memory").mkdir(parents=True)
        (home / "configuration.yaml").write_text(
            f"{FIRST_LINE}memory:\n  keywords: {engines.keywords}\n  vectors: {engines.vectors}\n  embeddings:\n"
            f"    {{provider: openai, base_url: '{server.base_url}', model: instant, api_key: bench-key-0123456789}}\n"
        )
        shutil.copytree(PROBE, home / "custom_integrations" / PROBE.name, ignore=shutil.ignore_patterns("__pycache__"))
        with ExitStack() as ending:
            hub = BenchHub(home)
            ending.push(hub)  # stopped at the end, when it was started
            found = MemoryHub(hub, server, home / "workspace")
            ending.callback(found.close)
            yield found


def write_notes(workspace: Path, passages: int, queries: int) -> list[str]:
    """Write notes of about so many passages, several below their headings in a file, and return what is asked."""
    made = corpus(passages, queries, dimensions=1)
    for at in range(0, passages, PASSAGES_OF_A_FILE):
        parts = [f"# {made.documents[at].headings}\n"]
        parts += [
            f"## {each.headings}\n\n{_prose(each.text)}\n" for each in made.documents[at : at + PASSAGES_OF_A_FILE]
        ]
        folder = workspace / "memory" / "notes" / f"{at // 1_000:03}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{at:06}.md").write_text("\n".join(parts), "utf-8")
    return made.queries


def _prose(text: str) -> str:
    """Return words as sentences, not more of them than fit into a passage."""
    words = text.split() if " " in text else [text[at : at + 20] for at in range(0, len(text), 20)]
    sentences, tokens = [], 0
    for at in range(0, len(words), SENTENCE_WORDS if " " in text else 1):
        part = words[at : at + (SENTENCE_WORDS if " " in text else 1)]
        sentence = f"{' '.join(part).capitalize()}. " if " " in text else f"{part[0]}。"
        tokens += tokens_in(sentence)
        if tokens > PASSAGE_TOKENS:
            break
        sentences.append(sentence)
    return "".join(sentences)
