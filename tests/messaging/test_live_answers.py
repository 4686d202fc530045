"""What a chat sees of an answer while it is written: blocks, or one message that grows into it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from hub.agent.answer.human_delay import HumanDelay
from hub.agent.run_request import RunResult, RunStatus
from hub.core.context import Context
from hub.hooks.registry import Hook
from hub.messaging.access.access import AccessPolicy
from hub.messaging.contract import Address, ChannelLimits, Delivery, DeliveryState, OutboundMessage
from hub.messaging.outbox.live_answers import LiveAnswers
from hub.messaging.outbox.outbound_policy import BlockSending, BlockStreaming, DraftStreaming, OutboundPolicy
from hub.messaging.outbox.replies import Replies, ReplyTarget
from tests.agent.house import TEXT
from tests.messaging.conftest import OPEN
from tests.messaging.post import OWNER, Pigeons, Post
from tests.servers.openai_server import OpenAIServer

BLOCKS = BlockStreaming(enabled=True, min_chars=10, max_chars=60, idle_ms=100)
ONE, TWO, THREE = "The first paragraph.", "The second paragraph.", "And the last."
PARTIAL = OutboundPolicy(streaming=DraftStreaming.PARTIAL)


@dataclass
class Slates(Pigeons):
    """A platform whose messages can be changed and deleted: it shows what is on them."""

    limits: ChannelLimits = field(default_factory=lambda: ChannelLimits(text=400, draft_interval_s=0.01))
    shown: dict[str, str] = field(default_factory=dict)
    seen: list[str] = field(default_factory=list)
    refused: DeliveryState | None = None
    edits_held: asyncio.Event | None = None
    first: Delivery | None = None

    async def send(self, message: OutboundMessage) -> Delivery:
        if self.first is not None:
            delivery, self.first = self.first, None
            return delivery
        delivery = await Pigeons.send(self, message)
        self._write(delivery.platform_ids[0], message.text)
        return delivery

    async def edit(self, address: Address, platform_id: str, text: str) -> Delivery:
        if self.edits_held is not None and text.endswith("held"):
            self.seen.append("waiting")
            await self.edits_held.wait()
        if self.refused is not None:
            return Delivery(self.refused, error="refused")
        self._write(platform_id, text)
        return Delivery(DeliveryState.DELIVERED)

    async def delete(self, address: Address, platform_id: str) -> Delivery:
        del self.shown[platform_id]
        return Delivery(DeliveryState.DELIVERED)

    def _write(self, platform_id: str, text: str) -> None:
        self.shown[platform_id] = text
        self.seen.append(text)


@dataclass
class Sketches(Slates):
    """One that has drafts beside."""

    drafts: list[str] = field(default_factory=list)

    async def draft(self, address: Address, draft_id: str, text: str) -> None:
        self.drafts.append(text)
        if self.refused is not None:
            raise OSError("no drafts today")


class Streamed(Post):
    """A post whose channel streams."""

    outbound = OutboundPolicy(blocks=BLOCKS)

    async def open(self) -> None:
        await super().open()
        await self.channels.remove("test")
        await self.channels.add(self.pigeons, OPEN, outbound=self.outbound)


Start = Callable[..., Any]


@pytest.fixture
async def start(tmp_path: Path, openai_server: OpenAIServer) -> AsyncIterator[Start]:
    begun: list[Streamed] = []

    async def begin(outbound: OutboundPolicy, pigeons: Pigeons | None = None, access: AccessPolicy = OPEN) -> Streamed:
        post = Streamed(tmp_path / "home", openai_server.base_url, pigeons or Slates(), access=access)
        post.outbound = outbound
        begun.append(post)
        await post.open()
        return post

    yield begin
    await begun[-1].close()


def slates(post: Post) -> Slates:
    assert isinstance(post.pigeons, Slates)
    return post.pigeons


# -- blocks ------------------------------------------------------------------------------------------------------------


async def test_blocks_are_sent_while_the_rest_is_written_and_not_again(
    start: Start, openai_server: OpenAIServer
) -> None:
    post = await start(OutboundPolicy(blocks=BLOCKS))
    openai_server.queue([{"text": f"{ONE}\n\n{TWO}\n\nAnd"}, {"hold": "rest"}, {"text": " the last."}])

    await post.said("tell")
    await post.until(lambda: bool(post.pigeons.sent))
    before = post.pigeons.texts()
    openai_server.release("rest")
    await post.until(lambda: bool(post.told("run_finished")))
    await post.until_counts(sent=len(before) + 1)

    assert before == [f"{ONE}\n\n{TWO}"]
    assert post.pigeons.texts()[1:] == [THREE]


async def test_what_was_said_before_a_tool_is_a_block(start: Start, openai_server: OpenAIServer) -> None:
    post = await start(OutboundPolicy(blocks=BLOCKS))
    release = asyncio.Event()

    async def look(call: Any) -> str:
        await release.wait()
        return "nothing"

    post.tool("look", look, parameters=TEXT)
    openai_server.queue([{"text": "Let me look"}, {"tool_call": {"name": "look", "arguments": {"text": "x"}}}], "done")

    await post.said("look")
    await post.until(lambda: post.pigeons.texts() == ["Let me look"])
    release.set()
    await post.until(lambda: post.pigeons.texts() == ["Let me look", "done"])


async def test_with_message_end_nothing_is_sent_before_the_model_has_said_it_all(
    start: Start, openai_server: OpenAIServer
) -> None:
    post = await start(OutboundPolicy(blocks=replace(BLOCKS, send_at=BlockSending.MESSAGE_END)))
    release = asyncio.Event()

    async def look(call: Any) -> str:
        await release.wait()
        return "nothing"

    post.tool("look", look, parameters=TEXT)
    call = {"tool_call": {"name": "look", "arguments": {"text": "x"}}}
    openai_server.queue([{"text": f"{ONE} "}, {"hold": "rest"}, {"text": f"{TWO} {THREE}"}, call], "done")

    await post.said("look")
    await post.until(lambda: bool(post.told("run_delta")))
    await asyncio.sleep(3 * BLOCKS.idle_ms / 1000)
    before = post.pigeons.texts()
    openai_server.release("rest")
    await post.until(lambda: " ".join(post.pigeons.texts()) == f"{ONE} {TWO} {THREE}")
    release.set()
    await post.until(lambda: post.pigeons.texts()[-1] == "done")

    assert before == []


async def test_where_short_messages_disturb_blocks_are_longer(start: Start, openai_server: OpenAIServer) -> None:
    slates = Slates(limits=ChannelLimits(text=400, block_chars=100))
    post = await start(OutboundPolicy(), slates)
    post.outbox.configure(replace(post.outbox.settings, blocks=replace(BLOCKS, idle_ms=60_000)))
    openai_server.queue([{"text": f"{ONE}\n\n" * 6 + "And"}, {"hold": "rest"}, {"text": " the last."}])

    await post.said("tell")
    await post.until(lambda: bool(slates.sent))
    openai_server.release("rest")
    await post.until(lambda: slates.texts()[-1].endswith(THREE))

    assert len(slates.texts()[0]) > BLOCKS.max_chars


async def test_a_block_that_ends_in_code_is_closed_and_the_next_opens_it_again(
    start: Start, openai_server: OpenAIServer
) -> None:
    post = await start(OutboundPolicy(blocks=BLOCKS))
    code = "\n".join(f"line_{number} = {number}" for number in range(8))
    openai_server.queue([{"text": f"```py\n{code}"}, {"hold": "code"}, {"text": "\n```"}])

    await post.said("code")
    await post.until(lambda: bool(post.pigeons.sent))
    openai_server.release("code")
    await post.until(lambda: "line_7 = 7" in str(post.pigeons.texts()))

    texts = post.pigeons.texts()
    assert len(texts) > 1
    assert all(text.startswith("```py\n") and text.endswith("\n```") for text in texts)
    assert "\n".join(text.removeprefix("```py\n").removesuffix("\n```") for text in texts) == code


@pytest.mark.parametrize("answer", ["NO_REPLY", "**NO_REPLY** this is not for them"])
async def test_nothing_of_a_silent_answer_is_shown(start: Start, openai_server: OpenAIServer, answer: str) -> None:
    post = await start(OutboundPolicy(blocks=BLOCKS))
    openai_server.queue([{"text": answer[:5]}, {"delay_s": 0.2}, {"text": answer[5:]}, {"delay_s": 0.2}], "heard")

    await post.said("one")
    await post.said("two")
    await post.until(lambda: "heard" in post.pigeons.texts())

    assert post.pigeons.texts() == ["heard"]


async def test_where_nothing_is_to_be_sent_no_block_is_either(start: Start, openai_server: OpenAIServer) -> None:
    post = await start(OutboundPolicy(blocks=BLOCKS))
    openai_server.queue([{"text": f"{ONE}\n\n{TWO}\n\n"}, {"delay_s": 0.3}, {"text": THREE}])
    await post.said("/send off")
    await post.until(lambda: len(post.pigeons.sent) == 1)

    await post.said("tell")
    await post.until(lambda: bool(post.told("run_finished")))

    assert await post.rows("SELECT count(*) FROM outbox") == [(1,)]


async def test_a_run_that_is_done_again_after_a_crash_goes_on_behind_its_blocks(
    start: Start, openai_server: OpenAIServer
) -> None:
    answer = f"{ONE}\n\n{TWO}\n\nA"
    openai_server.queue(
        [{"text": answer}, {"hold": "never"}],
        [{"text": ONE}, {"delay_s": 0.3}, {"text": f"\n\n{TWO}\n\nAnd"}, {"hold": "rest"}, {"text": " the last."}],
    )
    post = await start(OutboundPolicy(blocks=BLOCKS))
    await post.said("tell")
    await post.until_counts(sent=1)
    await post.close()

    again = await start(OutboundPolicy(blocks=BLOCKS), post.pigeons)
    openai_server.release("rest")
    await again.until(lambda: THREE in post.pigeons.texts())

    assert post.pigeons.texts() == [f"{ONE}\n\n{TWO}", THREE]


@pytest.mark.parametrize("whose", ["the home's", "the agent's"])
async def test_between_blocks_is_a_pause_and_none_before_the_answers_end(
    start: Start, openai_server: OpenAIServer, whose: str
) -> None:
    post = await start(OutboundPolicy(blocks=replace(BLOCKS, max_chars=25)))
    if whose == "the agent's":
        post.agents.configure([{"id": "main", "human_delay": {"min_ms": 150, "max_ms": 150}}])
    else:
        post.outbox.configure(replace(post.outbox.settings, human_delay=HumanDelay(150, 150)))
    openai_server.queue([{"text": f"{ONE}\n\n{TWO}\n\nAnd"}, {"hold": "paced"}, {"text": " the last."}])

    await post.said("tell")
    await post.until(lambda: len(post.pigeons.sent) == 2)
    openai_server.release("paced")
    await post.until(lambda: len(post.pigeons.sent) == 3)

    first, second, last = await post.rows("SELECT next_ms - created_ms, created_ms FROM outbox ORDER BY position")
    assert first[0] == last[0] == 0
    assert second[0] + second[1] - first[1] >= 150
    assert post.pigeons.texts() == [ONE, TWO, THREE]


async def test_once_the_answer_is_written_no_block_is(start: Start) -> None:
    post = await start(OutboundPolicy(blocks=BLOCKS))
    target = ReplyTarget(Address("test", "7"), "main", "agent:main:main", Context(OWNER))
    replies = Replies(post.outbox, post.workspaces)
    live = LiveAnswers(post.runner.parts, post.outbox, replies, lambda address, session_key: True)
    for run_id in ("written", "going on"):
        live.watch(run_id, target, {})
        said = {"run_id": run_id, "text": f"{ONE} {run_id}\n\n{TWO}", "so_far_chars": len(f"{ONE} {run_id}\n\n{TWO}")}
        post.bus.fire("run_delta", said, target.context)
    written = RunResult("written", target.session_key, RunStatus.OK)
    await post.db.write(lambda connection: live.end(connection, written, may_send=True))

    await post.until(lambda: len(post.pigeons.sent) == 2)

    assert await post.rows("SELECT DISTINCT run_id FROM outbox") == [("going on",)]


# -- one message that grows --------------------------------------------------------------------------------------------


async def test_an_answer_grows_in_one_message(start: Start, openai_server: OpenAIServer) -> None:
    post = await start(PARTIAL)
    openai_server.queue([{"text": "One"}, {"hold": "two"}, {"text": ", two"}, {"hold": "three"}, {"text": ", three."}])

    await post.said("count")
    await post.until(lambda: slates(post).seen == ["One"])
    openai_server.release("two")
    await post.until(lambda: slates(post).seen == ["One", "One, two"])
    openai_server.release("three")
    await post.until(lambda: slates(post).seen[-1] == "One, two, three.")

    assert slates(post).shown == {"1": "One, two, three."}


async def test_the_first_words_are_shown_at_once_however_rarely_a_message_may_be_edited(
    start: Start, openai_server: OpenAIServer
) -> None:
    hourly = Slates(limits=ChannelLimits(text=400, draft_interval_s=3_600.0))
    post = await start(PARTIAL, hourly)
    openai_server.queue([{"text": "One"}, {"hold": "two"}, {"text": ", two."}])

    await post.said("count")
    await post.until(lambda: slates(post).seen == ["One"])
    openai_server.release("two")
    await post.until(lambda: slates(post).seen == ["One", "One, two."])


async def test_with_block_it_grows_by_whole_sentences(start: Start, openai_server: OpenAIServer) -> None:
    post = await start(OutboundPolicy(streaming=DraftStreaming.BLOCK))
    said = "This is a sentence. " * 11
    openai_server.queue([{"text": f"{said}And a half"}, {"hold": "half"}, {"text": " one."}])

    await post.said("tell")
    await post.until(lambda: bool(slates(post).seen))
    assert slates(post).seen == [said.strip()]
    openai_server.release("half")
    await post.until(lambda: slates(post).shown == {"1": f"{said}And a half one."})


async def test_a_draft_is_shown_where_there_are_drafts_and_the_answer_is_the_only_message(
    start: Start, openai_server: OpenAIServer
) -> None:
    post = await start(PARTIAL, Sketches())
    openai_server.queue([{"text": "<think>hm</think>So"}, {"hold": "draft"}, {"text": " be it."}])

    await post.said("speak")
    await post.until(lambda: post.pigeons.drafts == ["So"])
    openai_server.release("draft")
    await post.until(lambda: post.pigeons.texts() == ["So be it."])

    assert slates(post).seen == ["So be it."]


@pytest.mark.parametrize("hook", ["message_sending", "before_message_write"])
async def test_an_answer_that_a_hook_may_change_is_not_shown_before_it_did(
    start: Start, openai_server: OpenAIServer, hook: str
) -> None:
    post = await start(PARTIAL)
    post.hooks.add(Hook(hook, lambda payload: {"text": payload.text.replace("4711", "****")}, "integration a"))
    openai_server.queue([{"text": "The code is 4711"}, {"delay_s": 0.1}, {"text": "."}])

    await post.said("what is the code?")
    await post.until(lambda: bool(slates(post).seen))

    assert slates(post).seen == ["The code is ****."]


async def test_a_preview_that_fails_does_not_fail_the_answer(start: Start, openai_server: OpenAIServer) -> None:
    post = await start(PARTIAL, Sketches(refused=DeliveryState.UNKNOWN))
    openai_server.queue([{"text": "So"}, {"hold": "broken"}, {"text": " be it."}])

    await post.said("speak")
    await post.until(lambda: bool(post.pigeons.drafts))
    openai_server.release("broken")
    await post.until(lambda: post.pigeons.texts() == ["So be it."])


async def test_an_answer_whose_preview_cannot_be_changed_is_a_message(
    start: Start, openai_server: OpenAIServer
) -> None:
    post = await start(PARTIAL)
    openai_server.queue([{"text": "So"}, {"hold": "stuck"}, {"text": " be it."}])

    await post.said("speak")
    await post.until(lambda: slates(post).seen == ["So"])
    slates(post).refused = DeliveryState.PERMANENT
    openai_server.release("stuck")
    await post.until_counts(sent=2)

    assert post.pigeons.texts() == ["So", "So be it."]
    assert await post.rows("SELECT kind, state FROM outbox ORDER BY position") == [("message", "sent")] * 2


async def test_a_preview_that_cannot_be_sent_is_nobodys_concern(start: Start, openai_server: OpenAIServer) -> None:
    post = await start(PARTIAL)
    slates(post).first = Delivery(DeliveryState.PERMANENT, error="not now")
    openai_server.queue([{"text": "So"}, {"hold": "later"}, {"text": " be it."}])

    await post.said("speak")
    await post.until_counts(dead=1)
    openai_server.release("later")
    await post.until_counts(dead=1, sent=1)

    assert slates(post).shown == {"1": "So be it."}
    assert post.repairs.all() == []


async def test_a_message_is_edited_no_more_often_than_its_platform_allows(
    start: Start, openai_server: OpenAIServer
) -> None:
    post = await start(PARTIAL)
    post.pigeons.limits = replace(post.pigeons.limits, edits=2)
    openai_server.queue([{"text": "a"}, {"hold": "b"}, {"text": "b"}, {"hold": "c"}, {"text": "c"}, {"delay_s": 0.2}])

    await post.said("spell")
    await post.until(lambda: slates(post).seen == ["a"])
    openai_server.release("b")
    await post.until(lambda: slates(post).seen == ["a", "ab"])
    openai_server.release("c")
    await post.until_counts(sent=2)

    assert slates(post).seen == ["a", "ab", "abc"]


async def test_an_answer_waits_for_a_look_at_it_that_is_under_way(start: Start, openai_server: OpenAIServer) -> None:
    post = await start(PARTIAL)
    held = slates(post).edits_held = asyncio.Event()
    openai_server.queue([{"text": "It is"}, {"hold": "a"}, {"text": " held"}, {"hold": "b"}, {"text": " no more."}])

    await post.said("speak")
    await post.until(lambda: slates(post).seen == ["It is"])
    openai_server.release("a")
    await post.until(lambda: slates(post).seen[-1] == "waiting")
    openai_server.release("b")
    await post.until(lambda: bool(post.told("run_finished")))
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.2):
            await post.until_counts(sent=2)
    held.set()
    await post.until_counts(sent=2)

    assert slates(post).seen == ["It is", "waiting", "It is held", "It is held no more."]


async def test_after_a_crash_the_answer_goes_into_the_preview(start: Start, openai_server: OpenAIServer) -> None:
    openai_server.queue([{"text": "One"}, {"hold": "never"}], [{"text": "One, t"}, {"hold": "again"}, {"text": "wo."}])
    post = await start(PARTIAL)
    await post.said("count")
    await post.until_counts(sent=1)
    await post.close()

    again = await start(PARTIAL, post.pigeons)
    await again.until(lambda: slates(post).seen == ["One", "One, t"])
    openai_server.release("again")
    await again.until(lambda: slates(post).shown == {"1": "One, two."})


async def test_a_preview_is_taken_back_when_the_answer_is_silent(start: Start, openai_server: OpenAIServer) -> None:
    post = await start(PARTIAL)

    async def look(call: Any) -> str:
        await post.until(lambda: slates(post).seen == ["Let me look"])
        return "nothing"

    post.tool("look", look, parameters=TEXT)
    openai_server.queue(
        [{"text": "Let me look"}, {"tool_call": {"name": "look", "arguments": {"text": "x"}}}], "NO_REPLY"
    )

    await post.said("look")
    await post.until_counts(sent=2)

    assert slates(post).shown == {}


async def test_a_preview_is_one_message_also_with_code_up_to_its_limit(
    start: Start, openai_server: OpenAIServer
) -> None:
    post = await start(PARTIAL)
    openai_server.queue([{"text": f"```\n{'x' * 394}"}, {"hold": "full"}, {"text": "\n```"}])

    await post.said("code")
    await post.until(lambda: bool(slates(post).seen))
    begun = slates(post).seen[0]
    openai_server.release("full")
    await post.until(lambda: len(slates(post).shown) == 2)

    assert begun.endswith("xx\n```")
    assert await post.rows("SELECT count(*) FROM outbox WHERE source = 'preview'") == [(1,)]


async def test_an_answer_longer_than_a_message_goes_on_in_another(start: Start, openai_server: OpenAIServer) -> None:
    post = await start(PARTIAL)
    text = " ".join(str(number) for number in range(150))
    openai_server.queue([{"text": text[:450]}, {"hold": "long"}, {"text": text[450:]}])

    await post.said("count")
    await post.until(lambda: bool(slates(post).seen))
    openai_server.release("long")
    await post.until(lambda: len(slates(post).shown) == 2 and slates(post).shown["2"].endswith("149"))

    assert " ".join(slates(post).shown.values()) == text
