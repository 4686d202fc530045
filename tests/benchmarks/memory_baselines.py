"""What the search in memory is measured against: plain BM25, SQLite's FTS5 as it comes, and plain vectors."""

from __future__ import annotations

import math
import re
import sqlite3
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from hub.memory.chunking import Chunk, chunk
from hub.memory.contract import Hit
from hub.memory.ranking import SNIPPET_LIMIT
from integrations.memory.notes.hits import hit_of
from integrations.memory.notes.index.embeddings.local import load_encoder
from tests.memory.corpus.home import Question, home_files
from tests.memory.corpus.quality import LIMIT, Answered

# Runs of letters; a Chinese character alone, since nothing parts Chinese words.
_TOKEN = re.compile(r"[\u3400-\u9fff]|[^\W\u3400-\u9fff]+")
_K1, _B = 1.5, 0.75

Order = Callable[[str], Sequence[int]]


def baselines(questions: Sequence[Question], *, longer: bool = False) -> dict[str, list[Answered]]:
    """Ask each of them; of a passage its first characters are shown."""
    passages = [(path, each) for path, text in home_files(longer=longer).items() for each in chunk(path, text)]
    texts = [each.embed_text for _, each in passages]
    return {
        name: [Answered(each, [_hit(*passages[at]) for at in order(each.text)[:LIMIT]]) for each in questions]
        for name, order in {"BM25": _bm25(texts), "FTS5": _fts5(texts), "vectors": _vectors(texts)}.items()
    }


def _hit(path: str, passage: Chunk) -> Hit:
    return hit_of(path, passage, passage.text[:SNIPPET_LIMIT])


def _bm25(texts: Sequence[str]) -> Order:
    documents = [Counter(_TOKEN.findall(text.lower())) for text in texts]
    lengths = [document.total() for document in documents]
    mean = sum(lengths) / len(lengths)
    having = Counter(word for document in documents for word in document)

    def order(query: str) -> Sequence[int]:
        words = set(_TOKEN.findall(query.lower()))
        scores = []
        for document, length in zip(documents, lengths, strict=True):
            score = 0.0
            for word in words & document.keys():
                rarity = math.log(1 + (len(texts) - having[word] + 0.5) / (having[word] + 0.5))
                count = document[word]
                score += rarity * count * (_K1 + 1) / (count + _K1 * (1 - _B + _B * length / mean))
            scores.append(score)
        return sorted((at for at in range(len(texts)) if scores[at] > 0), key=lambda at: -scores[at])

    return order


def _fts5(texts: Sequence[str]) -> Order:
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE VIRTUAL TABLE found USING fts5(text, tokenize='porter unicode61')")
    connection.executemany("INSERT INTO found (rowid, text) VALUES (?, ?)", enumerate(texts))

    def order(query: str) -> Sequence[int]:
        words = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", query))
        rows = connection.execute("SELECT rowid FROM found WHERE found MATCH ? ORDER BY rank", (words,))
        return [int(at) for (at,) in rows]

    return order


def _vectors(texts: Sequence[str]) -> Order:
    encoder = load_encoder()
    rows = np.asarray(encoder.encode(list(texts)))
    return lambda query: [int(at) for at in np.argsort(-(rows @ encoder.encode([query])[0]))]
