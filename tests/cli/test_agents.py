"""`homarus agents`: who there is, in a configuration that keeps its comments."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.terminal import Terminal

PICTURE = b"\x89PNG\r\n\x1a\n and the rest"


def configuration(home: Path) -> str:
    return (home / "configuration.yaml").read_text(encoding="utf-8")


def ids(type_: Terminal) -> list[str]:
    return [each["id"] for each in type_("agents", "list", "--json").json]


def test_an_agent_is_added_behind_the_others_and_nothing_else_changes(type_: Terminal) -> None:
    before = configuration(type_.home).splitlines()

    ran = type_("agents", "add", "kitchen", "--name", "Cook", "--emoji", "🍳", "--model", "openai/gpt-5-mini")

    assert ran.code == 0
    assert ids(type_) == ["main", "kitchen"]
    assert [line for line in configuration(type_.home).splitlines() if line not in before] == [
        "  - id: kitchen",
        "    name: Cook",
        '    emoji: "🍳"',
        "    model: openai/gpt-5-mini",
    ]
    assert set(before) <= set(configuration(type_.home).splitlines())
    assert type_("check").code == 0


def test_who_answered_without_being_written_goes_on_to_answer(type_: Terminal) -> None:
    (type_.home / "configuration.yaml").write_text("hub: {name: Home}  # ours\n", encoding="utf-8")

    type_("agents", "add", "kitchen")

    assert [(each["id"], each["default"]) for each in type_("agents", "list", "--json").json] == [
        ("main", True),
        ("kitchen", False),
    ]
    assert configuration(type_.home).startswith("hub: {name: Home}  # ours\n")


def test_the_list_says_where_each_answers(type_: Terminal) -> None:
    type_("agents", "add", "kitchen", "--emoji", "🍳")
    with (type_.home / "configuration.yaml").open("a", encoding="utf-8") as file:
        file.write("\nbindings:\n  - {agent: kitchen, match: {channel: telegram, account: home}}\n")

    lines = type_("agents", "list").out.splitlines()

    assert "🍳 kitchen" in lines[-1]
    assert "channel telegram, account home" in lines[-1]


def test_an_identity_is_shown_changed_and_taken_away(type_: Terminal) -> None:
    workspace = type_.home / "workspace"
    workspace.mkdir(exist_ok=True)
    (workspace / "owl.png").write_bytes(PICTURE)

    type_("agents", "identity", "main", "--name", "Nova", "--emoji", "🦉", "--avatar", "owl.png")
    changed = type_("agents", "identity", "main", "--json").json
    type_("agents", "identity", "main", "--avatar", "")

    assert changed == {"id": "main", "name": "Nova", "emoji": "🦉", "avatar": "owl.png"}
    assert type_("agents", "identity", "main").out.splitlines() == ["id: main", "name: Nova", "emoji: 🦉", "avatar: "]
    assert "avatar" not in configuration(type_.home)
    assert "    workspace: workspace # AGENTS.md" in configuration(type_.home)


def test_an_agent_is_removed_and_its_files_stay(type_: Terminal) -> None:
    before = configuration(type_.home)
    type_("agents", "add", "kitchen")
    (type_.home / "workspace-kitchen").mkdir()

    ran = type_("agents", "remove", "kitchen")

    assert (ran.code, ids(type_)) == (0, ["main"])
    assert configuration(type_.home) == before
    assert (type_.home / "workspace-kitchen").is_dir()
    assert "workspace-kitchen" in ran.out


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (["add", "main"], "There is an agent main already"),
        (["add", "two words"], "identifier"),
        (["add", "kitchen", "--model", "no model"], "model"),
        (["add", "kitchen", "--workspace", "workspace"], "two agents with the workspace"),
        (["remove", "main"], "main is the default agent"),
        (["remove", "kichen"], "There is no agent 'kichen'"),
        (["identity", "nobody"], "There is no agent 'nobody'"),
        (["identity", "main", "--avatar", "none.png"], "no picture none.png"),
        (["identity", "main", "--avatar", "../configuration.yaml"], "refused"),
        (["identity", "main", "--avatar", "AGENTS.md"], "is not a picture"),
        (["identity", "main", "--emoji", "x" * 17], "emoji"),
    ],
)
def test_what_cannot_be_done_is_refused_and_nothing_is_written(type_: Terminal, command: list[str], words: str) -> None:
    (type_.home / "workspace").mkdir(exist_ok=True)
    (type_.home / "workspace" / "AGENTS.md").write_text("rules", encoding="utf-8")
    before = configuration(type_.home)

    ran = type_("agents", *command)

    assert ran.code != 0
    assert words in ran.err
    assert configuration(type_.home) == before


def test_an_agent_that_a_binding_names_is_not_removed(type_: Terminal) -> None:
    type_("agents", "add", "kitchen")
    with (type_.home / "configuration.yaml").open("a", encoding="utf-8") as file:
        file.write("\nbindings:\n  - {agent: kitchen, match: {channel: telegram}}\n")

    ran = type_("agents", "remove", "kitchen")

    assert ran.code == 3
    assert "bindings[0].agent" in ran.err
    assert ids(type_) == ["main", "kitchen"]


def test_an_agent_in_an_included_file_is_changed_there(type_: Terminal) -> None:
    (type_.home / "who.yaml").write_text("- id: main  # me\n- id: kitchen\n", encoding="utf-8")
    (type_.home / "configuration.yaml").write_text("agents: !include who.yaml\n", encoding="utf-8")

    type_("agents", "identity", "kitchen", "--name", "Cook")
    type_("agents", "add", "garden")

    assert (type_.home / "who.yaml").read_text(encoding="utf-8") == (
        "- id: main  # me\n- id: kitchen\n  name: Cook\n- id: garden\n"
    )


def test_an_agent_is_added_with_what_it_answers(type_: Terminal) -> None:
    type_("agents", "add", "kitchen", "--bind", "telegram")
    type_("agents", "add", "garden", "--bind", "signal:family", "--bind", "matrix")

    assert {each["id"]: each["bindings"] for each in type_("agents", "list", "--json").json} == {
        "main": [],
        "kitchen": ["channel telegram"],
        "garden": ["channel signal, account family", "channel matrix"],
    }
    assert "homarus agents add ID" in type_("agents", "add").err
