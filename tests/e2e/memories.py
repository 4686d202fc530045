"""The memory of a hub that runs, as its owner has it: commands, files written by editors, and a configuration."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson
import psutil

from tests.e2e.talk import until
from tests.servers.embedding_script import EmbeddingScript
from tests.servers.embedding_server import EmbeddingServer
from tests.servers.hub_process import HubProcess
from tests.servers.openai_server import OpenAIServer

WORKER = "integrations.memory.notes.worker"
WORDS_ALONE = {"provider": "none"}


@contextmanager
def talking(path: Path, openai_server: OpenAIServer, files: Mapping[str, str] | None = None) -> Iterator[Memories]:
    """Run a hub whose owner talks to a scripted model, with vectors of a scripted server and some memory files."""
    provider = {
        "api": "openai",
        "base_url": openai_server.base_url,
        "api_key": "test-key-0123456789",
        "models": [{"id": "scripted"}],
    }
    hub = HubProcess(path)
    with EmbeddingServer() as embeddings:
        sections = {
            "models": {"default": "test/scripted", "providers": {"test": provider}},
            "people": [{"id": "me", "name": "Me", "owner": True}],
            "memory": {"embeddings": at_server(embeddings.base_url), "recall": {"timeout": 10}},
        }
        home = Memories(hub, sections)
        for name, text in (files or {}).items():
            home.write(name, text)
        with hub:
            yield home
    assert "Traceback" not in hub.log.read_text()


def at_server(base_url: str, **more: Any) -> dict[str, Any]:
    """The section `memory.embeddings` for a scripted server."""
    return {"provider": "openai", "base_url": base_url, "model": "words", "timeout": 60, **more}


class Memories:
    """What the owner of a home does with the memory of one agent.

    Args:
        hub: The hub; it need not run yet.
        sections: The configuration, written as JSON, which is YAML.
        agent: Whose memory.
    """

    def __init__(self, hub: HubProcess, sections: Mapping[str, Any], agent: str = "main") -> None:
        self.hub = hub
        self.agent = agent
        self.sections: dict[str, Any] = {"models": {"default": "offline"}, **sections}
        self.workspace = hub.home / ("workspace" if agent == "main" else f"workspace-{agent}")
        self.index = hub.home / ".storage" / "memory" / agent
        hub.home.mkdir(mode=0o700, exist_ok=True)
        self.configure()

    # --- configuration ---

    def configure(self, **memory: Any) -> None:
        """Change keys of the section `memory` as an editor does; a hub that runs takes them up by itself."""
        self.sections["memory"] = {**self.sections.get("memory", {}), **memory}
        (self.hub.home / "configuration.yaml").write_text(json.dumps(self.sections, indent=1))

    # --- files ---

    def write(self, path: str, text: str) -> Path:
        """Write a file of the workspace in place."""
        file = self.workspace / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return file

    def save(self, path: str, text: str) -> None:
        """Save a file as most editors do: another is written beside it, and put in its place."""
        file = self.workspace / path
        beside = file.with_name(f".{file.name}.swp")
        beside.write_text(text, encoding="utf-8")
        os.replace(beside, file)

    def texts(self) -> dict[str, bytes]:
        """The memory files, byte for byte."""
        files = [*self.workspace.glob("MEMORY.md"), *(self.workspace / "memory").rglob("*")]
        return {file.relative_to(self.workspace).as_posix(): file.read_bytes() for file in files if file.is_file()}

    # --- commands ---

    def call(self, *arguments: str, code: int = 0) -> Any:
        """Run `homarus memory … --json` and return what it printed."""
        ran = self.hub.cli("memory", *arguments, *self._agent(arguments), "--json")
        assert ran.returncode == code, (arguments, ran.returncode, ran.stdout, ran.stderr)
        return json.loads(ran.stdout)

    def printed(self, *arguments: str, code: int = 0) -> str:
        """Run `homarus memory …` and return what people read of it."""
        ran = self.hub.cli("memory", *arguments)
        assert ran.returncode == code, (arguments, ran.returncode, ran.stdout, ran.stderr)
        return ran.stdout + ran.stderr

    def search(self, text: str, **params: Any) -> Any:
        """Search, sooner than by starting a command."""
        return self.hub.rpc("memory.search", {"query": text, "agent": self.agent, **params})

    def status(self) -> Any:
        """What is known of the index."""
        return self.hub.rpc("memory.status", {"agent": self.agent})

    def indexed(self, **params: Any) -> Any:
        """Bring the index up to date."""
        return self.hub.rpc("memory.index", {"agent": self.agent, **params})

    def verified(self) -> Any:
        """Compare files and index."""
        return self.hub.rpc("memory.verify", {"agent": self.agent})

    # --- what it comes to ---

    def paths(self, text: str, **params: Any) -> list[str]:
        """Where a search finds something, with all engines that were asked."""
        return [hit["path"] for hit in self.search(text, **params)["hits"]]

    def engines(self, text: str = "boiler") -> list[str]:
        """Who is asked; `grep` when nobody could be."""
        return list(self.search(text)["engines"])

    def until_found(self, text: str, path: str, *, by: str | None = None, saying: str = "") -> Any:
        """Wait until a search finds something in a file, by an engine, and return its answer."""

        def look() -> Any:
            answer = self.search(text)
            there = any(hit["path"] == path and saying in hit["text"] for hit in answer["hits"])
            return answer if there and (by is None or by in answer["engines"]) else None

        return until(look, 60)

    def until_told(self, text: str, why: str) -> Any:
        """Wait until a search says what it goes without, and return its answer."""
        return until(lambda: why in ((answer := self.search(text))["degraded"] or "") and answer)

    def until_complete(self, text: str) -> Any:
        """Wait until a search goes without nothing, and return its answer."""
        return until(lambda: (answer := self.search(text))["degraded"] is None and answer)

    def until_gone(self, text: str, path: str) -> None:
        """Wait until a search by the index finds nothing in a file any longer."""
        until(lambda: "grep" not in self.engines(text) and path not in self.paths(text), 60)

    def until_whole(self) -> Any:
        """Wait until the index is whole and agrees with the files, and return what it is made of."""

        def look() -> Any:
            index = self.status()["index"]
            is_ready = index is not None and index.get("state") == "ready" and not index["waiting"]
            return index if is_ready else None

        # What was read before they were compared may be of before the last file.
        return until(lambda: look() and self.verified()["ok"] and look(), 60)

    def repairs(self) -> list[str]:
        """What the hub says is wrong with the memory."""
        return [each["text"] for each in self.hub.rpc("status")["repairs"] if each["source"] == "memory"]

    def worker(self) -> int | None:
        """The process that has the index, None while there is none."""
        return next(iter(workers(self.hub.pid)), None)

    def generation(self) -> Path:
        """Where the files of the index in force are."""
        current = orjson.loads((self.index / "current").read_bytes())
        return self.index / str(current["version"])

    def _agent(self, arguments: tuple[str, ...]) -> tuple[str, ...]:
        return () if self.agent == "main" or "--agent" in arguments else ("--agent", self.agent)


def paid_for(server: EmbeddingScript) -> int:
    """How many passages were embedded in requests of several; a search asks for one text at a time."""
    return sum(each.texts for each in server.asked() if each.texts > 1)


def workers(hub_pid: int) -> list[int]:
    """The index workers that a hub started and that live."""
    try:
        children = psutil.Process(hub_pid).children()
    except psutil.NoSuchProcess:
        return []
    return [child.pid for child in children if is_worker(child.pid)]


def is_worker(pid: int) -> bool:
    """Whether a process is a live index worker."""
    try:
        process = psutil.Process(pid)
        return WORKER in process.cmdline() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def corpus(files: int, passages_each: int) -> dict[str, str]:
    """Day files with as many passages, always the same."""
    found = {}
    for at in range(files):
        day = f"{2015 + at // 336}-{at // 28 % 12 + 1:02}-{at % 28 + 1:02}"
        entries = "".join(
            f"- The {_THINGS[number % len(_THINGS)]} number{number} was looked after by "
            f"{_PEOPLE[number % len(_PEOPLE)]} in {number % 50} minutes\n"
            f"  _fact · {day} 10:00 · from me in `agent:main:main`_\n"
            for number in range(at * passages_each, (at + 1) * passages_each)
        )
        found[f"memory/{day}.md"] = f"# {day}\n\n{entries}"
    return found


_THINGS = ("boiler", "roof", "bicycle", "piano", "garden pump", "kitchen lamp", "cellar door")
_PEOPLE = ("Kessler", "Anna", "Mei", "Ben", "the neighbour")

__all__ = ["WORDS_ALONE", "Memories", "at_server", "corpus", "is_worker", "paid_for", "workers"]
