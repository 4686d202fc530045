"""The configuration while a hub runs: reloaded, kept in force, edited, with its history."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from hub.config.edit import EditRefused
from hub.config.errors import ConfigInvalid
from hub.config.files import content_hash
from hub.config.files_editor import HIDDEN_VALUE
from hub.config.history import KEPT_PER_FILE, changed_by
from hub.config.sections import Sections
from hub.config.spans import Tagged
from hub.config.store import EVENT_CONFIG_CHANGED, EVENT_CONFIG_REFUSED, ConfigStore, ReloadResult
from hub.core.errors import Conflict, Forbidden, InvalidRequest, NotFound
from hub.core.events import Event, EventBus
from hub.core.repairs import Repairs, Severity
from hub.core.tasks import TaskOwner

ROOT = """\
# mine
hub:
  name: Home   # ours
http: {port: 1234}
lamp:
  host: x
  token: !secret token
routine: !include routines.yaml
"""
ROUTINES = "# all of them\n- id: one   # first\n  triggers: [{type: time, at: '07:00'}]\n"


class Kit:
    """A store on a home directory, and what it told."""

    def __init__(self, home: Path, sections: Sections, tasks: TaskOwner) -> None:
        self.home = home
        self.now = 1_800_000_000.0
        self.on_tick: Callable[[], None] = lambda: None
        self.in_a_pause: Callable[[], None] = lambda: None
        self.bus = EventBus(tasks)
        self.repairs = Repairs(self.bus)
        self.tasks = tasks
        self.events: list[Event] = []
        self.bus.listen(EVENT_CONFIG_CHANGED, self.events.append)
        self.bus.listen(EVENT_CONFIG_REFUSED, self.events.append)
        self.write("configuration.yaml", ROOT)
        self.write("routines.yaml", ROUTINES)
        self.write("secrets.yaml", "token: 's3cr3t'  # the lamp's\n")
        self.store = ConfigStore(
            home,
            sections,
            self.bus,
            self.repairs,
            environment={},
            wall_time=self.tick,
            pause=lambda seconds: self.in_a_pause(),
        )

    def tick(self) -> float:
        self.now += 1
        self.on_tick()
        return self.now

    def write(self, name: str, text: str) -> None:
        (self.home / name).write_text(text, encoding="utf-8")

    def read(self, name: str) -> str:
        return (self.home / name).read_text(encoding="utf-8")

    def swap(self, name: str, old: str, new: str) -> None:
        self.write(name, self.read(name).replace(old, new))

    def titles(self) -> list[str]:
        return [repair.title for repair in self.repairs.all()]


@pytest.fixture
async def kit(tmp_path: Path, sections: Sections) -> AsyncIterator[Kit]:
    tasks = TaskOwner("test")
    yield Kit(tmp_path, sections, tasks)
    await tasks.cancel_all()


@pytest.fixture
def loaded(kit: Kit) -> Kit:
    kit.store.load()
    return kit


async def test_a_good_configuration_is_in_force_without_repairs(kit: Kit) -> None:
    checked = kit.store.load()

    assert checked.errors == []
    assert kit.store.current["lamp"]["host"] == "x"
    assert kit.repairs.all() == []


async def test_a_broken_section_is_a_repair_with_its_place(kit: Kit) -> None:
    kit.swap("configuration.yaml", "host: x", "hosst: x")

    kit.store.load()

    repair = kit.repairs.all()[-1]
    assert repair.severity is Severity.ERROR
    assert repair.location == {"file": "configuration.yaml", "line": 6, "column": 3, "path": "lamp.hosst"}
    assert "lamp" not in kit.store.current
    assert not kit.store.current.recovery


async def test_a_broken_critical_section_at_start_is_recovery_and_not_the_last_good(
    loaded: Kit, sections: Sections
) -> None:
    loaded.swap("configuration.yaml", "port: 1234", "port: many")
    again = ConfigStore(loaded.home, sections, loaded.bus, loaded.repairs, environment={})

    again.load()

    assert again.current.recovery
    assert again.current.or_default("http")["port"] == 18789
    assert loaded.repairs.all()[0].severity is Severity.CRITICAL
    assert b"port: 1234" in again.last_good()["configuration.yaml"]


async def test_saving_a_valid_file_leaves_recovery(kit: Kit) -> None:
    kit.write("configuration.yaml", "http: {port: many}\n")
    kit.store.load()

    kit.write("configuration.yaml", "http: {port: 80}\n")
    result = await kit.store.reload()

    assert result.restarting
    assert not kit.store.current.recovery
    assert kit.repairs.all() == []


async def test_a_file_that_was_emptied_is_taken_to_be_on_its_way(loaded: Kit) -> None:
    text = loaded.read("routines.yaml")
    loaded.in_a_pause = lambda: loaded.write("routines.yaml", text)

    loaded.write("routines.yaml", "")
    on_its_way = await loaded.store.reload()
    loaded.in_a_pause = lambda: None
    loaded.write("routines.yaml", "")
    emptied = await loaded.store.reload()

    assert (on_its_way.changed, emptied.changed) == (set(), {"routine"})


async def test_only_what_changed_is_named(loaded: Kit) -> None:
    loaded.swap("routines.yaml", "07:00", "08:00")

    result = await loaded.store.reload()

    assert result.changed == {"routine"}
    assert result.needs_restart == set()
    assert [event.data["changed"] for event in loaded.events] == [["routine"]]


async def test_a_changed_secret_changes_the_section_that_uses_it(loaded: Kit) -> None:
    loaded.swap("secrets.yaml", "s3cr3t", "other")

    result = await loaded.store.reload()

    assert result.changed == {"lamp"}
    assert loaded.store.current["lamp"]["token"].reveal() == "other"


async def test_files_that_say_the_same_change_nothing(loaded: Kit) -> None:
    loaded.write("configuration.yaml", ROOT.replace("# mine", "# ours"))

    result = await loaded.store.reload()
    again = await loaded.store.reload()

    assert (result.changed, again.changed) == (set(), set())
    assert loaded.events == []


@pytest.mark.parametrize(
    ("old", "new"),
    [("port: 1234", "port: many"), ("lamp:\n", "lamp:\n\thost: y\n"), ("host: x", "hosst: x"), ("lamp:", "lampe:")],
)
async def test_a_broken_file_changes_nothing_while_the_hub_runs(loaded: Kit, old: str, new: str) -> None:
    loaded.swap("configuration.yaml", "name: Home", "name: Other")
    loaded.swap("configuration.yaml", old, new)

    result = await loaded.store.reload()

    assert not result.applied
    assert result.changed == set()
    assert result.errors != []
    assert loaded.store.current["hub"]["name"] == "Home"
    assert loaded.store.current["lamp"]["host"] == "x"
    assert "The configuration has errors; the last good one stays in force" in loaded.titles()
    assert [event.type for event in loaded.events] == [EVENT_CONFIG_REFUSED]


async def test_a_mended_file_is_applied_and_its_repairs_are_gone(loaded: Kit) -> None:
    loaded.swap("configuration.yaml", "host: x", "hosst: y")
    await loaded.store.reload()

    loaded.swap("configuration.yaml", "hosst: y", "host: y")
    result = await loaded.store.reload()

    assert result.changed == {"lamp"}
    assert loaded.repairs.all() == []


async def test_what_was_broken_from_the_start_does_not_hold_other_changes_back(kit: Kit) -> None:
    kit.swap("configuration.yaml", "host: x", "hosst: x")
    kit.store.load()

    kit.swap("routines.yaml", "07:00", "08:00")
    result = await kit.store.reload()

    assert result.applied
    assert result.changed == {"routine"}
    assert result.errors != []


async def test_the_removal_of_a_section_is_never_silent(loaded: Kit, caplog: pytest.LogCaptureFixture) -> None:
    loaded.write("configuration.yaml", ROOT.replace("lamp:\n  host: x\n  token: !secret token\n", ""))

    with caplog.at_level(logging.WARNING):
        result = await loaded.store.reload()

    assert result.removed == {"lamp"}
    assert "the section lamp is no longer in the configuration" in caplog.text
    assert loaded.events[-1].data["removed"] == ["lamp"]


async def test_a_key_that_needs_a_restart_says_so_until_it_is_changed_back(loaded: Kit) -> None:
    loaded.swap("configuration.yaml", "port: 1234", "port: 4321")
    first = await loaded.store.reload()
    titles = loaded.titles()
    loaded.swap("configuration.yaml", "port: 4321", "port: 1234")
    second = await loaded.store.reload()

    assert (first.needs_restart, second.needs_restart) == ({"http"}, set())
    assert titles == ["A restart is needed for http"]
    assert loaded.repairs.all() == []


async def test_a_changed_file_is_noticed_and_applied(loaded: Kit) -> None:
    results: asyncio.Queue[ReloadResult] = asyncio.Queue()
    await loaded.store.watch(loaded.tasks, results.put, partial(asyncio.sleep, 0))

    async def write_until_seen() -> ReloadResult:
        for number in range(100):
            # Whole at once: whoever reads a file that is being written may find half of it.
            loaded.write("routines.new", f"- id: r{number}\n  triggers: [{{type: time, at: x}}]\n")
            (loaded.home / "routines.new").rename(loaded.home / "routines.yaml")
            try:
                return await asyncio.wait_for(results.get(), 0.5)
            except TimeoutError:
                continue
        raise AssertionError("the change was not noticed")

    result = await write_until_seen()

    assert result.changed == {"routine"}


async def test_reload_off_watches_nothing(kit: Kit) -> None:
    kit.swap("configuration.yaml", "name: Home", "reload: off")
    kit.store.load()

    assert await kit.store.watch(kit.tasks, lambda result: asyncio.sleep(0), partial(asyncio.sleep, 0)) is None


# --- editing ---


async def test_a_file_is_saved_with_its_base_hash_and_kept_as_it_was(loaded: Kit) -> None:
    text, digest = loaded.store.read_file("configuration.yaml")

    saved = loaded.store.write_file("configuration.yaml", text.replace("Home", "House"), digest)

    assert loaded.read("configuration.yaml") == ROOT.replace("Home", "House")
    assert saved.errors == []
    assert saved.version is not None
    assert loaded.store.editor.history.read("configuration.yaml", saved.version.id) == ROOT.encode()
    assert "+  name: House   # ours" in loaded.store.editor.diff("configuration.yaml", saved.version.id)
    assert (loaded.home / "configuration.yaml").stat().st_mode & 0o077 in {0, 0o044}


async def test_a_file_that_changed_meanwhile_is_not_overwritten(loaded: Kit) -> None:
    _, digest = loaded.store.read_file("configuration.yaml")
    loaded.swap("configuration.yaml", "Home", "Other")

    with pytest.raises(Conflict) as raised:
        loaded.store.write_file("configuration.yaml", "hub: {}\n", digest)

    assert raised.value.details["hash"] == content_hash(loaded.read("configuration.yaml").encode())
    assert "Other" in loaded.read("configuration.yaml")


async def test_what_a_person_saves_while_a_file_is_written_is_not_overwritten(loaded: Kit) -> None:
    text, digest = loaded.store.read_file("configuration.yaml")
    loaded.on_tick = lambda: loaded.swap("configuration.yaml", "Home", "Other")  # asked when it goes into the history

    with pytest.raises(Conflict):
        loaded.store.write_file("configuration.yaml", text.replace("Home", "House"), digest)

    assert "Other" in loaded.read("configuration.yaml")
    assert not list(loaded.home.glob(".*.tmp"))


async def test_a_version_is_restored_and_the_newer_one_kept(loaded: Kit) -> None:
    _, digest = loaded.store.read_file("configuration.yaml")
    saved = loaded.store.write_file("configuration.yaml", "hub: {name: New}\n", digest)
    assert saved.version is not None

    loaded.store.editor.restore("configuration.yaml", saved.version.id)

    assert loaded.read("configuration.yaml") == ROOT
    versions = loaded.store.editor.history.versions("configuration.yaml")
    assert [version.size_bytes for version in versions] == [len("hub: {name: New}\n"), len(ROOT.encode())]


async def test_the_history_says_who_changed_a_file(loaded: Kit) -> None:
    file, store = "configuration.yaml", loaded.store
    with changed_by("page.ada"):
        await asyncio.to_thread(store.editor.set_value, ("hub", "name"), "Pier")
    await store.reload()
    store.editor.set_value(("hub", "name"), "Quay")
    await store.reload()
    loaded.write(file, "hub: {name: By hand}\n")
    await store.reload()

    found = store.editor.history.versions(file)
    assert [each.by for each in found] == ["file", "", "page.ada"]
    assert b"Quay" in store.editor.history.read(file, found[0].id)


async def test_the_history_is_bounded(loaded: Kit) -> None:
    for number in range(KEPT_PER_FILE + 5):
        loaded.store.editor.history.keep("a/b.yaml", f"{number}".encode())

    versions = loaded.store.editor.history.versions("a/b.yaml")

    assert len(versions) == KEPT_PER_FILE
    assert loaded.store.editor.history.read("a/b.yaml", versions[0].id) == b"54"


@pytest.mark.parametrize(
    "name", ["../x.yaml", "/etc/x.yaml", ".storage/hub_token", ".storage/x.yaml", "a/../x.yaml", "x.txt", "", ".x.yaml"]
)
async def test_only_configuration_files_can_be_read_and_written(loaded: Kit, name: str) -> None:
    with pytest.raises(InvalidRequest):
        loaded.store.read_file(name, admin=True)
    with pytest.raises(InvalidRequest):
        loaded.store.write_file(name, "a: 1\n", None)
    with pytest.raises(InvalidRequest):
        loaded.store.check_text({name: "a: 1\n"})
    with pytest.raises(InvalidRequest):
        loaded.store.editor.restore(name, "20260101T000000000000Z-0123456789ab")


async def test_secrets_are_shown_to_an_administrator_only(loaded: Kit) -> None:
    hidden, digest = loaded.store.read_file("secrets.yaml")
    shown, _ = loaded.store.read_file("secrets.yaml", admin=True)

    assert hidden == f"token: {HIDDEN_VALUE}\n"
    assert "s3cr3t" in shown
    with pytest.raises(InvalidRequest, match="hidden"):
        loaded.store.write_file("secrets.yaml", hidden, digest)


async def test_versions_of_secrets_are_not_compared(loaded: Kit) -> None:
    _, digest = loaded.store.read_file("secrets.yaml", admin=True)
    saved = loaded.store.write_file("secrets.yaml", "token: new\n", digest)
    assert saved.version is not None

    with pytest.raises(Forbidden):
        loaded.store.editor.diff("secrets.yaml", saved.version.id)


async def test_a_text_is_checked_without_being_written(loaded: Kit) -> None:
    errors = loaded.store.check_text({"routines.yaml": "- id: A B\n"})

    assert {error.file for error in errors} == {"routines.yaml"}
    assert loaded.read("routines.yaml") == ROUTINES


async def test_a_value_in_an_included_file_is_set_there(loaded: Kit) -> None:
    saved = loaded.store.editor.set_value(("routine", 0, "mode"), "queued")

    assert saved.file == "routines.yaml"
    assert loaded.read("routines.yaml") == ROUTINES + "  mode: queued\n"
    assert loaded.read("configuration.yaml") == ROOT


async def test_items_are_added_and_removed_in_an_included_file(loaded: Kit) -> None:
    new = {"id": "two", "triggers": [{"type": "event", "event_type": "x"}]}
    editor = loaded.store.editor

    editor.set_value(("routine", 1), new)
    editor.set_value(("routine", 2), {**new, "id": "three"})
    editor.remove_value(("routine", 1))
    await loaded.store.reload()

    assert [routine["id"] for routine in loaded.store.current["routine"]] == ["one", "three"]
    assert "- id: one   # first\n" in loaded.read("routines.yaml")


async def test_a_reference_to_a_secret_is_written_as_one(loaded: Kit) -> None:
    loaded.store.editor.set_value(("models", "providers", "mine", "api_key"), Tagged("!secret", "token"))

    assert (
        loaded.read("configuration.yaml") == ROOT + "models:\n  providers:\n    mine:\n      api_key: !secret token\n"
    )
    assert loaded.store.editor.get_value(("lamp", "token")) == Tagged("!secret", "token")


async def test_a_value_that_would_break_something_is_refused(loaded: Kit) -> None:
    with pytest.raises(ConfigInvalid) as raised:
        loaded.store.editor.set_value(("http", "port"), "many")

    assert raised.value.details["errors"][0]["path"] == "http.port"
    assert loaded.read("configuration.yaml") == ROOT


async def test_the_whole_of_an_included_file_is_not_replaced_by_a_value(loaded: Kit) -> None:
    with pytest.raises(EditRefused, match=r"routines\.yaml"):
        loaded.store.editor.set_value(("routine",), [])


async def test_values_in_packages_and_folders_are_found(kit: Kit) -> None:
    (kit.home / "p").mkdir()
    kit.write("p/a.yaml", "routine:\n- id: two   # in a package\n  triggers: [{type: time, at: x}]\n")
    kit.swap("configuration.yaml", "hub:\n", "hub:\n  packages: !include_dir_named p\n")
    kit.store.load()

    kit.store.editor.set_value(("routine", 1, "id"), "second")

    assert kit.read("p/a.yaml").startswith("routine:\n- id: second   # in a package\n")


async def test_what_is_not_there_is_said(loaded: Kit) -> None:
    with pytest.raises(NotFound, match=r"lamp\.pin"):
        loaded.store.editor.remove_value(("lamp", "pin"))


# --- completion ---


def labels(found: list[dict[str, Any]]) -> list[str]:
    return [each["label"] for each in found]


async def test_keys_are_completed_by_their_place(loaded: Kit) -> None:
    complete = loaded.store.completions

    assert "models" in labels(complete("configuration.yaml", "hub:\n  name: x\n", 3, 1))
    assert "hub" not in labels(complete("configuration.yaml", "hub:\n  name: x\n", 3, 1))
    assert labels(complete("configuration.yaml", "lamp:\n  host: x\n  \n", 3, 3)) == ["pin", "token"]
    assert labels(complete("configuration.yaml", "http:\n  auth:\n    \n", 3, 5)) == ["mode"]
    assert labels(complete("routines.yaml", "- id: x\n  \n", 2, 3)) == ["mode", "max", "triggers"]
    assert labels(complete("routines.yaml", "- id: x\n  triggers:\n    - type: time\n      \n", 4, 7)) == ["at"]
    assert labels(complete("routines.yaml", "- id: x\n- \n", 2, 3)) == ["id", "mode", "max", "triggers"]


async def test_values_tags_and_names_of_secrets_are_completed(loaded: Kit) -> None:
    complete = loaded.store.completions

    assert labels(complete("configuration.yaml", "http:\n  auth:\n    mode: \n", 3, 11)) == [
        "token",
        "password",
        "trusted_proxy",
        "none",
    ]
    assert "!include_dir_named" in labels(complete("configuration.yaml", "lamp: !\n", 1, 8))
    assert labels(complete("configuration.yaml", "lamp:\n  token: !secret \n", 2, 18)) == ["token"]
    assert labels(complete("configuration.yaml", "lamp:\n  token: \n", 2, 10)) == ["!secret token"]
    assert complete("configuration.yaml", "# lamp:\n", 1, 5) == []
    assert complete("configuration.yaml", "x\n", 99, 1) == []
