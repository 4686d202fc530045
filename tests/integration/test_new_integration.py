"""`homarus integration new` writes integrations that are valid, are set up, and pass their own tests."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

from hub.cli.app import run
from hub.cli.configured import check_home
from hub.integration.scaffold import PIECES, examples_folder
from hub.testing import running_hub
from tests.cli.terminal import Terminal

ALL = [piece for piece in PIECES if piece != "embeddings"]


@pytest.fixture
def terminal(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Terminal:
    monkeypatch.setenv("HOMARUS_CONFIG", str(tmp_path))
    return Terminal(capsys, tmp_path)


def written(home: Path, *pieces: str) -> Path:
    """An integration with some pieces, whose key is in the configuration of its home."""
    code = run(["integration", "new", "front_desk", *(f"--{piece}" for piece in pieces), "--config", str(home)])
    (home / "configuration.yaml").write_text("front_desk: {}\n", encoding="utf-8")
    assert code == 0
    return home / "custom_integrations" / "front_desk"


@pytest.mark.parametrize("pieces", [*([piece] for piece in PIECES), ALL], ids=lambda pieces: "+".join(pieces[:2]))
def test_what_is_written_is_valid_and_set_up(tmp_path: Path, pieces: list[str]) -> None:
    folder = written(tmp_path, *pieces)

    checked = check_home(tmp_path)
    with running_hub(folder, {"front_desk": {}}) as hub:
        listed = {each["domain"]: each for each in hub.call("integration.list")["integrations"]}
        doctor = hub.homarus("doctor", "--json")

    assert [*checked.errors, *checked.warnings] == []
    assert (listed["front_desk"]["state"], listed["front_desk"]["reason"]) == ("set_up", "")
    assert [each for each in json.loads(doctor)["findings"] if "front_desk" in each["where"]] == []


@pytest.mark.parametrize("piece", PIECES)
def test_the_test_of_each_piece_alone_passes(tmp_path: Path, piece: str) -> None:
    (file,) = (written(tmp_path, piece) / "tests").glob("*.py")
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    tests = [test for name, test in vars(module).items() if name.startswith("test_")]
    for test in tests:
        test()

    assert len(tests) == 1


def test_all_tests_of_one_with_everything_pass_as_they_are_run_by_hand(tmp_path: Path) -> None:
    folder = written(tmp_path, *ALL)

    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", folder],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )

    assert f"{len(ALL)} passed" in ran.stdout, ran.stdout


@pytest.mark.parametrize("pieces", [*([piece] for piece in PIECES), ALL], ids=lambda pieces: "+".join(pieces[:2]))
def test_what_is_written_names_the_example_nowhere_and_imports_nothing_in_vain(
    tmp_path: Path, pieces: list[str]
) -> None:
    folder = written(tmp_path, *pieces)

    texts = [file.read_text() for file in folder.rglob("*.*")] + [str(file) for file in folder.rglob("*")]
    judged = subprocess.run(
        [sys.executable, "-m", "ruff", "check", "--isolated", "--select", "F", "--no-cache", folder],
        capture_output=True,
        text=True,
        check=False,
    )

    assert [text for text in texts if "kiosk" in text.lower() or "letter_vectors" in text] == []
    assert judged.returncode == 0, judged.stdout


@pytest.mark.parametrize("example", sorted(file.parent.name for file in examples_folder().glob("*/manifest.json")))
def test_each_file_of_an_example_belongs_to_a_piece(example: str) -> None:
    folder = examples_folder() / example
    files = {str(file.relative_to(folder)) for file in folder.rglob("*.*") if "__pycache__" not in file.parts}

    known = {"__init__.py", "schema.py", "manifest.json"}
    for name, piece in PIECES.items():
        if piece.example == example:
            known |= {f"{piece.module or name}.py", f"tests/test_{example}_{name}.py", *piece.beside}

    assert files - known == set()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["Foo-Bar", "--tool"], "'Foo-Bar' cannot be the name of an integration"),
        (["Foo-Bar", "--tool"], "such as foo_bar"),
        (["../desk", "--tool"], "cannot be the name"),
        (["x" * 33, "--tool"], "at most 32 characters"),
        (["irc", "--tool"], "taken by an integration: choose another, such as my_irc"),
        (["people", "--tool"], "taken by a section of the configuration"),
        (["chat", "--tool"], "taken by a command of homarus"),
        (["json", "--tool"], "taken by a module of Python"),
        (["desk"], "say what desk is to bring: --tool, --channel"),
        (["desk", "--engine", "--embeddings"], "leave out --engine or --embeddings"),
    ],
)
def test_what_cannot_be_written_is_told_with_what_to_do(terminal: Terminal, words: list[str], told: str) -> None:
    ran = terminal("integration", "new", *words)

    assert ran.code != 0
    assert told in ran.err
    assert not (terminal.home / "custom_integrations").exists()


def test_a_folder_that_is_there_is_left_alone(terminal: Terminal) -> None:
    folder = terminal.home / "custom_integrations" / "desk"
    folder.mkdir(parents=True)
    (folder / "mine.py").write_text("x = 1\n")

    ran = terminal("integration", "new", "desk", "--tool")

    assert ran.code == 1
    assert f"{folder} exists already: choose another name, or remove it" in ran.err
    assert [file.name for file in folder.iterdir()] == ["mine.py"]


def test_it_is_written_where_it_is_wanted_and_programs_are_told_what(terminal: Terminal) -> None:
    ran = terminal("integration", "new", "desk", "--cli", "--to", str(terminal.home / "src"), "--json")

    assert ran.json == {
        "domain": "desk",
        "path": str(terminal.home / "src" / "desk"),
        "files": ["__init__.py", "cli.py", "manifest.json", "tests/test_desk_cli.py"],
    }
    assert (terminal.home / "src" / "desk" / "cli.py").is_file()
