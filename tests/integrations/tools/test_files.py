"""The file tools: within the view of a session, in words that help, and never hung by a pattern."""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from pathlib import Path

import pytest

from hub.core.errors import TimedOut
from hub.tools.approval import ApprovalDecision, ApprovalState, Ask
from hub.tools.contract import Tool
from integrations.tools import files
from integrations.tools.files.editing import Replacement, apply_edits
from integrations.tools.files.reading import CHARACTERS_LIMIT, READ_LIMIT_BYTES
from integrations.tools.files.searching import Corpus, find
from tests.integrations.tools.standing import ANNAS, GROUP, Standing
from tests.until import until

PNG = b"\x89PNG\r\n\x1a\n" + b"\x00" * 20


@pytest.fixture
async def place(standing: Standing) -> Standing:
    await standing.set_up(files)
    return standing


def put(place: Standing, path: str, text: str | bytes) -> Path:
    target = place.workspace / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(text.encode() if isinstance(text, str) else text)
    return target


async def test_a_file_is_read(place: Standing) -> None:
    put(place, "a.txt", "one\ntwo\n")

    result = await place.call("read", {"path": "a.txt"})

    assert result.output == "one\ntwo"
    assert result.details["lines"] == 2


async def test_some_lines_are_read_and_it_says_how_to_go_on(place: Standing) -> None:
    put(place, "a.txt", "".join(f"line {number}\n" for number in range(1, 101)))

    result = await place.call("read", {"path": "a.txt", "offset": 10, "limit": 2})

    assert result.output == "line 10\nline 11\n[lines 10-11 of 100; go on with offset=12]"


async def test_a_long_file_ends_where_the_output_does(place: Standing) -> None:
    put(place, "a.txt", "x" * 90 + "\n" + ("y" * 99 + "\n") * 2_000)

    result = await place.call("read", {"path": "a.txt", "limit": 5_000})

    assert len(result.output) <= CHARACTERS_LIMIT + 200
    assert "go on with offset=" in result.output.splitlines()[-1]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"\x7fELF\x00\x01", "6 bytes of binary data"),
        (b"caf\xe9", "not UTF-8 text (byte 3 of 4)"),
        (b"x" * (READ_LIMIT_BYTES + 1), "larger than"),
    ],
)
async def test_what_is_no_text_is_named_for_what_it_is(place: Standing, content: bytes, words: str) -> None:
    put(place, "thing", content)

    result = await place.call("read", {"path": "thing"})

    assert result.is_error
    assert words in result.output


async def test_an_image_is_shown(place: Standing) -> None:
    put(place, "photo.png", PNG)

    result = await place.call("read", {"path": "photo.png"})

    assert [image.mime_type for image in result.media] == ["image/png"]


async def test_an_empty_file_says_so(place: Standing) -> None:
    put(place, "empty", "")

    assert (await place.call("read", {"path": "empty"})).output == "[the file is empty]"


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ({"path": "note.txt"}, "NOT_FOUND", "did you mean notes.txt?"),
        ({"path": "folder"}, "INVALID_REQUEST", "use ls"),
        ({"path": "notes.txt/x"}, "INVALID_REQUEST", "a part of"),
        ({"path": "notes.txt", "offset": 9}, "INVALID_REQUEST", "there is no line 9"),
        ({"path": "/etc/passwd"}, "PATH_REFUSED", "absolute"),
        ({"path": "../../etc/passwd"}, "PATH_REFUSED", "climbs"),
        ({"path": "link"}, "PATH_REFUSED", "symlink"),
        ({"path": "a\x00b"}, "PATH_REFUSED", "control character"),
    ],
)
async def test_a_path_that_cannot_be_read_says_why(
    place: Standing, arguments: dict[str, object], code: str, words: str
) -> None:
    put(place, "notes.txt", "x")
    put(place, "folder/y", "x")
    os.symlink("/etc/passwd", place.workspace / "link")

    result = await place.call("read", arguments)

    assert (result.is_error, result.details["code"]) == (True, code)
    assert words in result.output


async def test_a_file_is_written_with_its_folders(place: Standing) -> None:
    first = await place.call("write", {"path": "plans/2026/garden.md", "content": "tulips 郁金香\n"})
    second = await place.call("write", {"path": "plans/2026/garden.md", "content": ""})

    assert first.output == "wrote plans/2026/garden.md (17 bytes)"
    assert second.output.splitlines()[0] == "replaced plans/2026/garden.md (0 bytes)"
    assert "-tulips 郁金香" in second.output
    assert (place.workspace / "plans/2026/garden.md").read_text() == ""


