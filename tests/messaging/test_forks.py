"""Copies of conversations: those that go on by themselves, and those that are files."""

from __future__ import annotations

import pytest

from hub.core.errors import Unavailable
from hub.models.contract import user_message
from hub.sessions.entry import Provenance, message_entry
from hub.sessions.export import FORMATS
from hub.sessions.fork import fork_session
from hub.sessions.session import Session
from hub.sessions.transcript_file import read_lines
from integrations.channels.webchat.channel import WebChat
from tests.messaging.post import Post
from tests.servers.openai_server import OpenAIServer
from tests.transcripts import transcript_file

MAIN = "agent:main:main"
OUTSIDE = Provenance(trusted=False, who="peer:test:user:9")


@pytest.fixture
async def post(post: Post) -> Post:
    """The hub with a channel for its own conversations."""
    await post.channels.add(WebChat(post.bus.fire), home=True)
    return post


def forks(post: Post) -> list[Session]:
    return [each for each in post.sessions.list() if each.key != MAIN]


async def test_a_fork_begins_with_the_conversation_and_goes_on_by_itself(
    post: Post, openai_server: OpenAIServer
) -> None:
    await post.said("the boiler is cold")
    await post.until(lambda: len(post.pigeons.sent) == 1)
    await post.said("/think high")
    receipt = await post.said("/fork Boiler")
    await post.said("only in the old one")
    await post.until(lambda: len(post.pigeons.sent) == 4)

    (fork,) = forks(post)
    result = await post.runner.run(post.request("and in the new one?", session=fork.key))
    sent = str(openai_server.requests()[-1]["body"]["messages"])
    assert result.status == "ok"
    assert (fork.title, fork.thinking, fork.person) == ("Boiler", "high", "me")
    assert f"homarus chat --session {fork.key}" in (receipt.reply or "")
    assert "the boiler is cold" in sent
    assert "only in the old one" not in sent


async def test_a_fork_keeps_who_said_what_and_stays_tainted(post: Post) -> None:
    sessions = post.sessions
    source = await sessions.ensure(MAIN, person="me")
    entry = message_entry(user_message("buy gnomes"), 1, provenance=OUTSIDE)
    await (await sessions.open_transcript(source)).append(entry)
    source = await sessions.patch(MAIN, tainted=True)

    fork = await fork_session(sessions, source, "webchat", "Gnomes")

    copied = (await sessions.open_transcript(fork)).branch()
    assert [each.provenance for each in copied] == [OUTSIDE]
    assert fork.tainted


@pytest.mark.sqlite_only
async def test_a_fork_that_the_disk_does_not_take_is_not_there(post: Post) -> None:
    sessions = post.sessions
    source = await sessions.ensure(MAIN, person="me")
    await (await sessions.open_transcript(source)).append(message_entry(user_message("hello"), 1))
    folder = transcript_file(sessions, source).parent
    folder.rename(folder.with_name("gone"))
    folder.write_text("not a folder")

    with pytest.raises(Unavailable):
        await fork_session(sessions, source, "webchat", "None")

    assert forks(post) == []


async def test_forks_are_an_owners_and_private(post: Post) -> None:
    annas = await post.said("/fork", who="8")
    group = await post.said("/fork", group="family", mentioned=True)
    empty = await post.said("/fork")

    assert "owner" in (annas.reply or "")
    assert "owner" in (group.reply or "")
    assert empty.reply == "There is nothing to export yet."
    assert post.sessions.list() == []


@pytest.mark.parametrize("form", FORMATS)
async def test_a_conversation_is_exported_in_each_form(post: Post, form: str) -> None:
    await post.said("is <b>this</b> & that safe?")
    await post.until(lambda: len(post.pigeons.sent) == 1)

    await post.said(f"/export {form}")

    (file,) = (post.home.path / "exports").iterdir()
    text = file.read_text()
    assert file.suffix == f".{form}"
    assert ("<b>" not in text) is (form == "html")
    assert "that safe?" in text


async def test_exported_lines_are_a_transcript_again(post: Post) -> None:
    await post.said("hello")
    await post.until(lambda: len(post.pigeons.sent) == 1)
    session = post.sessions.get(MAIN)
    assert session is not None
    entries = (await post.sessions.open_transcript(session)).branch()

    found = read_lines(FORMATS["jsonl"](session, entries).encode())

    assert found.entries == entries
    assert found.header is not None
    assert found.header.key == MAIN
    assert not found.damaged
