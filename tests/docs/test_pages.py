"""The documentation is current: generated parts, links, and every example of a configuration."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from hub.cli.configured import check_home
from hub.config.seed import seed
from tests.cli.terminal import command_at, every_command
from tests.docs.pages import CHECKOUT, DOCS, DRAWING, drawn, generated, renewed
from tests.gateway.certificates import certificate

PAGES = [CHECKOUT / "README.md", *sorted(DOCS.rglob("*.md"))]
_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"# (\S+\.yaml)\n")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def name_of(page: Path) -> str:
    return page.relative_to(CHECKOUT).as_posix()


def blocks(page: Path, language: str) -> Iterator[str]:
    """The fenced blocks of a page in one language."""
    for found, text in _FENCE.findall(page.read_text(encoding="utf-8")):
        if found == language:
            yield text


def prose(page: Path) -> str:
    """A page without its fenced blocks."""
    return _FENCE.sub("", page.read_text(encoding="utf-8"))


def anchors(page: Path) -> set[str]:
    """What links into a page may name."""
    return {re.sub(r"[^\w\- ]", "", each.lower()).replace(" ", "-") for each in _HEADING.findall(prose(page))}


@pytest.mark.parametrize("page", sorted(generated()), ids=name_of)
def test_the_generated_part_is_what_the_program_says(page: Path) -> None:
    text = page.read_text(encoding="utf-8")

    assert text == renewed(page, generated()[page]), f"{name_of(page)} is out of date: run script/docs"


def test_the_drawing_of_the_parts_is_that_of_the_imports() -> None:
    assert DRAWING.read_text(encoding="utf-8") == drawn(), f"{name_of(DRAWING)} is out of date: run script/docs"


def test_the_manual_names_every_command() -> None:
    text = (DOCS / "cli.md").read_text(encoding="utf-8")

    missing = [path for path in every_command() if f"# homarus {' '.join(path)}\n" not in text]

    assert missing == []


def test_the_reference_describes_every_key() -> None:
    rows = [line for line in generated()[DOCS / "configuration.md"].splitlines() if line.startswith("| `")]

    silent = [row for row in rows if row.endswith("|  |") and "NAME`" not in row]

    assert len(rows) > 80
    assert silent == []


def test_links_lead_somewhere() -> None:
    broken = []
    for page, target in ((each, target) for each in PAGES for target in _LINK.findall(prose(each))):
        if target.startswith("https://"):
            continue
        file, _, anchor = target.partition("#")
        there = (page.parent / file).resolve() if file else page
        if not there.exists() or (anchor and anchor not in anchors(there)):
            broken.append((name_of(page), target))

    assert broken == []


def test_the_readme_leads_to_every_page() -> None:
    text = (CHECKOUT / "README.md").read_text(encoding="utf-8")

    assert [name for name in map(name_of, sorted(DOCS.rglob("*.md"))) if f"({name})" not in text] == []


def examples() -> Iterator[tuple[str, str, dict[str, str]]]:
    """Each example of a configuration: its place, its text, and the files that its page shows beside it."""
    for page in PAGES:
        found = list(blocks(page, "yaml"))
        beside = {match[1]: text for text in found if (match := _FILE.match(text))}
        for number, text in enumerate(found, 1):
            if not _FILE.match(text):
                yield f"{name_of(page)}-{number}", text, beside


UNKNOWN = re.compile(
    r"^no service .* is known$|^nothing here fires|(^|: )nothing in this home |(^|: )there is no .* in this home$"
    r"|^there is no channel |, which is not in use$|^no satellite |^nobody in people | is not installed$"
)
"""Examples name lights, channels and the like, which nothing here brings."""


def secret_for(name: str) -> str:
    """A secret as its name says: a bot's token and a key have forms of their own."""
    if name.endswith("_encryption_key"):
        return "a2tra2tra2tra2tra2tra2tra2tra2tra2tra2tra2s="
    return "123456:sesame-open-now" if name.endswith("_token") else "sesame-open-now-1"


