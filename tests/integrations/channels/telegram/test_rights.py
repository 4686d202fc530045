"""What a bot may not do, as a probe tells it."""

from __future__ import annotations

from pathlib import Path

from tests.channels.kit import Heard, HurriedClock
from tests.channels.telegram_rig import telegram_channel
from tests.servers.telegram_server import TelegramServer
from tests.until import until

RESTRICTED = {"status": "restricted", "is_member": True, "until_date": 0} | dict.fromkeys(
    [
        *("can_send_audios", "can_send_documents", "can_send_photos", "can_send_videos", "can_send_video_notes"),
        *("can_send_voice_notes", "can_send_polls", "can_send_other_messages", "can_add_web_page_previews"),
        *("can_change_info", "can_invite_users", "can_pin_messages", "can_manage_topics", "can_send_messages"),
        *("can_edit_tag", "can_react_to_messages"),
    ],
    False,
)


ADMINISTRATOR = {"status": "administrator"} | dict.fromkeys(
    [
        *("can_be_edited", "is_anonymous", "can_manage_chat", "can_delete_messages", "can_manage_video_chats"),
        *("can_restrict_members", "can_promote_members", "can_change_info", "can_invite_users", "can_post_stories"),
        *("can_edit_stories", "can_delete_stories", "can_manage_topics"),
    ],
    True,
)


async def test_a_bot_says_in_which_groups_it_is_not_or_may_not_write(
    server: TelegramServer, tmp_path: Path, clock: HurriedClock, heard: Heard
) -> None:
    server.chats.reads_groups = True
    server.chats.membership = {-1001: {"status": "member"}, -1002: {"status": "left"}, -1003: RESTRICTED}
    bot = telegram_channel(server, tmp_path, clock, groups=["-1001", "-1002", "-1003", "-1004"])
    await bot.start(heard)
    try:
        await until(lambda: heard.account_id is not None)
        found = await bot.probe()
    finally:
        await bot.stop()

    assert found["ok"] is True
    assert found["rights"] == ["It writes in the group -1001, where only administrators hear of reactions."]
    assert found["missing"] == [
        "It is not in the group -1002.",
        "It may not write in the group -1003.",
        "It is not in the group -1004.",
    ]


async def test_an_administrator_says_whether_it_opens_topics(
    server: TelegramServer, tmp_path: Path, clock: HurriedClock, heard: Heard
) -> None:
    server.chats.reads_groups = True
    server.chats.membership = {-1001: ADMINISTRATOR, -1002: ADMINISTRATOR | {"can_manage_topics": False}}
    bot = telegram_channel(server, tmp_path, clock, groups=["-1001", "-1002"])
    await bot.start(heard)
    try:
        await until(lambda: heard.account_id is not None)
        found = await bot.probe()
    finally:
        await bot.stop()

    assert found["rights"] == [f"It is an administrator of the group {group}." for group in (-1001, -1002)]
    assert found["missing"] == ["It opens no topics in the group -1002."]


async def test_a_bot_says_what_its_settings_at_botfather_keep_from_it(
    server: TelegramServer, tmp_path: Path, clock: HurriedClock, heard: Heard
) -> None:
    server.chats.joins_groups = False
    bot = telegram_channel(server, tmp_path, clock)
    await bot.start(heard)
    try:
        await until(lambda: heard.account_id is not None)
        first = (await bot.probe())["missing"]
        server.chats.joins_groups = server.chats.reads_groups = True
        second = (await bot.probe())["missing"]
    finally:
        await bot.stop()

    assert ["/setjoingroups" in first[0], "/setprivacy" in first[1]] == [True, True]
    assert second == []
