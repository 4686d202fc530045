"""Asks the questions of the corpus and counts how often the answer is among what is found, and how far up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hub.core.clock import Clock
from hub.core.tasks import TaskOwner
from hub.memory.contract import NO_FILTERS, Hit
from integrations.memory.notes.client.index_worker import IndexWorker
from integrations.memory.notes.files.grep import Text, search as grep
from integrations.memory.notes.files.matching import terms_of
from integrations.memory.notes.job import Job, Source
from tests.memory.corpus.home import TODAY, TUNED, Question, area_of, home_files, questions, write_files

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

LIMIT = 6


@dataclass(frozen=True, slots=True)
class Quality:
    """How good answers are.

    Attributes:
        recall: Share of the questions whose answer is among the first six.
        mrr: Mean of 1/place of the answer, 0 where it is not among them.
        questions: How many were asked.
    """

    recall: float
    mrr: float
    questions: int


@dataclass(frozen=True, slots=True)
class Answered:
    """A question and what was found, best first."""

    question: Question
    hits: Sequence[Hit]

    @property
    def place(self) -> int | None:
        """Where the answer stands, from 0."""
        for place, hit in enumerate(self.hits):
            if any(answer in hit.shown for answer in self.question.answers):
                return place
        return None


def quality(answered: Sequence[Answered], language: str | None = None) -> Quality:
    """Return how good the answers are, to all questions or to those of a language."""
    places = [each.place for each in answered if language in (None, each.question.language)]
    found = [place for place in places if place is not None]
    count = max(1, len(places))
    return Quality(len(found) / count, sum(1 / (1 + place) for place in found) / count, len(places))


class AskedHome:
    """The corpus, laid out in a directory, with an index for each way to make one."""

    def __init__(self, directory: Path, worker: IndexWorker, *, longer: bool = False) -> None:
        self._directory = directory
        self._worker = worker
        self._files = home_files(longer=longer)
        self._areas = sorted({area_of(path) for path in self._files})
        write_files(directory / "home", self._files)

    async def ask(self, name: str, settings: Mapping[str, Any], file: str = TUNED) -> list[Answered]:
        """Ask all questions of a file of an index made with some settings of `memory:`."""
        job = Job(name, str(self._directory / name), (Source("", str(self._directory / "home")),), settings)
        synced = await self._worker.sync(job)
        if synced.problem or synced.waiting:
            raise RuntimeError(f"{name} is not whole: {synced}")
        answered = []
        for question in questions(file):
            answer = await self._worker.search(job, question.text, self._areas, NO_FILTERS, LIMIT, TODAY)
            answered.append(Answered(question, answer.hits))
        return answered

    def ask_grep(self) -> list[Answered]:
        """Ask the files themselves."""
        texts = [Text(path, text) for path, text in self._files.items()]
        answered = []
        for question in questions():
            found, _ = grep(texts, terms_of(question.text, TODAY), NO_FILTERS, TODAY, LIMIT)
            answered.append(Answered(question, found))
        return answered


@asynccontextmanager
async def index_worker(cache_directory: Path) -> AsyncIterator[IndexWorker]:
    """Give a worker of one's own, which ends with this."""
    tasks = TaskOwner("quality")
    worker = IndexWorker(cache_directory, Clock(), tasks)
    try:
        yield worker
    finally:
        await worker.close()
        await tasks.cancel_all()


@asynccontextmanager
async def asked_home(directory: Path, *, longer: bool = False) -> AsyncIterator[AskedHome]:
    """Lay the corpus out below a directory, with a worker of its own."""
    async with index_worker(directory / "cache") as worker:
        yield AskedHome(directory, worker, longer=longer)
