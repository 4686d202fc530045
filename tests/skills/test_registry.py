"""The registry over real files: what is offered to whom, what a change does, and what the tool reads."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Any

import pytest

from hub.core.context import system_context
from hub.core.errors import HubError, NotFound
from hub.core.secret import Secret
from hub.skills.listing import skill_listing
from hub.skills.pins import SkillPins
from hub.skills.skill_file import SkillFile
from hub.skills.tool import SkillTool
from hub.tools.contract import ToolCall
from tests.skills.makes import MAKES
from tests.skills.skill_home import SkillHome

SESSION = "agent:main:main"


async def read(home: SkillHome, session: str = SESSION, **arguments: Any) -> str:
    tool = SkillTool(home.skills, lambda _: None).tool()
    valid = tool.parameters.validate(arguments)
    result = await tool.run(ToolCall("1", "skill", valid, system_context(), "main", session, "r"))
    return result.output


async def test_twenty_skills_of_different_make_lie_side_by_side(tmp_path: Path) -> None:
    home = SkillHome(tmp_path)
    for make in MAKES:
        (tmp_path / "bundled" / make.folder).mkdir(parents=True)
        (tmp_path / "bundled" / make.folder / "SKILL.md").write_bytes(make.text.encode())

    states = await home.states()

    wanted = {None: "broken", "": "ready"}
    assert len(states) == 20
    assert states == {f"bundled/{make.folder}": wanted.get(make.lacks, "missing") for make in MAKES}


async def test_a_skill_is_off_until_it_is_enabled_and_again_when_it_changed(tmp_path: Path) -> None:
    home = SkillHome(tmp_path)
    folder = home.write("home/tea", notes_txt="green")
    assert await home.states() == {"home/tea": "not_enabled"}

    home.pin("home", "tea")
    await home.skills.refresh(force=True)
    assert await home.states() == {"home/tea": "ready"}

    (folder / "notes.txt").write_text("chamomile")
    assert await home.states() == {"home/tea": "changed"}
    (folder / "notes.txt").write_text("green")
    assert await home.states() == {"home/tea": "ready"}
    (folder / "more.txt").write_text("")
    assert await home.states() == {"home/tea": "changed"}


async def test_an_unlooked_at_skill_hides_none_and_an_enabled_one_goes_before_the_bundled(tmp_path: Path) -> None:
    home = SkillHome(tmp_path)
    home.write("bundled/tea")
    home.write("workspace/tea")
    assert await home.states() == {"workspace/main/tea": "not_enabled", "bundled/tea": "ready"}

    home.pin("workspace", "tea")
    await home.skills.refresh(force=True)

    assert await home.states() == {"workspace/main/tea": "ready", "bundled/tea": "shadowed"}
    assert await home.states("other") == {"bundled/tea": "ready"}


@pytest.mark.parametrize("where", ["folder", "file"])
async def test_a_symlink_is_refused(tmp_path: Path, where: str) -> None:
    home = SkillHome(tmp_path)
    outside = home.write("elsewhere/tea")
    (tmp_path / "home").mkdir()
    if where == "folder":
        (tmp_path / "home" / "tea").symlink_to(outside)
    else:
        home.write("home/tea")
        (tmp_path / "home" / "tea" / "secret").symlink_to("/etc/passwd")

    await home.skills.refresh()

    (judged,) = home.skills.judge("main")
    assert judged.state == "broken"
    assert "symlink" in judged.reason


async def test_a_conversation_keeps_its_skills_until_they_change(tmp_path: Path) -> None:
    home = SkillHome(tmp_path)
    home.write("bundled/tea", "Make tea.")
    first = await home.skills.snapshot("main", SESSION, 1, None)
    assert first is await home.skills.snapshot("main", SESSION, 1, None)
    assert "- tea: Make tea." in first.listing

    home.write("home/cake", "Bake.")
    home.pin("home", "cake")
    second = await home.skills.snapshot("main", SESSION, 1, None)

    assert "cake" in second.listing
    assert len(home.changes) == 2


async def test_without_a_watch_only_a_new_session_sees_a_change(tmp_path: Path) -> None:
    home = SkillHome(tmp_path, watch=False)
    home.write("bundled/tea")
    first = await home.skills.snapshot("main", SESSION, 1, None)
    home.write("home/cake")
    home.pin("home", "cake")

    assert await home.skills.snapshot("main", SESSION, 1, None) is first
    assert "cake" in (await home.skills.snapshot("main", SESSION, 2, None)).skills


async def test_what_is_not_for_the_model_is_not_listed_but_can_be_read(tmp_path: Path) -> None:
    home = SkillHome(tmp_path)
    home.write("bundled/tea", front="disable-model-invocation: true")

    snapshot = await home.skills.snapshot("main", SESSION, 1, None)

    assert snapshot.listing == ""
    assert "Do bundled/tea." in await read(home, name="tea")


async def test_variables_are_given_to_a_run_and_never_over_those_that_are_there(tmp_path: Path) -> None:
    key, other = Secret("key"), Secret("other")
    home = SkillHome(tmp_path, entries={"tea": {"api_key": key, "env": {"PATH": other, "CUP": other}}})
    home.write("bundled/tea", front='metadata: {"openclaw": {"primaryEnv": "TEA_KEY"}}')

    snapshot = await home.skills.snapshot("main", SESSION, 1, None)

    assert snapshot.environment == {"TEA_KEY": key, "CUP": other}
    assert "TEA_KEY" not in os.environ


async def test_the_tool_reads_instructions_files_and_settings(tmp_path: Path) -> None:
    home = SkillHome(tmp_path, entries={"tea": {"config": {"cups": 3}}})
    home.write("home/tea", notes_md="Green tea at 70 degrees.")
    home.write("bundled/cake", "Bake a cake.")
    home.pin("home", "tea")

    text = await read(home, name="tea")

    assert "Do home/tea." in text
    assert "description:" not in text
    assert "notes.md" in text
    assert '{"cups":3}' in text
    assert await read(home, name="tea", path="notes.md") == "Green tea at 70 degrees."
    assert "- cake: Bake a cake." in await read(home)
    for arguments, told in (
        ({"name": "te"}, "did you mean tea"),
        ({"name": "tea", "path": "../../../etc/passwd"}, "has no file"),
    ):
        with pytest.raises(NotFound, match=told):
            await read(home, **arguments)


async def test_a_long_file_is_read_in_pieces(tmp_path: Path) -> None:
    home = SkillHome(tmp_path)
    home.write("bundled/tea", long_md="x" * 30_000)

    first = await read(home, name="tea", path="long.md")

    assert first.endswith("[cut: go on with offset=25000 of 30000]")
    assert await read(home, name="tea", path="long.md", offset=25_000) == "x" * 5_000


async def test_what_changes_between_the_look_and_the_reading_is_not_read(tmp_path: Path) -> None:
    home = SkillHome(tmp_path, watch=False)
    folder = home.write("home/tea")
    home.pin("home", "tea")
    await home.skills.refresh()
    status = (folder / "SKILL.md").stat()
    text = (folder / "SKILL.md").read_text()
    (folder / "SKILL.md").write_text(text.replace("Do home", "Do evil"))
    os.utime(folder / "SKILL.md", ns=(status.st_atime_ns, status.st_mtime_ns))

    with pytest.raises(NotFound, match="changed since"):
        await read(home, name="tea")


async def test_a_conversation_with_a_list_reads_no_other_skill(tmp_path: Path) -> None:
    home = SkillHome(tmp_path)
    home.write("bundled/tea")
    home.write("bundled/cake")
    snapshot = await home.skills.snapshot("main", "agent:main:test:group:1", 1, None, ("tea",))

    assert set(snapshot.skills) == {"tea"}
    with pytest.raises(NotFound, match="no skill 'cake'"):
        await read(home, "agent:main:test:group:1", name="cake")


@pytest.mark.parametrize("data", [b"{", b'{"\xff": {}}'])
async def test_damaged_pins_are_said_so_and_enable_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, data: bytes
) -> None:
    home = SkillHome(tmp_path)
    home.write("home/tea")
    home.pin("home", "tea")
    (tmp_path / "skills.json").write_bytes(data)
    home.pins = home.skills.pins = SkillPins(tmp_path)

    with caplog.at_level(logging.ERROR):
        assert await home.states() == {"home/tea": "not_enabled"}
    assert "skills.json is damaged" in caplog.text
    with pytest.raises(HubError, match="is damaged"):
        home.pin("home", "tea")
    assert (tmp_path / "skills.json").read_bytes() == data


def test_the_list_is_bounded_and_says_how_many_more_there_are() -> None:
    files = [SkillFile(f"skill-{number:02}", "word " * 100, "k") for number in range(60)]

    sizes = [len(skill_listing(files, limit).split("\n", 2)[2]) for limit in (500, 2_000, 20_000)]

    assert "and " in skill_listing(files, 500)
    assert "more" not in skill_listing(files, 2_000)
    assert all(size <= limit for size, limit in zip(sizes, (500, 2_000, 20_000), strict=True))
    assert skill_listing([], 500) == ""
