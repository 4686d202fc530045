"""What was said in a conversation lately, as a page of ours shows it again."""

from __future__ import annotations

from pathlib import Path

from hub.messaging.contract import Address
from hub.messaging.conversation import recent
from tests.messaging.post import Post
from tests.servers.openai_server import OpenAIServer


async def test_both_sides_of_one_conversation_come_in_order_and_nobody_elses(
    tmp_path: Path, openai_server: OpenAIServer
) -> None:
    openai_server.queue("first answer", "of another", "second answer")
    post = Post(tmp_path, openai_server.base_url)
    await post.open()
    for count, (who, text) in enumerate((("9", "one"), ("10", "another"), ("9", "two"), ("9", "/whoami")), start=1):
        await post.said(text, who=who)
        await post.until_counts(sent=count)
    said = await recent(post.db, Address("test", "9"))
    await post.close()

    assert [(each.text, each.ours) for each in said[:4]] == [
        ("one", False),
        ("first answer", True),
        ("two", False),
        ("second answer", True),
    ]
    assert [each.ours for each in said[4:]] == [False, True]
