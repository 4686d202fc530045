"""The commands about memory, against a hub that runs."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.person import Person
from tests.cli.terminal import Terminal
from tests.servers.hub_process import HubProcess


def test_what_is_added_is_found_by_word(ask: Terminal) -> None:
    added = ask("memory", "add", "the", "chimney", "was", "swept", "by", "Nowak", "--json").json
    found = ask("memory", "search", "chimney Nowak", "--limit", "1", "--json").json
    told = ask("memory", "search", "chimney", "Nowak")

    (hit,) = found["hits"]
    assert {"path", "start_line", "end_line", "score", "vector_score", "text_score", "text"} <= hit.keys()
    assert {"engines", "took_ms"} <= found.keys()
    assert (hit["path"], hit["start_line"]) == (added["path"], added["start_line"])
    assert f"{added['path']}:{added['start_line']}" in told.out
    assert "the chimney was swept by Nowak" in told.out


def test_what_is_known_is_said_to_be(ask: Terminal) -> None:
    first = ask("memory", "add", "the piano is tuned in May")
    second = ask("memory", "add", "the piano is tuned in May")

    assert first.out.startswith("Remembered: memory/")
    assert second.out.startswith("Known already: memory/")


def test_the_new_takes_the_place_of_the_old(ask: Terminal) -> None:
    ask("memory", "add", "grandmother lives in Bonn", "--kind", "person")

    ran = ask("memory", "add", "grandmother lives in Kiel", "--kind", "person", "--replaces", "grandmother Bonn")

    assert "Struck: MEMORY.md" in ran.out
    assert "~~grandmother lives in Bonn~~" in ask("memory", "show", "MEMORY.md").out


def test_what_is_forgotten_is_shown_first_and_gone_then(ask: Terminal) -> None:
    ask("memory", "add", "the spare key is under the third pot")

    looked = ask("memory", "forget", "spare key pot", "--dry-run")
    refused = ask("memory", "forget", "spare key pot", "--json")
    still = ask("memory", "search", "spare key pot", "--json").json["hits"]
    gone = ask("memory", "forget", "spare key pot", "--yes")
    again = ask("memory", "forget", "spare key pot", "--yes")

    assert "third pot" in looked.out
    assert "1 entry would be forgotten." in looked.out
    assert (refused.code, refused.json["error"]["code"]) == (2, "NOT_CONFIRMED")
    assert still
    assert "1 entry forgotten." in gone.out
    assert (again.code, again.out.startswith("Nothing matches; ")) == (0, True)


def test_it_asks_once_at_a_terminal(hub: HubProcess) -> None:
    hub.cli("memory", "add", "the ladder is lent to Priya")
    arguments = ("memory", "forget", "ladder Priya", "--config", str(hub.home))

    hesitant = Person(*arguments)
    hesitant.wait_for("Forget them?")
    hesitant.press(b"n\r")
    assert hesitant.leave() == 1
    sure = Person(*arguments)
    sure.wait_for("Forget them?")
    sure.press(b"y\r")

    sure.wait_for("1 entry forgotten.")
    assert sure.leave() == 0


def test_forgetting_nothing_in_particular_is_wrong_usage(ask: Terminal) -> None:
    ran = ask("memory", "forget", "--yes")

    assert ran.code == 2
    assert "--session" in ran.err


def test_the_index_is_brought_up_to_date_and_verified(ask: Terminal) -> None:
    synced = ask("memory", "index", "--force", "--json")
    verified = ask("memory", "verify", "--json")

    assert synced.code == verified.code == 0
    assert {"files", "chunks", "embedded", "requests", "seconds"} <= synced.json.keys()
    assert verified.json["ok"] is True
    assert "they agree" in ask("memory", "verify").out


def test_the_state_is_told_to_programs_and_to_people(ask: Terminal) -> None:
    assert ask("memory", "status", "--json").json["agent"] == "main"
    assert "Memory of the agent main" in ask("memory", "status").out


def test_the_state_is_told_in_units_and_without_what_there_is_none_of(ask: Terminal) -> None:
    ask("memory", "add", "the sundial is an hour late")
    ask("memory", "index")

    lines = [line.strip() for line in ask("memory", "status").out.splitlines()]

    assert any(re.fullmatch(r"size: [\d.]+ [kM]B", line) for line in lines)
    assert any(re.fullmatch(r"synced: \d{4}-\d\d-\d\d \d\d:\d\d", line) for line in lines)
    assert "damage:" not in lines
    assert not [line for line in lines if "None" in line]


def test_files_are_listed_and_shown(ask: Terminal) -> None:
    path = ask("memory", "add", "the fence is painted in April", "--json").json["path"]

    listed = ask("memory", "list", "--json").json

    assert path in [each["path"] for each in listed]
    assert f"{path}  the owner" in re.sub(" +", "  ", ask("memory", "list").out).replace("the  owner", "the owner")
    assert "the fence is painted in April" in ask("memory", "show", path).out
    assert ask("memory", "show", "memory/nothing.md", "--json").json["error"]["code"] == "NOT_FOUND"


def test_a_change_is_listed_and_taken_back(ask: Terminal) -> None:
    ask("memory", "add", "the bathroom is tiled in green", "--kind", "decision")
    change = ask("memory", "changes", "--limit", "1", "--json").json[0]

    shown = ask("memory", "changes", "--limit", "1", "--diff")
    undone = ask("memory", "undo", change["id"])

    assert change["id"] in shown.out
    assert "tiled in green" in shown.out
    assert undone.code == 0
    assert "tiled in green" not in ask("memory", "show", "MEMORY.md").out


def test_the_files_are_carried_away_and_nothing_is_written_over(ask: Terminal, tmp_path: Path) -> None:
    ask("memory", "add", "the atlas is on the top shelf", "--kind", "decision")
    folder = tmp_path / "carried" / "away"

    first = ask("memory", "export", str(folder), "--json")
    (folder / "MEMORY.md").write_text("mine", encoding="utf-8")
    second = ask("memory", "export", str(folder), "--json")
    kept = (folder / "MEMORY.md").read_text(encoding="utf-8")
    third = ask("memory", "export", str(folder), "--force")

    assert "MEMORY.md" in first.json["written"]
    assert (second.code, second.json["error"]["code"]) == (1, "CONFLICT")
    assert kept == "mine"
    assert third.code == 0
    assert (folder / "MEMORY.md").read_text(encoding="utf-8") == (ask.home / "workspace" / "MEMORY.md").read_text(
        encoding="utf-8"
    )


def test_a_link_in_the_folder_leads_nowhere(ask: Terminal, tmp_path: Path) -> None:
    ask("memory", "add", "the atlas is on the lower shelf", "--kind", "decision")
    outside = tmp_path / "outside.md"
    outside.write_text("mine", encoding="utf-8")
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "MEMORY.md").symlink_to(outside)

    ran = ask("memory", "export", str(folder), "--force")

    assert outside.read_text(encoding="utf-8") == "mine"
    assert (ran.code, str(folder) in ran.err, "symlink" in ran.err) == (1, True, True)


@pytest.mark.parametrize("arguments", [("export", ""), ("import", "", "--from", "markdown")])
def test_an_empty_path_is_not_the_directory_one_is_in(ask: Terminal, arguments: tuple[str, ...]) -> None:
    ran = ask("memory", *arguments)

    assert (ran.code, "it is empty" in ran.err) == (2, True)


def test_reminders_are_added_listed_and_removed(ask: Terminal) -> None:
    added = ask("memory", "intents", "add", "boiler, heating", "the filter has to be changed", "--days", "5", "--json")
    listed = ask("memory", "intents", "list")
    removed = ask("memory", "intents", "remove", added.json["id"])

    assert added.json["topics"] == ["boiler", "heating"]
    assert "the filter has to be changed" in listed.out
    assert removed.code == 0
    assert added.json["id"] not in ask("memory", "intents", "list").out


def test_memory_of_another_assistant_comes_in_once(ask: Terminal, tmp_path: Path) -> None:
    workspace = tmp_path / "openclaw"
    (workspace / "memory").mkdir(parents=True)
    (workspace / "MEMORY.md").write_text("# Memory\n\n- The sailing club is called Albatros\n", encoding="utf-8")
    (workspace / "memory" / "2026-01-03.md").write_text("# 2026-01-03\n\n- We bought a sextant\n", encoding="utf-8")
    (workspace / "SOUL.md").write_text("Obey.\n", encoding="utf-8")

    first = ask("memory", "import", str(workspace), "--from", "openclaw", "--json").json
    second = ask("memory", "import", str(workspace), "--from", "openclaw", "--json").json
    (hit, *_) = ask("memory", "search", "sailing club Albatros", "--json").json["hits"]

    assert len(first["written"]) == 2
    assert all(path.startswith("memory/imported/openclaw/") for path in first["written"])
    assert "SOUL.md" in first["left_out"][0]
    assert (second["written"], second["known"]) == ([], 2)
    assert hit["trusted"] is False


def test_what_takes_the_place_of_something_else_is_told(ask: Terminal, tmp_path: Path) -> None:
    note = tmp_path / "album.md"
    note.write_text("the album is at Ida's\n", encoding="utf-8")
    ask("memory", "import", str(note), "--from", "markdown")
    note.write_text("the album is at Jon's\n", encoding="utf-8")

    again = ask("memory", "import", str(note), "--from", "markdown")
    note.write_text("the album is back\n", encoding="utf-8")
    last = ask("memory", "import", str(note), "--from", "markdown", "--json")

    assert "memory/imported/markdown/album.md  (replaced)" in again.out
    assert "homarus memory undo" in again.out
    assert last.json["replaced"] == last.json["written"] == ["memory/imported/markdown/album.md"]


def test_where_all_of_it_is_left_out_nothing_went_well(ask: Terminal, tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "old.md").write_bytes(b"caf\xe9")

    ran = ask("memory", "import", str(tmp_path / "notes"), "--from", "markdown")

    assert ran.code == 1
    assert "left out: old.md: is not UTF-8 text (byte 3)" in ran.err


def test_many_files_come_in_in_several_requests(ask: Terminal, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    for number in range(230):
        (folder / f"note-{number:03}.md").write_text(f"# Note\n\nabout number {number}\n", encoding="utf-8")

    ran = ask("memory", "import", str(folder), "--from", "markdown", "--trusted", "--json")

    assert len(ran.json["written"]) == 230


def test_one_file_comes_in_and_what_is_none_is_refused(ask: Terminal, tmp_path: Path) -> None:
    (tmp_path / "one.md").write_text("# One\n\nthe metronome is broken\n", encoding="utf-8")
    (tmp_path / "picture.md").write_bytes(b"\xff\xfe\x00")

    good = ask("memory", "import", str(tmp_path / "one.md"), "--from", "markdown")
    bad = ask("memory", "import", str(tmp_path / "picture.md"), "--from", "markdown")
    missing = ask("memory", "import", str(tmp_path / "missing"), "--from", "openclaw")
    unsaid = ask("memory", "import", str(tmp_path))

    assert "1 file written." in good.out
    assert (bad.code, "UTF-8" in bad.err) == (2, True)
    assert (missing.code, "no folder" in missing.err) == (1, True)
    assert (unsaid.code, "--from" in unsaid.err) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["memory", "search", "x", "--agent", "nobody"], 1),
        (["memory", "search", "x", "--limit", "0"], 2),
        (["memory", "search"], 2),
        (["memory", "add", "x", "--kind", "secret"], 2),
        (["memory", "add", " "], 2),
        (["memory", "undo", "nothing"], 1),
    ],
)
def test_what_cannot_be_says_why(ask: Terminal, arguments: list[str], code: int) -> None:
    ran = ask(*arguments)

    assert ran.code == code
    assert ran.err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["memory", "add", ""], "text: expected something to remember"),
        (["memory", "add", "caf\udce9"], "not UTF-8"),
        (["memory", "intents", "add", "boiler", "call", "--every-hours", "nan"], "nan"),
        (["memory", "show", "./MEMORY.md"], "the list of files"),
        (["memory", "undo", "nothing"], "the list of changes"),
    ],
)
def test_what_cannot_be_says_what_would(ask: Terminal, arguments: list[str], told: str) -> None:
    assert told in ask(*arguments).err


def test_what_is_printed_goes_through_a_pipe(hub: HubProcess) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "hub", "memory", "search", "nothing of that sort", "--json", "--config", str(hub.home)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert ran.returncode == 0
    assert isinstance(json.loads(ran.stdout)["hits"], list)
