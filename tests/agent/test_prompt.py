"""The system prompt: short, complete, and the same byte for byte until something behind it changes."""

from __future__ import annotations

from hypothesis import given, strategies as st

from hub.agent.prompt import FILE_LIMIT, FILES_LIMIT, PromptFile, show_files, system_prompt


def file(name: str, text: str | None, **fields: object) -> PromptFile:
    return PromptFile(name, text, len(text or ""), **fields)  # type: ignore[arg-type]


def test_it_holds_identity_rules_and_files_in_order() -> None:
    prompt = system_prompt("Ada", [file("AGENTS.md", "house rules"), file("SOUL.md", "be kind")])

    assert prompt.startswith("You are Ada,")
    places = [prompt.index(part) for part in ("## How you work", "## Words from outside", "### AGENTS.md", "be kind")]
    assert places == sorted(places)
    assert prompt.endswith("be kind")


def test_memory_is_spoken_of_only_where_there_is_one() -> None:
    assert "## Memory" not in system_prompt("Ada", [], ["read"])
    assert "## Memory" in system_prompt("Ada", [], ["memory_search", "remember"])


def test_a_missing_file_and_one_that_may_not_be_shown_leave_a_mark() -> None:
    assert list(show_files([file("SOUL.md", None), file("x.md", "", note="not shown")])) == [
        "### SOUL.md\n[missing: there is no such file]",
        "### x.md\n[not shown]",
    ]


def test_a_long_file_is_cut_with_a_mark() -> None:
    (shown,) = show_files([file("AGENTS.md", "x" * (FILE_LIMIT + 5))])

    assert shown.count("x") == FILE_LIMIT
    assert shown.endswith(f"[cut: {FILE_LIMIT} of {FILE_LIMIT + 5} characters are shown]")


@given(st.lists(st.integers(0, 3 * FILE_LIMIT), max_size=8))
def test_all_files_together_keep_within_the_limit(sizes: list[int]) -> None:
    files = [file(f"f{at}.md", "é" * size) for at, size in enumerate(sizes)]

    shown = list(show_files(files))

    kept = [text.count("é") for text in shown]
    assert sum(kept) <= FILES_LIMIT
    assert all(count <= FILE_LIMIT for count in kept)
    assert all(count == size or "[cut: " in text for count, size, text in zip(kept, sizes, shown, strict=True))


def test_skills_are_listed_only_for_whom_can_read_them() -> None:
    listing = "## Skills\n- tea: Make tea."

    assert listing in system_prompt("Ada", [], ["skill"], listing)
    assert "## Skills" not in system_prompt("Ada", [], ["read"], listing)
    assert "## Skills" not in system_prompt("Ada", [], ["skill"], "")
