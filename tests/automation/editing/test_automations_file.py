"""Automations in the user's file: the right one is touched, whatever a person does to the file meanwhile."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from hub.automation.editing.automations_file import AutomationsFile
from hub.config.store import ConfigStore
from hub.core.errors import NotFound
from hub.core.events import EventBus
from hub.core.repairs import Repairs
from hub.core.tasks import TaskOwner
from hub.sections import all_sections

TEXT = """\
# First
- id: one
  triggers: []
  actions: [] # nothing
# Second
- alias: The second
  triggers: []
  actions: []
- id: three
  triggers: []
  actions: []
"""


@pytest.fixture
def config(tmp_path: Path) -> ConfigStore:
    (tmp_path / "configuration.yaml").write_text("automation: !include automations.yaml\n")
    (tmp_path / "automations.yaml").write_text(TEXT)
    bus = EventBus(TaskOwner("test"))
    config = ConfigStore(tmp_path, all_sections(), bus, Repairs(bus))
    config.load()
    return config


def while_emptied(path: Path, text: str, act: Callable[[], None]) -> None:
    """Act while an editor has emptied the file and not written it yet."""
    path.write_text("")

    def save() -> None:
        time.sleep(0.05)
        path.write_text(text)

    editor = threading.Thread(target=save)
    editor.start()
    act()
    editor.join()


@pytest.mark.parametrize("id", ["one", "the_second", "three"])
def test_one_is_taken_out_while_a_person_saves_the_file(config: ConfigStore, tmp_path: Path, id: str) -> None:
    file = tmp_path / "automations.yaml"
    moved = f"- id: zero\n  triggers: []\n  actions: []\n{TEXT}"

    while_emptied(file, moved, lambda: AutomationsFile(config).remove(id))

    config.load()
    names = [str(item.get("id") or item["alias"]) for item in AutomationsFile(config).items()]
    assert names == [name for name in ("zero", "one", "The second", "three") if name.lower().replace(" ", "_") != id]


def test_one_is_changed_where_it_stands_and_others_are_not(config: ConfigStore, tmp_path: Path) -> None:
    AutomationsFile(config).change("one", {"alias": "The first", "mode": "queued"})

    text = (tmp_path / "automations.yaml").read_text()
    assert text.count("The first") == 1
    assert "actions: [] # nothing" in text
    assert text.split("# Second")[1] == TEXT.split("# Second")[1]


def test_one_is_added_while_a_person_saves_the_file(config: ConfigStore, tmp_path: Path) -> None:
    file = tmp_path / "automations.yaml"

    while_emptied(file, TEXT, lambda: AutomationsFile(config).append({"id": "new", "triggers": [], "actions": []}))

    assert "id: new" in file.read_text()
    assert file.read_text().startswith("# First")


def test_what_is_not_there_is_not_found(config: ConfigStore, tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        AutomationsFile(config).remove("nobody")

    assert (tmp_path / "automations.yaml").read_text() == TEXT
