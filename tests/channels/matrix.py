"""The capability matrix in `docs/channels.md`, made from channels on their rigs: `python -m tests.channels.matrix`.

Each yes in it is tried by the kit: each column names the test.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from msgspec import Struct

from hub.core.clock import Clock
from hub.messaging.capabilities import CanFind, CanLookUp, Capability, capabilities_of
from hub.messaging.contract import Channel, MediaKind
from tests.channels.kit import Can, Rig, Trouble
from tests.channels.registry import RIGS
from tests.docs.pages import DOCS, MARK
from tests.servers import shared

PAGE = DOCS / "channels.md"
HEADING = "# What each can do\n"
YES, NO = "✓", "–"


class Column(Struct, frozen=True):
    """A column: what it shows of a channel, and the test that tries it."""

    title: str
    shows: Callable[[Channel, Rig], str]
    test: str


def _able(capability: Capability) -> Callable[[Channel, Rig], str]:
    return lambda channel, rig: YES if capability in capabilities_of(channel) else NO


def _has(can: Can) -> Callable[[Channel, Rig], str]:
    return lambda channel, rig: YES if can in rig.can else NO


def _says(channel: Channel, rig: Rig) -> str:
    return YES if Trouble.REMOVED in rig.troubles else NO


def _is(protocol: type[Any]) -> Callable[[Channel, Rig], str]:
    return lambda channel, rig: YES if isinstance(channel, protocol) else NO


def _text(channel: Channel, rig: Rig) -> str:
    unit = {"characters": "", "utf16": " UTF-16", "bytes": " bytes"}[channel.limits.unit]
    return f"{channel.limits.text:,}".replace(",", " ") + unit


def _live(channel: Channel, rig: Rig) -> str:
    able = capabilities_of(channel)
    return "draft" if Capability.DRAFT in able else "edits" if Capability.EDIT in able else NO


def _files_out(channel: Channel, rig: Rig) -> str:
    kinds = channel.limits.media - {MediaKind.STICKER}
    return YES if len(kinds) == len(MediaKind) - 1 else ", ".join(sorted(kinds)) or NO


def _lost_answer(channel: Channel, rig: Rig) -> str:
    return "again" if channel.limits.idempotent else "looks" if isinstance(channel, CanFind) else "asks"


COLUMNS = (
    Column("text", _text, "test_a_long_answer_comes_whole_and_in_order"),
    Column("groups", _has(Can.GROUPS), "test_in_a_group_only_what_is_addressed_to_the_assistant_is_answered"),
    Column("threads", _has(Can.THREADS), "test_an_answer_stays_in_its_thread"),
    Column("buttons", _able(Capability.BUTTONS), "test_a_button_that_is_pressed_tells_its_value_however_long"),
    Column("polls", _able(Capability.POLL), "test_a_poll_is_opened"),
    Column("files in", _has(Can.MEDIA), "test_a_stranger_reaches_neither_the_model_nor_the_disk"),
    Column("files out", _files_out, "test_each_kind_of_media_is_sent"),
    Column("voice", _has(Can.VOICE), "test_a_voice_message_is_heard_and_sent_as_one"),
    Column("live answer", _live, "test_an_answer_grows_in_one_message"),
    Column("typing", _able(Capability.TYPING), "test_typing_is_seen"),
    Column("edits", _able(Capability.EDIT), "test_a_message_is_edited"),
    Column("deletes", _able(Capability.DELETE), "test_a_message_is_deleted"),
    Column("reacts", _able(Capability.REACT), "test_a_reaction_is_given_and_taken_back"),
    Column("hears edits", _has(Can.EDITS), "test_an_edit_is_an_event_and_no_second_turn"),
    Column("hears reactions", _has(Can.REACTS), "test_what_a_channel_offers_is_tested_for_what_comes_back"),
    Column(
        "catches up",
        _has(Can.OFFERS_AGAIN),
        "test_what_was_said_while_the_hub_was_away_is_answered_when_it_is_back",
    ),
    Column("lost answer", _lost_answer, "test_a_message_whose_answer_was_lost_is_shown_once"),
    Column("removed", _says, "test_what_is_for_a_group_that_it_was_removed_from_is_tried_once_and_says_why"),
    Column("deleted", _has(Can.GONE), "test_an_answer_whose_beginning_was_deleted_comes_as_a_message_of_its_own"),
    Column("moves", _has(Can.MOVES), "test_a_group_that_got_another_id_goes_on_where_it_was"),
    Column("directory", _is(CanLookUp), "test_a_room_is_found_by_a_part_of_its_name_in_any_case"),
)
LEGEND = """\
Made from the channels themselves; each ✓ is tried by the tests that all channels share.

- **text**: the longest message; a longer answer comes in parts.
- **voice**: voice messages both ways; elsewhere what is said goes as a file that plays.
- **live answer**: an answer is shown while it is written, as a draft or by editing its message; without either,
  [in blocks](messages.md#while-an-answer-is-written) where an account says so.
- **catches up**: what was written while the hub was away is answered when it is back.
- **lost answer**: when it is not known whether a message arrived, it is sent *again* where the platform then shows it
  once; the hub *looks* for it there; or it *asks* you in the chat, and never sends it twice by itself.
- **removed**: what could not be sent to a group that the assistant was removed from says that in words.
- **deleted**: an answer whose beginning others deleted while it was written comes as a message of its own.
- **moves**: a group can get another id there; it goes on where it was.
"""


def row_of(channel: Channel, rig: Rig) -> str:
    """Return the row of a channel; its rig runs."""
    page = DOCS / "channels" / f"{rig.name}.md"
    title = page.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
    cells = (column.shows(channel, rig) for column in COLUMNS)
    way = f", {rig.way}" if rig.way else ""
    return f"| [{title}](channels/{rig.name}.md){way} | " + " | ".join(cells) + " |"


async def _rows() -> list[str]:
    rows = []
    for rig in (each() for each in RIGS):
        await rig.start()
        with TemporaryDirectory() as folder:
            rows.append(row_of(rig.channel(Path(folder), Clock()), rig))
        await rig.stop()
    return rows


def renewed(text: str, rows: list[str]) -> str:
    """Return the page with these rows."""
    head = "| | " + " | ".join(column.title for column in COLUMNS) + " |\n" + "|---" * (len(COLUMNS) + 1) + "|\n"
    return text.partition(MARK)[0] + MARK + "\n" + HEADING + "\n" + LEGEND + "\n" + head + "\n".join(rows) + "\n"


def main() -> None:
    """Write the matrix."""
    try:
        rows = asyncio.run(_rows())
    finally:
        shared.stop()
    PAGE.write_text(renewed(PAGE.read_text(encoding="utf-8"), sorted(rows, key=str.casefold)), encoding="utf-8")


if __name__ == "__main__":
    main()
