"""The choice of an engine: what is told when its package is missing or its name is none."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from hub.memory.schema import KEYWORDS, VECTORS
from integrations.memory.notes.index import keywords, vectors
from integrations.memory.notes.index.contract import KeywordIndex, VectorIndex

MISSING = """
import sys
from pathlib import Path
sys.modules["whoosh"] = None
sys.modules["chromadb"] = None
from integrations.memory.notes.index.contract import EngineMissing
from integrations.memory.notes.index.keywords import open_keywords
from integrations.memory.notes.index.vectors import open_vectors
place = Path(sys.argv[1])
for open_it in (lambda: open_keywords("whoosh", place), lambda: open_vectors("chroma", place, 8)):
    try:
        open_it()
    except EngineMissing as error:
        print(error.text)
open_keywords("fts5", Path(sys.argv[1])).close()
open_vectors("exact", Path(sys.argv[1]), 8).close()
print(sorted({name.partition(".")[0] for name, module in sys.modules.items() if module} & {"whoosh", "chromadb"}))
"""


def test_the_engines_are_those_of_the_configuration() -> None:
    assert set(keywords.ENGINES) == set(KEYWORDS)
    assert set(vectors.ENGINES) == set(VECTORS)


def test_another_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="fts5"):
        keywords.open_keywords("lucene", tmp_path)
    with pytest.raises(ValueError, match="exact"):
        vectors.open_vectors("faiss", tmp_path, 8)


def test_a_missing_package_is_told_with_the_command_and_the_others_work_without_it(tmp_path: Path) -> None:
    told = subprocess.run([sys.executable, "-c", MISSING, str(tmp_path)], capture_output=True, text=True, check=True)

    whoosh, chroma, loaded = told.stdout.splitlines()
    assert "uv pip install 'homarus[whoosh]'" in whoosh
    assert "keywords: fts5" in whoosh
    assert "uv pip install 'homarus[chromadb]'" in chroma
    assert "vectors: exact" in chroma
    assert loaded == "[]"


def test_all_four_can_share_a_directory(tmp_path: Path) -> None:
    opened: list[KeywordIndex | VectorIndex] = [
        keywords.open_keywords("fts5", tmp_path),
        keywords.open_keywords("whoosh", tmp_path),
        vectors.open_vectors("exact", tmp_path, 8),
        vectors.open_vectors("chroma", tmp_path, 8),
    ]

    assert [each.ids() for each in opened] == [set()] * 4
    assert [each.name for each in opened] == ["fts5", "whoosh", "exact", "chroma"]
    for each in opened:
        each.close()