@pytest.mark.parametrize(("place", "text", "beside"), [pytest.param(*each, id=each[0]) for each in examples()])
def test_an_example_of_a_configuration_is_valid(tmp_path: Path, place: str, text: str, beside: dict[str, str]) -> None:
    secrets = sorted(set(re.findall(r"!secret (\w+)", text)))
    (tmp_path / "secrets.yaml").write_text(
        "".join(f"{name}: {secret_for(name)}\n" for name in secrets), encoding="utf-8"
    )
    for name, content in beside.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content, encoding="utf-8")
    for cert_name, key_name in re.findall(r"certificate: ([\w./-]+), key: ([\w./-]+)", text):
        (tmp_path / cert_name).parent.mkdir(parents=True, exist_ok=True)
        certificate(tmp_path, cert_name, key_name)
    (tmp_path / "configuration.yaml").write_text(text, encoding="utf-8")

    checked = check_home(tmp_path)

    warnings = [str(each) for each in checked.warnings if not UNKNOWN.search(each.message)]
    assert [*(str(each) for each in checked.errors), *warnings] == []


def typed_commands() -> Iterator[tuple[str, list[str]]]:
    """Each `homarus` command that a page shows to be typed."""
    for page in PAGES:
        for block in blocks(page, "sh"):
            for line in block.splitlines():
                for words in re.findall(r"(?:^|\()homarus ([a-z][^#)|]*)", line):
                    yield f"{name_of(page)}: {line}", words.split()


def test_a_command_that_is_shown_exists_with_its_options() -> None:
    known = set(every_command())
    wrong = []
    for place, words in typed_commands():
        path = max((path for path in known if tuple(words[: len(path)]) == path), key=len, default=None)
        options = {option for parameter in command_at(path).params for option in parameter.opts} if path else set()
        if path is None or not {word for word in words if word.startswith("-")} <= options | {"--help"}:
            wrong.append(place)

    assert wrong == []
    assert len(list(typed_commands())) > 200


def test_the_first_screen_of_the_readme_has_what_is_needed() -> None:
    text = (CHECKOUT / "README.md").read_text(encoding="utf-8")
    first = "\n".join(text.splitlines()[:42])

    assert "docs/images/home-light.png" in first
    assert "script/run" in first
    assert "script/test" in first
    assert len(next(blocks(CHECKOUT / "README.md", "yaml")).splitlines()) == 10


def test_the_lines_of_the_readme_work_where_it_says_that_they_go(tmp_path: Path) -> None:
    seed(tmp_path)
    models, morning = blocks(CHECKOUT / "README.md", "yaml")
    rest = re.sub(
        r"^(hub|people|models):\n((  .*)?\n|#.*\n)*", "", configuration(tmp_path).read_text(), flags=re.MULTILINE
    )
    configuration(tmp_path).write_text(models + rest)
    (tmp_path / "secrets.yaml").write_text("anthropic_key: sk-sesame-open-now-1\n")
    with (tmp_path / "automations.yaml").open("a") as file:
        file.write(morning)

    checked = check_home(tmp_path)

    assert (checked.errors, checked.warnings) == ([], [])
    assert [each["alias"] for each in checked.config.raw["automation"]] == ["Heartbeat", "Good morning"]
    assert checked.config.get("agents")


def configuration(home: Path) -> Path:
    return home / "configuration.yaml"


def test_the_classes_that_the_architecture_names_exist() -> None:
    named = set(
        re.findall(r"`([A-Z]\w*[a-z]\w*)(?:\.\w+)*[`(]", (DOCS / "architecture.md").read_text(encoding="utf-8"))
    )
    sources = "\n".join(path.read_text("utf-8") for part in ("hub", "web") for path in (CHECKOUT / part).rglob("*.py"))

    assert sorted(named - set(re.findall(r"^class (\w+)", sources, re.MULTILINE))) == []
    assert len(named) > 10


def test_the_files_that_the_pages_for_contributors_name_exist() -> None:
    wrong, count = [], 0
    for page in (CHECKOUT / "CONTRIBUTING.md", DOCS / "architecture.md", DOCS / "integrations.md"):
        for path in re.findall(r"`((?:hub|integrations|web|tests|script|examples)/[\w./-]+)`", page.read_text("utf-8")):
            count += 1
            if not (CHECKOUT / path).exists():
                wrong.append(f"{name_of(page)}: {path}")

    assert wrong == []
    assert count > 60