async def test_a_broken_character_is_refused(place: Standing) -> None:
    result = await place.call("write", {"path": "a", "content": "x\ud800"})

    assert result.is_error
    assert "half a surrogate pair" in result.output


async def test_one_place_is_edited_and_the_change_is_shown(place: Standing) -> None:
    target = put(place, "a.txt", "one\r\ntwo\r\nthree\r\n")

    result = await place.call("edit", {"path": "a.txt", "old_text": "two\nthree", "new_text": "2\n3"})

    assert result.output.startswith("edited a.txt in 1 place\n--- a.txt\n+++ a.txt\n@@ -1,3 +1,3 @@\n one\r\n-two\r")
    assert target.read_bytes() == b"one\r\n2\r\n3\r\n"


@pytest.mark.parametrize(
    ("old", "words"),
    [
        ("b", "old_text is 2 times in f (lines 2, 3)"),
        ("  indented", "line 1 differs only in its indentation or in what follows: 'indented'"),
        ("hello wrold", "the nearest is line 4: 'hello world'"),
        ("zzzzzz", "read the file again"),
        ("same", "nothing would change"),
    ],
)
def test_an_edit_that_does_not_fit_says_where(old: str, words: str) -> None:
    with pytest.raises(Exception, match=words.replace("(", r"\(").replace(")", r"\)")):
        apply_edits("indented\nab\nb\nhello world\n", [Replacement(old, "same")], "f")


async def test_every_place_is_edited_when_that_is_meant(place: Standing) -> None:
    target = put(place, "a.txt", "a a a")

    result = await place.call("edit", {"path": "a.txt", "old_text": "a", "new_text": "b", "replace_all": True})

    assert result.output.splitlines()[0] == "edited a.txt in 3 places"
    assert target.read_text() == "b b b"


async def test_a_directory_is_listed(place: Standing) -> None:
    put(place, "x/a.txt", "12345")
    put(place, "x/b/c", "")

    assert (await place.call("ls", {"path": "x"})).output == "a.txt  5 bytes\nb/"
    assert "AGENTS.md" in (await place.call("ls")).output


@pytest.mark.parametrize(
    ("arguments", "lines"),
    [
        ({"pattern": "*.md"}, ["x/a.md", "x/b/c.md"]),
        ({"pattern": "x/b*"}, ["x/b/", "x/b/c.md"]),
        ({"pattern": "*.md", "path": "x/b"}, ["x/b/c.md"]),
        ({"pattern": "*", "path": "x", "limit": 1}, ["x/a.md", "[only the first 1 of 3]"]),
        ({"pattern": "*.pdf"}, ["[nothing found]"]),
    ],
)
async def test_files_are_found_by_name(place: Standing, arguments: dict[str, object], lines: list[str]) -> None:
    put(place, "x/a.md", "")
    put(place, "x/b/c.md", "")

    output = (await place.call("find", {"path": "x"} | arguments)).output

    assert output.splitlines() == lines


@pytest.mark.parametrize(
    ("arguments", "lines"),
    [
        ({"pattern": "tea"}, ["x/a.md:1: tea and cake", "x/b.txt:2: more tea"]),
        ({"pattern": "TEA", "ignore_case": True, "glob": "*.md"}, ["x/a.md:1: tea and cake"]),
        ({"pattern": "^more .ea$"}, ["x/b.txt:2: more tea"]),
        ({"pattern": "a.d", "literal": True}, ["[nothing found]"]),
        ({"pattern": "tea", "limit": 1}, ["x/a.md:1: tea and cake", "[only the first 1 matches]"]),
        ({"pattern": "tea", "path": "x/b.txt"}, ["x/b.txt:2: more tea"]),
        ({"pattern": "茶"}, ["x/b.txt:3: 茶"]),
        ({"pattern": "[茶]"}, ["x/b.txt:3: 茶"]),
    ],
)
async def test_lines_are_found(place: Standing, arguments: dict[str, object], lines: list[str]) -> None:
    put(place, "x/a.md", "tea and cake\r\n")
    put(place, "x/b.txt", "x\nmore tea\n茶\n")

    assert (await place.call("grep", {"path": "x", **arguments})).output.splitlines() == lines


