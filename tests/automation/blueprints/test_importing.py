"""Blueprints from addresses and texts: where they are looked for, what is written, and how they are kept up to date."""

from __future__ import annotations

import json

import pytest

from hub.automation.blueprints.errors import BlueprintInvalid
from hub.automation.blueprints.source_line import with_source
from hub.automation.blueprints.sources import path_from, place_of
from hub.core.errors import Conflict, Forbidden, InvalidRequest, NotFound
from hub.security.egress import Fetched
from hub.security.jail_path import PathRefused
from tests.automation.blueprints.conftest import Shelf
from tests.security.web_servers import WebServer

TEXT = """# mine
blueprint:
  # about it
  name: Hello
  domain: automation
triggers: []
actions:
  - event: hello  # say it
"""


def answer(body: object, url: str = "https://example.com/x") -> Fetched:
    return Fetched(200, {}, body.encode() if isinstance(body, str) else json.dumps(body).encode(), url)


# --- addresses ---


@pytest.mark.parametrize(
    ("url", "asked"),
    [
        (
            "https://github.com/anna/things/blob/main/a/light.yaml",
            "https://raw.githubusercontent.com/anna/things/main/a/light.yaml",
        ),
        ("https://gist.github.com/anna/0123456789abcdef0123", "https://api.github.com/gists/0123456789abcdef0123"),
        (
            "https://community.home-assistant.io/t/a-light/1234/5?u=anna",
            "https://community.home-assistant.io/t/1234.json",
        ),
        ("https://example.com/light.yaml", "https://example.com/light.yaml"),
        ("https://github.com.evil.example/a/b/blob/c", "https://github.com.evil.example/a/b/blob/c"),
    ],
)
def test_pages_for_people_lead_to_files(url: str, asked: str) -> None:
    assert place_of(url).url == asked


def test_a_file_of_github_is_suggested_under_its_owner() -> None:
    place = place_of("https://github.com/Anna-1/things/blob/main/My%20Light.yaml")

    source = place.read(answer(TEXT, place.url))

    assert (source.text, source.suggested_path) == (TEXT, "anna-1/my_light.yaml")


def test_the_first_blueprint_of_a_forum_post_is_taken() -> None:
    cooked = (
        '<p>Hi</p><pre><code class="lang-yaml">light:\n  - x: 1</code></pre>'
        f'<pre><code class="lang-auto">{TEXT.replace("hello  #", "&quot;&lt;b&gt;&quot;  #")}</code></pre>'
    )
    topic = {"slug": "hello-light", "post_stream": {"posts": [{"username": "Ann", "cooked": cooked}]}}

    source = place_of("https://community.home-assistant.io/t/hello/77").read(answer(topic))

    assert 'event: "<b>"' in source.text
    assert source.suggested_path == "ann/hello-light.yaml"


@pytest.mark.parametrize("topic", [{}, [], {"post_stream": {"posts": []}}, {"post_stream": {"posts": [{"cooked": 1}]}}])
def test_a_forum_post_without_a_blueprint_is_none(topic: object) -> None:
    with pytest.raises(NotFound):
        place_of("https://community.home-assistant.io/t/hello/77").read(answer(topic))


def test_a_gist_gives_its_first_blueprint() -> None:
    gist = {
        "owner": {"login": "Ann"},
        "files": {"readme.md": {"content": "x"}, "x.yaml": {"content": "a: 1"}, "b.yaml": {"content": TEXT}},
    }
    place = place_of("https://gist.github.com/0123456789abcdef0123")

    assert place.read(answer(gist)).suggested_path == "ann/b.yaml"
    with pytest.raises(NotFound):
        place.read(answer({"files": {"x.yaml": {"content": 5}}}))


@pytest.mark.parametrize("url", ["https://community.home-assistant.io/t/x/1", "https://gist.github.com/" + "a" * 20])
def test_what_is_no_json_is_told(url: str) -> None:
    with pytest.raises(InvalidRequest, match="did not answer with JSON"):
        place_of(url).read(answer("<html>"))


