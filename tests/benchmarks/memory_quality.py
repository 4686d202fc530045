"""Quality of the search in memory: recall@6 as shown and MRR of each engine, of both together, and of plain ones."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hub.agent.recall.recall import relevance
from hub.memory.schema import MEMORY_SCHEMA
from tests.benchmarks.memory_baselines import baselines
from tests.benchmarks.table import Row, row
from tests.memory.corpus.home import FOREIGN, HARD, HARD_HELD_OUT, HELD_OUT, TUNED, questions
from tests.memory.corpus.quality import Answered, asked_home, quality

LOCAL = {"provider": "local"}
NONE = {"provider": "none"}
MEANING_ALONE = {"vector_weight": 1, "text_weight": 0}
WAYS: Mapping[str, Mapping[str, Any]] = {
    "keywords fts5": {"embeddings": NONE, "keywords": "fts5"},
    "keywords whoosh": {"embeddings": NONE, "keywords": "whoosh"},
    "vectors exact": {"embeddings": LOCAL, "vectors": "exact", "search": MEANING_ALONE},
    "vectors chroma": {"embeddings": LOCAL, "vectors": "chroma", "search": MEANING_ALONE},
    "both, weighted": {"embeddings": LOCAL},
}
LANGUAGES = {"English": "en", "Chinese": "zh", "all": None}
SORTS = ("word", "meaning", "date", "person", "across", "entry", "prose")
FILES = {"tuned": TUNED, "held out": HELD_OUT}
HARD_FILES = {"hard, tuned": HARD, "hard, held out": HARD_HELD_OUT}
GATE = float(MEMORY_SCHEMA({})["recall"]["min_score"])


def measure() -> list[Row]:
    """Ask every question of the corpus in every way, those by which the ranking was chosen apart from the others."""
    with tempfile.TemporaryDirectory() as directory:
        answered = asyncio.run(_ask(Path(directory)))
    foreign = answered.pop(FOREIGN)
    rows = []
    for way, answers in answered.items():
        sys.stderr.write(f"  {way}: {_by_sort(answers)}\n")
        for language, code in LANGUAGES.items():
            found = quality(answers, code)
            if not found.questions:
                continue
            rows.append(row(f"memory {way}, {language}: recall@6 as shown", "share", [found.recall]))
            rows.append(row(f"memory {way}, {language}: MRR", "share", [found.mrr]))
    return rows + _recalled(foreign)


def _recalled(foreign: Sequence[Answered]) -> list[Row]:
    """Return before how many questions about other things something is recalled."""
    rows = []
    for language, code in LANGUAGES.items():
        asked = [each for each in foreign if code in (None, each.question.language)]
        recalled = sum(any(relevance(hit) >= GATE for hit in each.hits) for each in asked)
        rows.append(row(f"memory recall, {language}: before a foreign question", "share", [recalled / len(asked)]))
    return rows


async def _ask(directory: Path) -> dict[str, list[Answered]]:
    answered = {}
    async with asked_home(directory) as home:
        for name, file in FILES.items():
            for way, how in WAYS.items():
                answered[f"{name}: {way}"] = await home.ask(way.replace(", ", "-").replace(" ", "-"), how, file)
            answered |= {f"{name}: plain {way}": found for way, found in baselines(questions(file)).items()}
        answered["tuned: grep"] = home.ask_grep()
        answered[FOREIGN] = await home.ask("both-weighted", WAYS["both, weighted"], FOREIGN)
    async with asked_home(directory / "longer", longer=True) as home:
        for name, file in HARD_FILES.items():
            for way, how in WAYS.items():
                answered[f"{name}: {way}"] = await home.ask(way.replace(", ", "-").replace(" ", "-"), how, file)
            plain = baselines(questions(file), longer=True)
            answered |= {f"{name}: plain {way}": found for way, found in plain.items()}
    return answered


def _by_sort(answers: Sequence[Answered]) -> str:
    """Return the recall for each sort of question, for whoever tunes."""
    parts = []
    for sort in SORTS:
        found = quality([each for each in answers if each.question.sort == sort])
        parts += [f"{sort} {found.recall:.2f}"] if found.questions else []
    return ", ".join(parts)
