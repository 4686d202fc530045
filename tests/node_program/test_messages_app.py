"""Messages of a Mac: what is read of its database and files, and what is sent."""

from __future__ import annotations

import base64
import random
from pathlib import Path
from typing import Any

import pytest

from node.backends.linux import LinuxBackend
from node.backends.macos import MacBackend
from node.cli import RunOptions, settled
from node.errors import NodeError
from node.home import NodeHome, NodeProblem, NodeSettings
from node.messages_app import PIECE_BYTES
from node.offers import all_offers
from node.typedstream import text_of
from tests.servers.messages_mac import ADA, EVE, GROUP, MessagesMac, archived, now_ns

CHAT = f"iMessage;-;{ADA}"


@pytest.fixture
def mac(tmp_path: Path) -> MessagesMac:
    return MessagesMac(tmp_path / "Messages")


async def ask(mac: MessagesMac, command: str, **params: Any) -> Any:
    return await mac.handlers()[f"imessage.{command}"](params)


def test_only_a_mac_that_was_told_to_offers_them(tmp_path: Path) -> None:
    def offered(settings: NodeSettings, backend: Any) -> set[str]:
        found = {each.command for each in all_offers(NodeHome(tmp_path), settings, backend)}
        return {each for each in found if each.startswith("imessage.")}

    assert not offered(NodeSettings(), MacBackend())
    assert not offered(NodeSettings(imessage=True), LinuxBackend())
    assert {"imessage.read", "imessage.send"} < offered(NodeSettings(imessage=True), MacBackend())


def test_the_switch_is_kept_and_can_be_taken_back(tmp_path: Path) -> None:
    home, url = NodeHome(tmp_path), "wss://hub:1"

    for given, on in (("", False), ("on", True), ("", True), ("off", False)):
        settings, _ = settled(home, RunOptions(url=url, imessage=given))
        home.keep(settings)
        assert home.settings().imessage is on
    with pytest.raises(NodeProblem, match="on or off"):
        settled(home, RunOptions(url=url, imessage="yes"))


async def test_rows_are_read_after_a_cursor_in_the_shape_of_bluebubbles(mac: MessagesMac) -> None:
    mac.says("old")
    mac.says(None, EVE, GROUP, attributedBody=archived("hello all"), guid="B")
    mac.says("Liked", associated_message_guid="p:0/B", associated_message_type=2001)

    answer = await ask(mac, "read", after=1)

    assert answer["newest"] == 3
    said, liked = answer["messages"]
    assert (said["originalROWID"], said["guid"], said["text"]) == (2, "B", "hello all")
    assert said["handle"] == {"address": EVE, "service": "iMessage"}
    assert said["chats"] == [{"guid": GROUP, "displayName": "Family"}]
    assert (liked["associatedMessageGuid"], liked["associatedMessageType"]) == ("p:0/B", 2001)
    assert [each["originalROWID"] for each in (await ask(mac, "read", limit=1))["messages"]] == [1]


async def test_an_answer_is_bounded_and_the_rest_comes_next(mac: MessagesMac) -> None:
    for _ in range(5):
        mac.says("ä" * 20_000)

    first = await ask(mac, "read")
    rest = await ask(mac, "read", after=first["messages"][-1]["originalROWID"])

    assert len(first["messages"]) == 1
    assert rest["messages"][0]["originalROWID"] == 2


async def test_a_row_that_is_still_being_written_waits_and_an_old_one_does_not(mac: MessagesMac) -> None:
    mac.write("INSERT INTO message(guid, text, date) VALUES('A', 'no chat yet', ?)", now_ns())
    mac.says("after it")

    assert (await ask(mac, "read"))["messages"] == []
    mac.write("UPDATE message SET date = date - 30000000000 WHERE guid = 'A'")
    assert (await ask(mac, "read"))["messages"][0]["guid"] == "A"


async def test_a_database_that_cannot_be_read_names_the_permission(tmp_path: Path) -> None:
    mac = MessagesMac(tmp_path / "Messages")
    (mac.folder / "chat.db").unlink()

    with pytest.raises(NodeError, match="Full Disk Access"):
        await ask(mac, "read")
    assert not (mac.folder / "chat.db").exists()


