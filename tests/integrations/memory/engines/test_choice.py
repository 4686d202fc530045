"""The choice of an engine: the errors when its package is missing or its name is unknown."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import cast

import pytest

from hub.config.checked import Config
from hub.integration.catalog import engines
from hub.memory.engine_contract import KeywordIndex, VectorIndex
from hub.memory.schema import CROSS_CHECKS, MEMORY_SCHEMA
from integrations.memory.notes.index.engines import Engines
from integrations.memory.notes.index.settings import IndexSettings
from integrations.memory.notes.index.sqlite_file import SqliteFile
from tests.e2e.homes import add_integration

MISSING = """
import sys
from pathlib import Path
sys.modules["whoosh"] = None
sys.modules["chromadb"] = None
from hub.memory.engine_contract import EngineMissing
from integrations.memory.chroma.engine import open_vectors
from integrations.memory.whoosh.engine import open_keywords
place = Path(sys.argv[1])
for open_it in (lambda: open_keywords(place, {}), lambda: open_vectors(place, 8, {})):
    try:
        open_it()
    except EngineMissing as error:
        print(error.text)
print(sorted({name.partition(".")[0] for name, module in sys.modules.items() if module} & {"whoosh", "chromadb"}))
"""


class Report:
    """What a check reported."""

    def __init__(self) -> None:
        self.errors: list[tuple[object, str, str]] = []

    def error(self, keys: object, message: str, hint: str = "") -> None:
        self.errors.append((keys, message, hint))

    warning = error


def test_the_engines_of_other_integrations_are_found_by_their_manifests() -> None:
    assert {name: found.package for name, found in engines("keywords", None).items()} == {
        "whoosh": "integrations.memory.whoosh"
    }
    assert list(engines("vectors", None)) == ["chroma"]


@pytest.mark.parametrize(
    ("section", "problem"),
    [
        ({"keywords": "fts5", "vectors": "exact"}, None),
        ({"keywords": "whoosh", "vectors": "chroma"}, None),
        ({"vectors": "chorma"}, ("there is no engine chorma for vectors", "did you mean chroma?")),
        ({"embeddings": {"provider": "local"}}, None),
        (
            {"embeddings": {"provider": "gemeni"}},
            ("there is no engine gemeni for embeddings", "did you mean gemini?"),
        ),
        ({"keywords": "chroma"}, ("there is no engine chroma for keywords", "there are: fts5, whoosh")),
    ],
)
def test_the_check_knows_which_engines_there_are(section: dict[str, object], problem: tuple[str, str] | None) -> None:
    report = Report()

    CROSS_CHECKS["memory engines"](cast(Config, {"memory": MEMORY_SCHEMA(section)}), report)

    assert [(message, hint) for _, message, hint in report.errors] == ([] if problem is None else [problem])


def test_a_missing_package_is_told_with_the_command(tmp_path: Path) -> None:
    ran = subprocess.run([sys.executable, "-c", MISSING, str(tmp_path)], capture_output=True, text=True, check=True)

    whoosh, chroma, loaded = ran.stdout.splitlines()
    assert "script/setup --add whoosh" in whoosh
    assert "keywords: fts5" in whoosh
    assert "script/setup --add chromadb" in chroma
    assert "vectors: exact" in chroma
    assert loaded == "[]"


def test_an_engine_that_nobody_has_gives_way_to_ours_and_is_told(tmp_path: Path) -> None:
    opener = Engines(IndexSettings.from_plain({"keywords": "lucene"}))
    file = SqliteFile(tmp_path / "index.db", 1)

    engine = opener.keywords(file, tmp_path / "keywords")

    assert engine.name == "fts5"
    assert "lucene" in opener.notes["keywords"]
    file.close()


def test_our_engines_share_one_file_and_others_have_a_folder_each(tmp_path: Path) -> None:
    opener = Engines(
        IndexSettings.from_plain(
            {
                "keywords": "whoosh",
                "vectors": "chroma",
                "engines": {
                    name: {"module": f"{found.package}.engine"}
                    for what in ("keywords", "vectors")
                    for name, found in engines(what, None).items()
                },
            }
        )
    )
    ours = Engines(IndexSettings.from_plain({}))
    file = SqliteFile(tmp_path / "index.db", 1)
    opened: list[KeywordIndex | VectorIndex] = [
        ours.keywords(file, tmp_path / "a"),
        ours.vectors(file, tmp_path / "b", 8),
        opener.keywords(file, tmp_path / "c"),
        opener.vectors(file, tmp_path / "d", 8),
    ]

    assert [each.ids() for each in opened] == [set()] * 4
    assert [each.name for each in opened] == ["fts5", "exact", "whoosh", "chroma"]
    assert {path.name for path in tmp_path.iterdir() if path.is_dir()} == {"c", "d"}
    for each in opened:
        each.close()
    file.close()


def test_an_engine_of_ones_own_is_imported_as_it_is_now_without_the_rest_of_its_integration(tmp_path: Path) -> None:
    folder = add_integration(tmp_path, "substrings", "raise RuntimeError('not here')\n", engine="keywords")
    (folder / "engine.py").write_text(
        "from .index import Index\n\n\ndef open_keywords(place, settings):\n    return Index\n"
    )
    (folder / "index.py").write_text("class Index:\n    name = 'one'\n")
    known = {"module": "custom_integrations.substrings.engine", "folder": str(folder)}
    settings = IndexSettings.from_plain({"keywords": "substrings", "engines": {"substrings": known}})
    file = SqliteFile(tmp_path / "index.db", 1)

    before = Engines(settings).keywords(file, tmp_path / "a").name
    (folder / "index.py").write_text("class Index:\n    name = 'two'\n")
    after = Engines(settings).keywords(file, tmp_path / "a").name
    (folder / "index.py").write_text("1 / 0\n")
    broken = Engines(settings)

    assert [before, after, broken.keywords(file, tmp_path / "a").name] == ["one", "two", "fts5"]
    assert broken.notes["keywords"] == "The engine substrings cannot be loaded: ZeroDivisionError: division by zero."
    file.close()