def test_a_page_is_no_file() -> None:
    with pytest.raises(InvalidRequest, match="is a page, not a file"):
        place_of("https://example.com/a").read(answer("\n<!DOCTYPE html>"))


@pytest.mark.parametrize(
    ("folder", "name", "path"),
    [
        ("../..", "../../etc/passwd", "imported/passwd.yaml"),
        ("Ännä", "a%2F..%2Fb.yml", "nn/b.yaml"),
        ("", ".yaml", "imported/imported.yaml"),
        ("x" * 99, "y", "x" * 60 + "/y.yaml"),
    ],
)
def test_names_from_outside_become_plain_ones(folder: str, name: str, path: str) -> None:
    assert path_from(folder, name) == path


# --- importing ---


async def test_a_blueprint_is_imported_with_its_source_and_its_comments(shelf: Shelf, server: WebServer) -> None:
    shelf.allowed = {server.target}
    server.page("/hello.yaml", TEXT)

    draft = await shelf.blueprints.import_url(server.url("/hello.yaml"))

    written = (shelf.home / "blueprints/automation" / draft.path).read_text(encoding="utf-8")
    assert draft.path == "127_0_0_1/hello.yaml"
    assert written == TEXT.replace("  name:", f'  source_url: "{server.url("/hello.yaml")}"\n  name:')
    assert shelf.blueprints.find(draft.path).metadata.source_url == server.url("/hello.yaml")


async def test_looking_at_a_draft_writes_nothing(shelf: Shelf, server: WebServer) -> None:
    shelf.allowed = {server.target}
    server.page("/hello.yaml", TEXT)

    draft = await shelf.blueprints.draft_from_url(server.url("/hello.yaml"), "me/hello.yaml")

    assert draft.as_dict()["name"] == "Hello"
    assert (draft.path, draft.exists) == ("me/hello.yaml", False)
    assert not (shelf.home / "blueprints").exists()


async def test_a_private_address_is_refused(shelf: Shelf, server: WebServer) -> None:
    with pytest.raises(Forbidden):
        await shelf.blueprints.import_url(server.url("/hello.yaml"))


async def test_what_is_not_there_is_told(shelf: Shelf, server: WebServer) -> None:
    shelf.allowed = {server.target}

    with pytest.raises(NotFound, match="status 404"):
        await shelf.blueprints.import_url(server.url("/hello.yaml"))


async def test_what_has_mistakes_is_not_imported(shelf: Shelf, server: WebServer) -> None:
    shelf.allowed = {server.target}
    server.page("/hello.yaml", TEXT + "  - event: !input nothing\n")

    with pytest.raises(BlueprintInvalid, match="there is no input nothing"):
        await shelf.blueprints.import_url(server.url("/hello.yaml"))
    assert not (shelf.home / "blueprints").exists()


async def test_a_text_is_imported_under_its_name(shelf: Shelf) -> None:
    assert (await shelf.blueprints.import_text(TEXT)).path == "imported/hello.yaml"


async def test_nothing_is_replaced_unasked(shelf: Shelf) -> None:
    await shelf.blueprints.import_text(TEXT, "me/a.yaml")

    with pytest.raises(Conflict):
        await shelf.blueprints.import_text(TEXT + "# more\n", "me/a.yaml")
    await shelf.blueprints.import_text(TEXT + "# more\n", "me/a.yaml", overwrite=True)

    assert shelf.kept == [("blueprints/automation/me/a.yaml", TEXT.encode())]
    assert shelf.blueprints.find("me/a.yaml").text.endswith("# more\n")


@pytest.mark.parametrize("path", ["../a.yaml", "/a.yaml", "a/../../b.yaml", "a\0.yaml"])
async def test_nothing_is_written_elsewhere(shelf: Shelf, path: str) -> None:
    with pytest.raises(PathRefused):
        await shelf.blueprints.import_text(TEXT, path)


