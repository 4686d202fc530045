"""Automations edited where they stand: as data and as YAML, comments kept, wrong ones refused with their place."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from hub.automation.editing.automation_editor import AutomationEditor
from hub.automation.editing.automations_file import AutomationsFile
from hub.config.edit import EditRefused
from hub.config.errors import ConfigInvalid
from hub.config.store import ConfigStore
from hub.core.errors import Conflict, InvalidRequest, NotFound
from hub.core.events import EventBus
from hub.core.repairs import Repairs
from hub.core.schema import Invalid
from hub.core.tasks import TaskOwner
from hub.sections import all_sections

FILE = """\
# What happens by itself.
- id: bell
  alias: Bell  # the one at the front door
  trigger:  # an old word
    - platform: event
      event_type: bell_pressed
  action:
    # told to whoever listens
    - event: bell_heard
    - delay: 5  # seconds
    - event: bell_forgotten
  mode: single  # never twice

# The second one.
- alias: Lamp
  triggers:
    - trigger: webhook
      webhook_id: lamp
      secret: !secret lamp
  actions:
    - event: lamp_pressed
"""


class Files:
    """A home with automations, and the editor on it."""

    def __init__(self, home: Path, automations: str = FILE) -> None:
        self.home = home
        (home / "configuration.yaml").write_text("hub: {name: Test}\nautomation: !include automations.yaml\n")
        (home / "secrets.yaml").write_text("lamp: a-secret-of-many-letters\n")
        (home / "automations.yaml").write_text(automations)
        bus = EventBus(TaskOwner("test"))
        self.config = ConfigStore(home, all_sections(), bus, Repairs(bus))
        self.config.load()
        self.editor = AutomationEditor(
            self.config,
            AutomationsFile(self.config),
            self.place,
            self.expand,
            self.config.reload,
            keep_off=self.keep_off,
        )
        self.off: list[str] = []

    @property
    def text(self) -> str:
        return (self.home / "automations.yaml").read_text()

    async def keep_off(self, id: str) -> None:
        self.off.append(id)

    def place(self, id: str) -> int | None:
        if id != "lamp":
            raise NotFound(f"there is no automation {id!r}")
        return 1

    def expand(self, item: Mapping[str, Any]) -> Any:
        raise Invalid("the input door is missing", path=["use_blueprint", "input"])


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


async def test_it_is_read_with_its_comments_and_its_place(files: Files) -> None:
    bell, lamp = await files.editor.read_yaml("bell"), await files.editor.read_yaml("lamp")

    assert bell.text.startswith("id: bell\nalias: Bell  # the one at the front door\ntrigger:")
    assert bell.text.endswith("mode: single  # never twice\n")
    assert (bell.file, bell.line) == ("automations.yaml", 2)
    assert bell.data["action"][1] == {"delay": 5}
    assert lamp.data["triggers"][0]["secret"] == "!secret lamp"


async def test_only_what_differs_is_written(files: Files) -> None:
    bell = await files.editor.read_yaml("bell")
    wanted = {
        "id": "bell",
        "alias": "Door bell",
        "triggers": [{"trigger": "event", "event_type": "bell_pressed"}],
        "actions": [{"event": "bell_heard"}, {"delay": 7}, {"event": "bell_forgotten"}],
        "mode": "single",
    }

    saved = await files.editor.save("bell", wanted, bell.hash)

    expected = FILE.replace("alias: Bell ", "alias: Door bell ").replace("delay: 5 ", "delay: 7 ")
    assert files.text == expected
    assert saved.written.data["alias"] == "Door bell"
    assert saved.errors == []
    assert files.config.current["automation"][0]["alias"] == "Door bell"


async def test_steps_come_and_go_where_they_stand(files: Files) -> None:
    bell = await files.editor.read_yaml("bell")
    data = dict(bell.data)

    await files.editor.save("bell", {**data, "action": [data["action"][0], data["action"][2]]})
    await files.editor.save("bell", {**data, "action": [*data["action"], {"event": "last"}]})

    assert "    # told to whoever listens\n    - event: bell_heard\n" in files.text
    assert "    - event: bell_forgotten\n    - event: last\n" in files.text


async def test_a_secret_stays_a_reference(files: Files) -> None:
    lamp = await files.editor.read_yaml("lamp")

    await files.editor.save("lamp", {**lamp.data, "alias": "Lamp 2"}, lamp.hash)

    assert "      secret: !secret lamp\n" in files.text
    assert "a-secret" not in files.text
    assert "  id: lamp\n" in files.text, "what is edited keeps the id under which it is known"


async def test_yaml_is_put_back_as_it_was_written(files: Files) -> None:
    bell = await files.editor.read_yaml("bell")
    text = bell.text.replace("# told to whoever listens", "# told to everybody") + "description: |\n  two\n    lines\n"

    saved = await files.editor.save_yaml("bell", text, bell.hash)

    assert "    # told to everybody\n    - event: bell_heard\n" in files.text
    assert "  description: |\n    two\n      lines\n\n# The second one.\n- alias: Lamp\n" in files.text
    assert saved.written.data["description"] == "two\n  lines\n"
    assert saved.written.text == text


async def test_windows_lines_stay(tmp_path: Path) -> None:
    files = Files(tmp_path)
    (tmp_path / "automations.yaml").write_bytes(b"\xef\xbb\xbf" + FILE.replace("\n", "\r\n").encode())
    bell = await files.editor.read_yaml("bell")

    await files.editor.save_yaml("bell", bell.text.replace("delay: 5", "delay: 6"), bell.hash)

    written = (tmp_path / "automations.yaml").read_bytes()
    assert written == b"\xef\xbb\xbf" + FILE.replace("delay: 5", "delay: 6").replace("\n", "\r\n").encode()


async def test_what_was_changed_meanwhile_is_not_overwritten(files: Files) -> None:
    bell = await files.editor.read_yaml("bell")
    (files.home / "automations.yaml").write_text(FILE.replace("delay: 5", "delay: 9"))

    with pytest.raises(Conflict, match="changed meanwhile"):
        await files.editor.save("bell", {**bell.data, "alias": "X"}, bell.hash)
    with pytest.raises(Conflict):
        await files.editor.delete("bell", bell.hash)

    assert "delay: 9" in files.text


async def test_another_automation_may_have_changed(files: Files) -> None:
    bell = await files.editor.read_yaml("bell")
    (files.home / "automations.yaml").write_text(FILE.replace("lamp_pressed", "lamp_touched"))

    await files.editor.save("bell", {**bell.data, "alias": "X"}, bell.hash)

    assert "lamp_touched" in files.text
    assert "alias: X" in files.text


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"mode": "sometimes"}, "automation[0].mode"),
        ({"action": [{"evnt": "x"}]}, "automation[0].action"),
        ({"trigger": [{"platform": "evnt"}]}, "did you mean event"),
    ],
)
async def test_a_wrong_one_is_refused_with_its_place(files: Files, change: dict[str, Any], told: str) -> None:
    bell = await files.editor.read_yaml("bell")

    with pytest.raises(ConfigInvalid) as caught:
        await files.editor.save("bell", {**bell.data, **change}, bell.hash)

    (error, *_) = caught.value.errors
    assert (error.file, error.line > 1) == ("automations.yaml", True)
    assert told in str(error)
    assert files.text == FILE


@pytest.mark.parametrize("text", ["", "- id: x", "just text", "a: [", "--- \nalias: x", "  alias: x", "a: 1\na: 2"])
async def test_text_that_is_no_automation_is_refused(files: Files, text: str) -> None:
    with pytest.raises(InvalidRequest):
        await files.editor.save_yaml("bell", text)
    with pytest.raises(InvalidRequest):
        await files.editor.save_yaml(None, text)

    assert files.text == FILE


async def test_a_new_one_gets_an_id_of_its_alias(files: Files) -> None:
    item = {"alias": "Bell", "triggers": [], "actions": [{"event": "x"}]}

    first = await files.editor.save(None, item)
    second = await files.editor.save(None, {**item, "alias": "Tür!"})
    third = await files.editor.save(None, {**item, "id": "mine"})

    assert (first.written.id, second.written.id, third.written.id) == ("bell_2", "tur", "mine")
    assert files.text.startswith(FILE)
    with pytest.raises(Conflict, match="already"):
        await files.editor.save(None, {**item, "id": "mine"})


async def test_a_new_one_as_yaml_keeps_its_comments(files: Files) -> None:
    text = "# made by hand\nalias: Cat  # hungry\nactions:\n  # feed it\n  - event: feed\n"

    saved = await files.editor.save_yaml(None, text)

    assert "- # made by hand\n" in files.text or "# hungry" in files.text
    assert "    # feed it\n    - event: feed\n" in files.text
    assert saved.written.id == "cat"


async def test_the_first_of_a_home_makes_its_file(tmp_path: Path) -> None:
    files = Files(tmp_path)
    (tmp_path / "automations.yaml").unlink()
    (tmp_path / "configuration.yaml").write_text("# Mine.\nhub: {name: Test}\n")
    await files.config.reload()

    await files.editor.save(None, {"alias": "First", "actions": [{"event": "x"}]})

    assert (tmp_path / "configuration.yaml").read_text().endswith("automation: !include automations.yaml\n")
    assert files.text.startswith("- id: first\n")
    assert [each["id"] for each in files.config.current["automation"]] == ["first"]


async def test_a_copy_is_off_and_has_another_name(files: Files) -> None:
    saved = await files.editor.duplicate("bell")

    assert (saved.written.id, saved.written.data["alias"]) == ("bell_copy", "Bell (copy)")
    assert files.off == ["bell_copy"]
    assert "# told to whoever listens" in saved.written.text
    assert files.text.startswith(FILE)


async def test_it_is_taken_out_and_nothing_else(files: Files) -> None:
    await files.editor.delete("bell")

    assert "bell" not in files.text
    assert files.text.endswith(FILE.partition("# The second one.")[2])
    with pytest.raises(NotFound):
        await files.editor.delete("bell")


async def test_inputs_that_a_blueprint_does_not_take_are_refused(files: Files) -> None:
    with pytest.raises(InvalidRequest, match="the input door is missing"):
        await files.editor.save(None, {"alias": "X", "use_blueprint": {"path": "mine/ring.yaml"}})

    assert files.text == FILE


async def test_what_is_shared_by_an_anchor_is_left_to_a_person(tmp_path: Path) -> None:
    files = Files(tmp_path, "- &a\n  id: one\n  actions: [{event: x}]\n- {id: two, actions: [{event: y}]}\n")

    with pytest.raises(EditRefused):
        await files.editor.save("one", {"id": "one", "actions": [{"event": "z"}]})
    with pytest.raises(EditRefused):
        await files.editor.save_yaml("one", "id: one\nactions: []\n")


async def test_one_in_braces_can_be_edited(tmp_path: Path) -> None:
    files = Files(tmp_path, "- {id: two, actions: [{event: y}]}  # short\n")

    await files.editor.save("two", {"id": "two", "actions": [{"event": "z"}]})

    assert files.text == "- {id: two, actions: [{event: z}]}  # short\n"


async def test_two_at_once_are_both_written(files: Files) -> None:
    bell, lamp = await files.editor.read_yaml("bell"), await files.editor.read_yaml("lamp")

    await asyncio.gather(
        files.editor.save("bell", {**bell.data, "alias": "One"}, bell.hash),
        files.editor.save("lamp", {**lamp.data, "alias": "Two"}, lamp.hash),
    )

    assert "alias: One " in files.text
    assert "alias: Two\n" in files.text