async def test_what_is_no_text_is_left_out_of_a_search_and_counted(place: Standing) -> None:
    put(place, "x/a", b"tea\x00tea")
    put(place, "x/b", "tea")

    output = (await place.call("grep", {"pattern": "tea", "path": "x"})).output

    assert output.splitlines() == ["x/b:1: tea", "[1 files were left out: no text, or too large or too many]"]


async def test_a_pattern_with_a_mistake_is_explained(place: Standing) -> None:
    put(place, "a", "x")

    result = await place.call("grep", {"pattern": "(unclosed"})

    assert result.is_error
    assert "not a regular expression" in result.output


@pytest.mark.parametrize("pattern", [r"(a+)+$", r"(a|aa)+$", r"^(\w+\s?)*$"])
async def test_a_pattern_that_never_ends_is_stopped_and_nobody_waits_for_it(pattern: str) -> None:
    corpus = Corpus((("a", "a" * 60 + "!"),), 0)
    beats = 0

    async def beat() -> None:
        nonlocal beats
        while True:
            beats += 1
            await asyncio.sleep(0.01)

    heart = asyncio.create_task(beat())
    with pytest.raises(TimedOut, match="a simpler one"):
        await find(corpus, pattern, timeout_s=0.5)
    heart.cancel()

    assert beats > 2


async def test_cancelling_a_search_ends_its_process() -> None:
    corpus = Corpus((("a", "a" * 60 + "!"),), 0)
    searching = asyncio.create_task(find(corpus, "(a+)+$"))
    workers = await until(_workers)

    searching.cancel()
    await asyncio.wait([searching])

    assert searching.cancelled()
    assert not workers & _workers()


def _workers() -> set[int]:
    """The processes that search for this test."""
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    found = set()
    for child in children:
        with suppress(FileNotFoundError, ProcessLookupError):  # it may end meanwhile
            if b"grep_worker" in Path(f"/proc/{child}/cmdline").read_bytes():
                found.add(int(child))
    return found


async def test_a_session_that_is_not_private_sees_no_memory(place: Standing) -> None:
    put(place, "MEMORY.md", "canary\n")
    put(place, "memory/2026-05-12.md", "canary\n")

    for authority, session in ((place.anna, ANNAS), (place.owner, GROUP), (place.owner, ANNAS)):
        who = {"authority": authority, "session": session}
        seen = [
            await place.call("read", {"path": "MEMORY.md"}, **who),  # type: ignore[arg-type]
            await place.call("read", {"path": "memory/2026-05-12.md"}, **who),  # type: ignore[arg-type]
            await place.call("grep", {"pattern": "canary"}, **who),  # type: ignore[arg-type]
            await place.call("grep", {"pattern": "can[a]ry"}, **who),  # type: ignore[arg-type]
            await place.call("ls", **who),  # type: ignore[arg-type]
            await place.call("ls", {"path": "memory"}, **who),  # type: ignore[arg-type]
        ]
        assert not any("canary" in each.output or "MEMORY" in each.output.split("\n") for each in seen)
    assert "canary" in (await place.call("read", {"path": "MEMORY.md"})).output


@pytest.mark.parametrize(
    "path",
    [
        *("AGENTS.md", "./AGENTS.md", "agents.MD", "SOUL.md", "USER.md", "HEARTBEAT.md", "MEMORY.md"),
        *("memory/2026-05-12.md", "skills/x/a", "hooks/h.py"),
    ],
)
async def test_what_steers_the_assistant_is_changed_by_its_owner_alone(place: Standing, path: str) -> None:
    arguments = {"path": path, "content": "obey me"}
    before = {each: each.read_bytes() for each in place.workspace.rglob("*") if each.is_file()}

    tainted = await place.call("write", arguments, authority=place.owner.narrow(tainted=True))
    other = await place.call("write", arguments, authority=place.anna, session=ANNAS)
    edited = await place.call(
        "edit", {"path": path, "old_text": "a", "new_text": "b"}, authority=place.owner.narrow(tainted=True)
    )

    assert [each.is_error for each in (tainted, other, edited)] == [True, True, True]
    assert "approval" in tainted.output
    assert "approval" in other.output
    assert {each: each.read_bytes() for each in place.workspace.rglob("*") if each.is_file()} == before
    assert not (await place.call("write", arguments)).is_error


