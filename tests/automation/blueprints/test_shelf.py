"""What lies on the shelf: listed, hidden, in use, removed."""

from __future__ import annotations

from typing import Any

import pytest

from hub.automation.blueprints.errors import BlueprintInvalid
from hub.core.errors import Conflict, InvalidRequest, NotFound
from tests.automation.blueprints.conftest import Shelf

TEXT = "blueprint:\n  name: {}\n  domain: automation\nactions: []\n"


def listed(shelf: Shelf, path: str, config: dict[str, Any] | None = None) -> dict[str, Any]:
    (found,) = [each for each in shelf.blueprints.list(config) if each["path"] == path]
    return found


def using(path: str, id: str = "x", **more: Any) -> dict[str, Any]:
    return {"id": id, "use_blueprint": {"path": path, "input": {}}, **more}


def test_those_of_the_home_and_the_bundled_ones_are_listed(shelf: Shelf) -> None:
    shelf.write(TEXT.format("Mine"), "me/mine.yaml")
    shelf.write("blueprint: {name: S, domain: script}\nsequence: []\n", "me/s.yml", domain="script")

    mine, script, bundled = (listed(shelf, path) for path in ("me/mine.yaml", "me/s.yml", "homarus/reminder.yaml"))

    assert (mine["name"], mine["bundled"], mine["errors"]) == ("Mine", False, [])
    assert (script["domain"], script["name"]) == ("script", "S")
    assert (bundled["bundled"], bundled["sections"][0]["inputs"][0]["key"]) == (True, "text")


def test_what_is_broken_is_listed_with_its_errors(shelf: Shelf) -> None:
    shelf.write("blueprint: {name: A}\n", "me/broken.yaml")
    shelf.write("blueprint: {name: A, domain: script}\n", "me/elsewhere.yaml")
    shelf.write("a: 1\n", "me/none.yaml").write_bytes(b"\xff\xfe")

    assert listed(shelf, "me/broken.yaml")["errors"][0]["line"] == 1
    assert "belongs below blueprints/script" in listed(shelf, "me/elsewhere.yaml")["errors"][0]["message"]
    assert "UTF-8" in listed(shelf, "me/none.yaml")["errors"][0]["message"]
    with pytest.raises(BlueprintInvalid):
        shelf.blueprints.find("me/broken.yaml")


def test_what_is_no_yaml_file_is_not_listed(shelf: Shelf) -> None:
    shelf.write("x", "me/readme.md")

    assert "me/readme.md" not in [each["path"] for each in shelf.blueprints.list()]


def test_one_of_the_home_hides_a_bundled_one(shelf: Shelf) -> None:
    shelf.write(TEXT.format("My reminder"), "homarus/reminder.yaml")

    assert listed(shelf, "homarus/reminder.yaml")["name"] == "My reminder"
    assert shelf.blueprints.find("homarus/reminder.yaml").metadata.name == "My reminder"


def test_a_blueprint_is_shown_with_its_text(shelf: Shelf) -> None:
    shelf.write("nothing: [", "me/broken.yaml")

    assert shelf.blueprints.show("homarus/reminder.yaml")["text"].startswith("blueprint:")
    assert shelf.blueprints.show("me/broken.yaml")["text"] == "nothing: ["


def test_who_uses_it_is_told(shelf: Shelf) -> None:
    shelf.write(TEXT.format("Mine"), "me/mine.yaml")
    config = {"automation": [using("me/mine.yaml", alias="Hall"), {"id": "y"}], "script": {"s": using("me/s.yaml")}}

    assert listed(shelf, "me/mine.yaml", config)["in_use"] == [{"id": "x", "alias": "Hall"}]
    assert shelf.blueprints.in_use(config)["script", "me/s.yaml"] == [{"id": "s", "alias": "s"}]


def test_what_is_in_use_is_not_removed(shelf: Shelf) -> None:
    file = shelf.write(TEXT.format("Mine"), "me/mine.yaml")

    with pytest.raises(Conflict, match=r"me/mine\.yaml is used by Hall"):
        shelf.blueprints.remove("me/mine.yaml", {"automation": [using("me/mine.yaml", alias="Hall")]})
    shelf.blueprints.remove("me/mine.yaml", {"automation": [using("me/other.yaml")]})

    assert not file.exists()
    assert [name for name, _ in shelf.kept] == ["blueprints/automation/me/mine.yaml"]
    with pytest.raises(NotFound):
        shelf.blueprints.find("me/mine.yaml")


def test_a_bundled_one_is_not_removed_and_what_hides_it_is(shelf: Shelf) -> None:
    with pytest.raises(InvalidRequest, match="comes with the program"):
        shelf.blueprints.remove("homarus/reminder.yaml", {})
    shelf.write(TEXT.format("My reminder"), "homarus/reminder.yaml")

    shelf.blueprints.remove("homarus/reminder.yaml", {"automation": [using("homarus/reminder.yaml")]})

    assert shelf.blueprints.find("homarus/reminder.yaml").metadata.name == "Reminder"


@pytest.mark.parametrize("domain", ["light", "../automation", ""])
def test_other_domains_have_no_blueprints(shelf: Shelf, domain: str) -> None:
    with pytest.raises(InvalidRequest):
        shelf.blueprints.find("me/mine.yaml", domain)