async def test_only_yaml_files_are_written(shelf: Shelf) -> None:
    with pytest.raises(InvalidRequest):
        await shelf.blueprints.import_text(TEXT, "me/run.sh")


# --- updates ---


async def test_an_update_is_shown_first_and_written_when_it_is_confirmed(shelf: Shelf, server: WebServer) -> None:
    shelf.allowed = {server.target}
    server.page("/hello.yaml", TEXT)
    await shelf.blueprints.import_url(server.url("/hello.yaml"), "me/a.yaml")
    same = await shelf.blueprints.update("me/a.yaml")
    server.page("/hello.yaml", TEXT.replace("hello  #", "hi  #"))

    shown = await shelf.blueprints.update("me/a.yaml")
    before = shelf.blueprints.find("me/a.yaml").text
    written = await shelf.blueprints.update("me/a.yaml", confirm=shown.hash)

    assert (same.diff, same.written) == ("", False)
    assert "-  - event: hello  # say it" in shown.diff
    assert "+  - event: hi  # say it" in shown.diff
    assert (shown.written, "hello  #" in before) == (False, True)
    assert written.written
    assert "event: hi" in shelf.blueprints.find("me/a.yaml").text
    assert len(shelf.kept) == 1


async def test_only_what_was_shown_is_written(shelf: Shelf, server: WebServer) -> None:
    shelf.allowed = {server.target}
    server.page("/hello.yaml", TEXT)
    await shelf.blueprints.import_url(server.url("/hello.yaml"), "me/a.yaml")
    server.page("/hello.yaml", TEXT.replace("hello", "hi"))
    shown = await shelf.blueprints.update("me/a.yaml")
    server.page("/hello.yaml", TEXT.replace("hello", "evil"))

    with pytest.raises(Conflict, match="changed since it was shown"):
        await shelf.blueprints.update("me/a.yaml", confirm=shown.hash)

    assert "hello" in shelf.blueprints.find("me/a.yaml").text


async def test_an_update_may_not_turn_an_automation_into_a_script(shelf: Shelf, server: WebServer) -> None:
    shelf.allowed = {server.target}
    server.page("/hello.yaml", TEXT)
    await shelf.blueprints.import_url(server.url("/hello.yaml"), "me/a.yaml")
    server.page("/hello.yaml", "blueprint: {name: A, domain: script}\nsequence: []\n")

    with pytest.raises(Conflict, match="domain script"):
        await shelf.blueprints.update("me/a.yaml")


async def test_what_says_no_source_cannot_be_updated(shelf: Shelf) -> None:
    await shelf.blueprints.import_text(TEXT, "me/a.yaml")

    with pytest.raises(InvalidRequest, match="does not say where it came from"):
        await shelf.blueprints.update("me/a.yaml")
    with pytest.raises(InvalidRequest, match="is part of the program"):
        await shelf.blueprints.update("homarus/reminder.yaml")


# --- the line that says where it came from ---


@pytest.mark.parametrize(
    "text",
    [
        TEXT,
        TEXT.replace("  domain", "  source_url: https://old.example/x.yaml\n  domain"),
        "blueprint:\n      name: A\n      domain: automation\n",
    ],
)
def test_a_source_is_written_and_the_rest_is_left(text: str) -> None:
    changed = with_source(text, "https://new.example/a?b=c#d".partition("#")[0])

    assert 'source_url: "https://new.example/a?b=c"' in changed
    assert [line for line in changed.split("\n") if "source_url" not in line] == [
        line for line in text.split("\n") if "source_url" not in line
    ]


def test_a_blueprint_in_one_line_is_left_as_it_is() -> None:
    text = "blueprint: {name: A, domain: automation}\n"

    assert with_source(text, "https://new.example/a") == text
