"""`homarus init` makes a home, asks on a terminal, and overwrites nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.person import Person
from tests.cli.terminal import Terminal

DOWN = b"\x1b[B"


def test_it_makes_a_home_that_is_private_and_valid(type_: Terminal, tmp_path: Path) -> None:
    place = tmp_path / "new"

    ran = type_("init", "--yes", "--config", str(place), "--name", "Our home", "--time-zone", "Asia/Shanghai")

    assert ran.code == 0
    assert place.stat().st_mode & 0o777 == 0o700
    assert (place / "secrets.yaml").stat().st_mode & 0o777 == 0o600
    assert type_("check", "--config", str(place)).code == 0
    assert type_("config", "get", "hub.name", "--config", str(place)).out == "Our home\n"
    assert type_("config", "get", "hub.time_zone", "--config", str(place)).out == "Asia/Shanghai\n"


def test_it_keeps_the_comments_of_the_starter_configuration(type_: Terminal, tmp_path: Path) -> None:
    type_("init", "--yes", "--config", str(tmp_path / "new"), "--language", "zh-CN")

    text = (tmp_path / "new" / "configuration.yaml").read_text(encoding="utf-8")

    assert "# Who lives here." in text
    assert "language: zh-CN" in text


def test_a_home_that_is_there_is_left_alone(type_: Terminal) -> None:
    (type_.home / "configuration.yaml").write_text("hub: {name: Mine}\n", encoding="utf-8")

    ran = type_("init", "--yes", "--name", "Yours", "--json")

    assert ran.code == 0
    assert ran.json["written"] == []
    assert (type_.home / "configuration.yaml").read_text(encoding="utf-8") == "hub: {name: Mine}\n"


@pytest.mark.parametrize(
    ("option", "value"), [("--time-zone", "Europe/Atlantis"), ("--language", "english"), ("--name", "x" * 101)]
)
def test_a_wrong_value_is_refused_before_anything_is_made(
    type_: Terminal, tmp_path: Path, option: str, value: str
) -> None:
    ran = type_("init", "--yes", "--config", str(tmp_path / "new"), option, value)

    assert ran.code == 2
    assert option in ran.err
    assert not (tmp_path / "new").exists()


def test_a_file_in_the_place_of_the_home_is_named(type_: Terminal, tmp_path: Path) -> None:
    (tmp_path / "new").touch()

    ran = type_("init", "--yes", "--config", str(tmp_path / "new"))

    assert ran.code == 1
    assert str(tmp_path / "new") in ran.err


def test_on_a_terminal_it_asks_and_keeps_the_key_in_the_file_of_secrets(type_: Terminal, tmp_path: Path) -> None:
    place = tmp_path / "new"
    person = Person("init", "--config", str(place))

    person.wait_for("name of this home")
    person.press(b"La maison\r")
    person.wait_for("time zone")
    person.press(b"\r")
    person.wait_for("language of the assistant")
    person.press(b"\r")
    person.wait_for("Which model answers")
    person.press(DOWN * 3 + b"\r")
    person.wait_for("The key of anthropic")
    person.press(b"sesame-open-now-please\r")
    code = person.leave()

    assert code == 0
    assert "sesame-open-now-please" in (place / "secrets.yaml").read_text(encoding="utf-8")
    assert "sesame" not in (place / "configuration.yaml").read_text(encoding="utf-8")
    assert type_("config", "get", "hub.name", "--config", str(place)).out == "La maison\n"
    assert type_("check", "--config", str(place)).code == 0


@pytest.mark.parametrize(
    ("token", "kept"), [(b"sk-ant-oat01-not-a-secret", True), (b"sesame", False)], ids=["a token", "something else"]
)
def test_a_sign_in_at_a_provider_is_part_of_it_and_a_wrong_one_leaves_a_home(
    type_: Terminal, tmp_path: Path, token: bytes, kept: bool
) -> None:
    place = tmp_path / "new"
    person = Person(
        "init", "--config", str(place), "--name", "Ours", "--time-zone", "Europe/Berlin", "--language", "en"
    )

    person.wait_for("Which model answers")
    person.press(DOWN * 2 + b"\r")
    person.wait_for("Token")
    person.press(token + b"\r")
    person.wait_for("homarus models test anthropic@setup-token" if kept else "A setup token begins with")
    person.wait_for("Start it with")

    assert person.leave() == 0
    listed = type_("models", "auth", "list", "--config", str(place))
    assert listed.code == 4  # the list of a running hub
    file = place / ".storage" / "model_credentials.json"
    assert (file.exists() and token.decode() in file.read_text()) is kept
    assert not kept or file.stat().st_mode & 0o077 == 0


def test_who_stops_in_the_middle_has_no_home_yet(tmp_path: Path) -> None:
    person = Person("init", "--config", str(tmp_path / "new"))

    person.wait_for("name of this home")
    person.press(b"\x03")

    assert person.leave() == 1
    assert not (tmp_path / "new").exists()


def test_in_a_home_that_exists_it_asks_what_to_set_up_and_does_it(type_: Terminal) -> None:
    person = Person("init", "--config", str(type_.home))

    person.wait_for("What should be set up?")
    person.press(DOWN + b"\r")
    person.wait_for("No hub runs on")  # a channel needs it
    person.wait_for("What should be set up?")
    person.press(DOWN * 2 + b"\r")
    person.wait_for("What is it called?")
    person.press(b"Cook\r")
    person.wait_for("[cook]")
    person.press(b"\r")
    person.wait_for("A symbol")
    person.press(b"\r")
    person.wait_for("Its model")
    person.press(b"\r")
    person.wait_for("Channels that it answers")
    person.press(b"telegram, signal:family\r")
    person.wait_for("cook is added.")
    person.wait_for("What should be set up?")
    person.press(DOWN * 5 + b"\r")

    assert person.leave() == 0
    (cook,) = [each for each in type_("agents", "list", "--json").json if each["id"] == "cook"]
    assert (cook["name"], cook["bindings"]) == ("Cook", ["channel telegram", "channel signal, account family"])
    assert type_("check").code == 0


def test_without_a_terminal_a_home_that_exists_is_left_alone(type_: Terminal) -> None:
    before = (type_.home / "configuration.yaml").read_text()

    assert "nothing was changed" in type_("init").out
    assert (type_.home / "configuration.yaml").read_text() == before