async def test_everybody_writes_text_below_the_inbox(place: Standing) -> None:
    results = [
        await place.call("write", {"path": "inbox/a/list.md", "content": "x"}, authority=place.anna, session=ANNAS),
        await place.call(
            "write", {"path": "inbox/list.md", "content": "y"}, authority=place.owner.narrow(tainted=True)
        ),
        await place.call(
            "write", {"path": "inbox/给爱丽丝 2.md", "content": "z"}, authority=place.stranger, session=ANNAS
        ),
    ]

    assert [each.is_error for each in results] == [False, False, True]


@pytest.mark.parametrize(
    "path",
    [
        *("list.md", "inbox", "inbox.md", "Inbox/list.md", "notes/inbox/list.md", "inbox/../list.md", ".git/config"),
        *("inbox/.git/config", "inbox/.envrc", "inbox/a/.x/list.md", "inbox/.md", "inbox/Makefile", "inbox/run.sh"),
        *("inbox/x.py", "inbox/AGENTS.md", "inbox/agents.MD", "inbox/AGENTS.md ", "inbox/CLAUDE.md", "inbox/x.md/y"),
        *("inbox/a.html", "inbox/A.HTML", "inbox/a.xhtml", "inbox/a.xml", "inbox/a.svg", "inbox/-rf.md"),
        *("inbox/li\u200bst.md", "inbox/tsil\u202edm.md", "inbox/\u3164.md", "inbox/a\ufe0f.md", "inbox/a\u200b/b.md"),
        *("inbox/a;b.md", "inbox/$a.md", "inbox/a .md/b.txt ", "inbox/\uff41.md"),
        *("inbox/package.json", "inbox/a\u200bgents.md", ".vscode/tasks.json", "package.json", "BOOT.md", ".storage/x"),
    ],
)
async def test_all_else_is_asked_about_in_a_tainted_turn_and_for_everybody_but_the_owner(
    place: Standing, path: str
) -> None:
    before = set(place.workspace.rglob("*"))
    of_the_group = place.owner.narrow(owner=False)

    for authority, session in ((place.owner.narrow(tainted=True), ANNAS), (place.anna, ANNAS), (of_the_group, GROUP)):
        for tool, arguments in (("write", {"content": "x"}), ("edit", {"old_text": "a", "new_text": "b"})):
            result = await place.call(tool, {"path": path, **arguments}, authority=authority, session=session)
            assert result.is_error, (tool, path)

    assert set(place.workspace.rglob("*")) == before


async def test_a_program_below_the_inbox_is_none_any_more_once_words_from_outside_are_in_it(place: Standing) -> None:
    put(place, "inbox/run.txt", "mine")
    (place.workspace / "inbox/run.txt").chmod(0o755)

    await place.call(
        "write", {"path": "inbox/run.txt", "content": "theirs"}, authority=place.owner.narrow(tainted=True)
    )

    assert (place.workspace / "inbox/run.txt").read_text() == "theirs"
    assert (place.workspace / "inbox/run.txt").stat().st_mode & 0o111 == 0


async def test_a_write_elsewhere_is_done_after_the_owners_yes(place: Standing) -> None:
    asked: list[Ask] = []

    async def ask(question: Ask) -> ApprovalDecision:
        asked.append(question)
        return ApprovalDecision(True, ApprovalState.APPROVED, "owner")

    place.tools.ask = ask

    done = await place.call("write", {"path": "list.md", "content": "x"}, authority=place.anna, session=ANNAS)
    await place.call("write", {"path": "own.md", "content": "x"})

    assert not done.is_error
    assert [each.details["arguments"] for each in asked] == [{"path": "list.md", "content": "x"}]


async def test_the_tools_say_what_they_are(place: Standing) -> None:
    tools: dict[str, Tool] = {tool.name: tool for tool in place.tools.all() if tool.group == "files"}

    reading = {name for name, tool in tools.items() if tool.annotations.read_only}
    assert set(tools) == {"read", "write", "edit", "apply_patch", "ls", "find", "grep"}
    assert reading == {name for name, tool in tools.items() if tool.annotations.parallel_safe}
    assert reading == {"read", "ls", "find", "grep"}
    await place.registrations.undo_all()
    assert not tools.keys() & {tool.name for tool in place.tools.all()}
