from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from hub.core.context import system_context
from hub.messaging.contract import (
    Address,
    ChannelLimits,
    Delivery,
    DeliveryState,
    MediaKind,
    OutboundMedia,
    OutboundMessage,
)
from hub.messaging.outbox.chunking import ChunkMode
from hub.messaging.outbox.outbound_policy import OutboundPolicy, OutboxSettings, ReplyToMode
from hub.messaging.outbox.outbox_rows import NewMessage, NewPoll, NewReaction, NewText
from tests.messaging.outbox_bench import DELIVERED, Bench, Platform
from tests.until import LIMIT_S


@dataclass
class Editor(Platform):
    """A platform on which messages can be changed."""

    done: list[tuple[str, ...]] = field(default_factory=list)

    async def send(self, message: OutboundMessage) -> Delivery:
        self.done.append(("send", message.text))
        return await super().send(message)

    async def edit(self, address: Address, platform_id: str, text: str) -> Delivery:
        self.done.append(("edit", platform_id, text))
        return self.answers.pop(0) if self.answers else DELIVERED

    async def react(self, address: Address, platform_id: str, emoji: str | None) -> Delivery:
        self.done.append(("react", platform_id, emoji or ""))
        return DELIVERED


async def test_edits_and_reactions_keep_their_place_among_the_messages(bench: Bench) -> None:
    editor = Editor()
    await bench.channels.add(editor)
    address = Address("test", "1")

    [id] = await bench.outbox.send(address, "draft", system_context())
    for outgoing in (NewText("final", row_id=id), NewReaction("7", "👍"), NewMessage("after")):
        await bench.outbox.send(address, outgoing, system_context())
    await bench.until(lambda states: states.get("sent") == 4)

    assert editor.done == [("send", "draft"), ("edit", "1", "final"), ("react", "7", "👍"), ("send", "after")]


async def test_a_new_text_for_what_never_arrived_is_a_message(bench: Bench) -> None:
    editor = Editor(answers=[Delivery(DeliveryState.PERMANENT, error="no")])
    await bench.channels.add(editor)

    [id] = await bench.outbox.send(Address("test", "1"), "draft", system_context())
    await bench.outbox.send(Address("test", "1"), NewText("final", row_id=id), system_context())
    await bench.until(lambda states: states.get("sent") == 1)

    assert editor.done == [("send", "draft"), ("send", "final")]


async def test_what_a_channel_cannot_do_is_dead_at_once(bench: Bench) -> None:
    await bench.channels.add(Platform())

    [id] = await bench.outbox.send(Address("test", "1"), NewPoll("Tea?", ("yes", "no")), system_context())
    [row] = await bench.outbox.outcome([id], timeout_s=LIMIT_S)

    assert (row.state, row.error) == ("dead", "test cannot do this")


async def test_attachments_go_one_by_one_and_what_cannot_be_carried_is_said(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"x" * 10)
    (tmp_path / "big.png").write_bytes(b"x" * 200)
    (tmp_path / "link.png").symlink_to(tmp_path / "a.png")
    limits = ChannelLimits(text=100, caption=50, media=frozenset({MediaKind.IMAGE}), media_bytes=100)
    platform = Platform(limits=limits)
    await bench.channels.add(platform)
    bench.outbox.configure(OutboxSettings(media_roots=(tmp_path,)))
    media = [
        OutboundMedia(kind, str(tmp_path / name), "image/png")
        for kind, name in [(MediaKind.IMAGE, "a.png"), (MediaKind.IMAGE, "big.png"), (MediaKind.FILE, "a.png")]
    ]
    media += [OutboundMedia(MediaKind.IMAGE, path, "image/png") for path in (str(tmp_path / "link.png"), "/etc/passwd")]

    message = NewMessage("look", media=tuple(media), reply_to="5")
    await bench.outbox.send(Address("test", "1"), message, system_context())
    await bench.until(lambda states: states.get("sent") == 5)

    assert [(each.text[:4], len(each.media), each.reply_to) for each in platform.sent] == [
        ("look", 1, "5"),
        ("(The", 0, None),
        ("(The", 0, None),
        ("(The", 0, None),
        ("(The", 0, None),
    ]
    assert "at most 0.0001 MB" in platform.sent[1].text


async def test_an_account_may_shorten_messages_and_reply_with_each(bench: Bench) -> None:
    platform = Platform()
    policy = OutboundPolicy(text_limit=64, chunk_mode=ChunkMode.NEWLINE, reply_to_mode=ReplyToMode.ALL)
    await bench.channels.add(platform, outbound=policy)

    await bench.outbox.send(Address("test", "1"), NewMessage(f"one\n\n{'two ' * 30}", reply_to="5"), system_context())
    await bench.until(lambda states: states.get("sent") == 4)

    assert [len(message.text) for message in platform.sent] == [3, 51, 51, 15]
    assert {message.reply_to for message in platform.sent} == {"5"}