async def test_an_attachment_comes_in_pieces_and_nothing_beside_the_folder(mac: MessagesMac, tmp_path: Path) -> None:
    content = random.Random(1).randbytes(PIECE_BYTES + 10)
    guid = mac.sends_file("a.bin", content)
    (tmp_path / "secret").write_text("secret")
    outside, link = mac.sends_file("b", b""), mac.sends_file("c", b"")
    mac.write("UPDATE attachment SET filename = ? WHERE guid = ?", str(tmp_path / "secret"), outside)
    (mac.folder / "Attachments/c").unlink()
    (mac.folder / "Attachments/c").symlink_to(tmp_path / "secret")

    first = await ask(mac, "attachment", guid=guid)
    second = await ask(mac, "attachment", guid=guid, offset=PIECE_BYTES)

    assert base64.b64decode(first["base64"]) + base64.b64decode(second["base64"]) == content
    assert (first["end"], second["end"], first["size"]) == (False, True, len(content))
    for bad, code in ((outside, "PATH_NOT_ALLOWED"), (link, "PATH_NOT_ALLOWED"), ("none", "NOT_FOUND")):
        with pytest.raises(NodeError) as refused:
            await ask(mac, "attachment", guid=bad)
        assert refused.value.code == code


@pytest.mark.parametrize("text", ['" & (do shell script "id") & "', "-e", "line\nline", "ä😀"])
async def test_a_text_is_an_argument_of_the_script(mac: MessagesMac, text: str) -> None:
    answer = await ask(mac, "send", chat=CHAT, text=text)

    assert mac.sent(CHAT) == [text]
    assert answer["message"]["guid"]


async def test_a_file_is_uploaded_in_pieces_and_sent(mac: MessagesMac) -> None:
    for offset, piece in ((0, b"abc"), (3, b"def")):
        coded = base64.b64encode(piece).decode()
        await ask(mac, "upload", upload="abcdefgh", name="../x/a.txt", offset=offset, contentBase64=coded)
    answer = await ask(mac, "send", chat=CHAT, upload="abcdefgh", name="../x/a.txt")

    (path,) = (mac.folder / "Attachments/Homarus/abcdefgh").iterdir()
    assert path.read_bytes() == b"abcdef"
    assert answer["message"]["attachments"][0]["transferName"] == path.name
    for bad in ({"upload": "../../etc"}, {"upload": "notthere1"}, {}):
        with pytest.raises(NodeError):
            await ask(mac, "send", chat=CHAT, **bad)


async def test_what_surely_was_not_sent_is_told_from_what_may_have_been(mac: MessagesMac) -> None:
    mac.fail("Not authorized to send Apple events to Messages. (-1743)", "AppleEvent timed out. (-1712)")

    for code in ("NOT_SENT", "UNAVAILABLE"):
        with pytest.raises(NodeError) as refused:
            await ask(mac, "send", chat=CHAT, text="hello")
        assert refused.value.code == code


@pytest.mark.parametrize("text", ["", "short", "x" * 127, "x" * 128, "ä" * 10_000, "😀"])
@pytest.mark.parametrize("parent", [b"NSAttributedString", b"NSMutableAttributedString"])
def test_the_text_of_an_archive_is_read(text: str, parent: bytes) -> None:
    assert text_of(archived(text, parent)) == text


def test_a_truncated_or_hostile_archive_has_no_text_and_does_no_harm() -> None:
    whole, chance = archived("hello"), random.Random(7)
    text_ends = whole.index(b"hello") + 5

    assert all(text_of(whole[:end]) is None for end in range(text_ends))
    for _ in range(20_000):
        changed = bytearray(whole)
        for _ in range(chance.randint(1, 4)):
            changed[chance.randrange(len(changed))] = chance.randrange(256)
        found = text_of(bytes(changed))
        assert found is None or len(found) <= len(whole)
    endless = b"\x04\x0bstreamtyped\x81\xe8\x03\x84\x01@" + b"\x84\x84\x84\x01A\x00" * 10_000
    assert text_of(endless) is None
    assert text_of(whole.replace(b"+\x05hello", b"+\x82\xff\xff\xff\xffhello")) is None
