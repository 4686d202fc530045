"""The system prompt: short, complete, and the same byte for byte until something behind it changes."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from hub.agent.prompt.facts import mode_of
from hub.agent.prompt.prompt import (
    DEFAULT_FILE_CHARS,
    DEFAULT_TOTAL_CHARS,
    PromptFacts,
    PromptFile,
    PromptMode,
    PromptSettings,
    prompt_parts,
    show_files,
    system_prompt,
)
from hub.agent.prompt.prompts import Prompts
from tests.agent.house import AgentHouse
from tests.servers.openai_server import OpenAIServer

LIMITS = PromptSettings()
LISTING = "## Skills\n- tea: Make tea."


def file(name: str, text: str | None, **fields: object) -> PromptFile:
    return PromptFile(name, text, len(text or ""), **fields)  # type: ignore[arg-type]


def ada(**facts: object) -> str:
    return system_prompt(PromptFacts("Ada", **facts))  # type: ignore[arg-type]


def test_it_holds_identity_rules_and_files_in_order() -> None:
    prompt = ada(files=(file("AGENTS.md", "house rules"), file("SOUL.md", "be kind")))

    assert prompt.startswith("You are Ada,")
    places = [
        prompt.index(part) for part in ("## How you work", "## Text that others wrote", "### AGENTS.md", "be kind")
    ]
    assert places == sorted(places)
    assert prompt.endswith("be kind")


@pytest.mark.parametrize(
    ("section", "facts"),
    [
        ("## Memory", {"tool_names": ("memory_search", "remember")}),
        ("## Homarus itself", {"tool_names": ("hub_docs",)}),
        ("## Workspace\n", {"tool_names": ("read",)}),
        ("by its name: paint, sing.", {"more_tools": ("paint", "sing")}),
        ("The time zone here is Europe/Berlin.", {"zone": "Europe/Berlin"}),
        ("are of twelve hours: 3:30 pm", {"zone": "America/New_York", "twelve_hours": True}),
        ("## Group chat", {"in_room": True}),
        ("## Reply tags", {"in_chat_app": True}),
        ("People do not see what you think", {"runtime": "Homarus 1 on Linux."}),
        ("People see what you think", {"runtime": "Homarus 1 on Linux.", "reasoning_shown": True}),
        (LISTING, {"tool_names": ("skill",), "skills": LISTING}),
    ],
)
def test_a_section_is_there_only_where_it_holds(section: str, facts: dict[str, object]) -> None:
    assert section in ada(**facts)
    assert section not in ada(tool_names=("write",), skills=LISTING)


def test_a_subagent_has_rules_files_and_runtime_and_no_more() -> None:
    files = (file("AGENTS.md", "house rules"), file("SOUL.md", "be kind"), file("TOOLS.md", "the lamp"))
    tools = ("memory_search", "remember", "skill", "read")

    parts = prompt_parts(
        PromptFacts("Ada", files, tools, LISTING, PromptMode.MINIMAL, zone="UTC", runtime="Homarus 1.", in_room=True)
    )

    assert [part.name for part in parts] == [
        "identity", "rules", "workspace", "time", "runtime", "files", "AGENTS.md", "TOOLS.md",
    ]  # fmt: skip
    assert "/reasoning" not in parts[4].text


def test_no_prompt_is_one_line() -> None:
    assert "\n" not in ada(mode=PromptMode.NONE, files=(file("AGENTS.md", "x"),))


def test_the_mode_follows_the_conversation_unless_it_is_configured() -> None:
    assert mode_of("auto", "agent:main:main") is PromptMode.FULL
    assert mode_of("auto", "agent:main:subagent:x") is PromptMode.MINIMAL
    assert mode_of("none", "agent:main:main") is PromptMode.NONE
    assert mode_of("auto", "not a key") is PromptMode.FULL


def test_what_is_added_has_a_title_that_says_what_it_is() -> None:
    prompts = Prompts()
    room = PromptFacts("Ada", in_room=True)
    subagent = PromptFacts("Ada", mode=PromptMode.MINIMAL)

    assert prompts.of(room, [], "Be brief.").system.endswith("\n\n## Group Chat Context\nBe brief.")
    assert prompts.of(subagent, [], None, "Count.").system.endswith("\n\n# Subagent Context\nCount.")
    assert prompts.of(PromptFacts("Ada"), [], " ", "Count.").system.endswith("\n\nCount.")
    assert prompts.of(PromptFacts("Ada"), [], " ", "") is prompts.of(PromptFacts("Ada"), [])


def test_a_missing_file_and_one_that_may_not_be_shown_leave_a_mark() -> None:
    assert list(show_files([file("SOUL.md", None), file("x.md", "", note="not shown")], LIMITS)) == [
        "### SOUL.md\n[missing: there is no such file]",
        "### x.md\n[not shown]",
    ]


def test_a_long_file_is_cut_with_a_mark() -> None:
    (shown,) = show_files([file("AGENTS.md", "x" * (DEFAULT_FILE_CHARS + 5))], LIMITS)

    assert shown.count("x") == DEFAULT_FILE_CHARS
    assert shown.endswith(f"[cut: {DEFAULT_FILE_CHARS} of {DEFAULT_FILE_CHARS + 5} characters are shown]")


def test_limits_are_those_that_are_configured() -> None:
    files = [file("a", "x" * 100), file("b", "y" * 100)]

    shown = list(show_files(files, PromptSettings(file_chars=60, total_chars=90)))

    assert [text.count("x") + text.count("y") for text in shown] == [60, 30]


@given(st.lists(st.integers(0, 3 * DEFAULT_FILE_CHARS), max_size=8))
def test_all_files_together_keep_within_the_limit(sizes: list[int]) -> None:
    files = [file(f"f{at}.md", "é" * size) for at, size in enumerate(sizes)]

    shown = list(show_files(files, LIMITS))

    kept = [text.count("é") for text in shown]
    assert sum(kept) <= DEFAULT_TOTAL_CHARS
    assert all(count <= DEFAULT_FILE_CHARS for count in kept)
    assert all(count == size or "[cut: " in text for count, size, text in zip(kept, sizes, shown, strict=True))


async def test_a_run_has_the_prompt_that_its_agent_is_configured_for(
    house: AgentHouse, openai_server: OpenAIServer
) -> None:
    house.agents.configure([{"id": "main", "prompt": {"file_chars": 30}}])
    await house.runner.run(house.request())
    house.agents.configure([{"id": "main", "prompt": {"mode": "none"}}])
    await house.runner.run(house.request())

    first, second = [each["body"]["messages"][0]["content"] for each in openai_server.requests()]
    assert "[cut: 30 of" in first
    assert "The time zone here is UTC." in first
    assert "model test/model, thinking as it likes." in first
    assert second.startswith("You are Homarus")
    assert "##" not in second
