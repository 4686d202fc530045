"""What an agent's loop, its transcript and its compaction must do, by number, each with the tests that show it.

The numbers are those of a list of behaviours that other agents' loops were found to have; what is here is ours.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest

from hub.agent.compaction.entry import Compaction, compaction_entry
from hub.agent.compaction.settings import CompactionSettings
from hub.agent.conversation.conversation import RunConversation
from hub.models.contract import Message, Role, TextBlock
from hub.sessions.entry import message_entry
from hub.sessions.transcript import Transcript
from hub.tools.contract import ToolCall
from tests.agent.compaction.test_compaction import SUMMARISE, SUMMARY, compactions, talk
from tests.agent.house import CHANGING, AgentHouse, standing
from tests.servers.openai_server import OpenAIServer

TESTS = Path(__file__).parents[1]
BEHAVIOURS: Mapping[int, tuple[str, ...]] = {
    1: ("agent/test_runner.py::test_usage_is_counted_for_session_and_history",),
    2: (
        "agent/compaction/test_plan.py::test_it_begins_before_the_reserve_which_a_small_window_makes_smaller",
        "agent/test_behaviours.py::test_it_is_compacted_above_the_threshold_and_not_at_it",
    ),
    3: (
        "agent/test_loop.py::test_an_answer_that_breaks_off_is_kept_and_marked",
        "agent/test_behaviours.py::test_what_was_counted_for_an_answer_that_broke_off_is_not_the_size",
    ),
    4: ("agent/budgets/test_limits.py::test_tokens_are_estimated_when_the_provider_tells_none",),
    5: ("agent/compaction/test_plan.py::test_the_cut_keeps_at_least_what_is_to_be_kept",),
    6: ("agent/compaction/test_plan.py::test_the_cut_keeps_at_least_what_is_to_be_kept",),
    7: ("agent/test_behaviours.py::test_a_model_is_sent_the_last_summary_and_what_it_keeps",),
    8: ("agent/test_behaviours.py::test_a_model_is_sent_the_last_summary_and_what_it_keeps",),
    9: ("agent/test_behaviours.py::test_a_model_is_sent_the_last_summary_and_what_it_keeps",),
    10: ("agent/test_runner.py::test_the_model_can_be_chosen_by_request_session_and_agent",),
    11: ("agent/compaction/test_plan.py::test_a_message_is_written_so_that_a_model_does_not_carry_on_with_it",),
    12: (
        "agent/compaction/test_compaction.py::test_a_provider_that_counts_more_than_estimated_is_believed",
        "agent/test_behaviours.py::test_what_was_counted_before_a_compaction_calls_for_no_other",
    ),
    13: (
        "agent/test_loop.py::test_a_conversation_that_is_too_long_is_shortened_until_it_fits",
        "agent/test_loop.py::test_a_conversation_that_stays_too_long_is_an_error",
    ),
    14: ("messaging/test_queue.py::test_a_message_that_no_step_was_left_to_hear_is_answered_next",),
    15: (
        "models/test_failover.py::test_a_passing_failure_is_repeated_on_the_same_model",
        "models/test_failover.py::test_no_wait_passes_the_bound_and_no_count_passes_the_attempts",
    ),
    16: ("core/test_events.py::test_a_coroutine_listener_runs_as_an_owned_task",),
    17: ("agent/test_runner.py::test_parallel_safe_calls_go_side_by_side_and_answer_in_order",),
    18: (
        "agent/test_runner.py::test_one_call_that_is_not_parallel_safe_makes_them_wait_for_each_other",
        "messaging/test_queue.py::test_a_running_turn_hears_a_message_before_its_next_step",
    ),
    19: ("agent/conversation/test_window.py::test_every_window_is_whole_ends_with_the_newest_and_fits_when_it_can",),
    20: (
        "agent/runs/test_recovery.py::test_a_message_that_changed_nothing_is_run_again_from_its_words_on",
        "messaging/test_queue_modes.py::test_a_message_that_comes_while_tools_are_called_does_what_its_mode_says",
    ),
    21: ("sessions/test_transcript.py::test_events_are_not_sent_to_a_model",),
    22: ("agent/test_runner.py::test_messages_of_one_session_wait_for_each_other_in_order",),
    23: ("core/test_events.py::test_unsubscribing_twice_and_while_firing_does_no_harm",),
    24: (
        "sessions/test_transcript_damage.py::test_a_byte_flipped_anywhere_costs_at_most_the_lines_it_is_in",
        "sessions/test_transcript_damage.py::test_damaged_lines_are_set_aside_and_the_others_stay_as_they_are",
    ),
    25: (
        "sessions/test_transcript.py::test_an_entry_behind_an_older_one_makes_a_branch",
        "sessions/test_transcript.py::test_a_parent_that_is_not_there_is_refused",
        "sessions/test_transcript_damage.py::test_a_lost_entry_does_not_take_those_behind_it_along",
    ),
    26: ("messaging/test_forks.py::test_a_fork_begins_with_the_conversation_and_goes_on_by_itself",),
    27: ("storage/test_schema_version.py::test_an_older_database_is_brought_to_the_newest_schema",),
    28: (
        "integrations/tools/test_files.py::test_some_lines_are_read_and_it_says_how_to_go_on",
        "integrations/tools/test_files.py::test_a_long_file_ends_where_the_output_does",
        "integrations/tools/test_files.py::test_an_image_is_shown",
    ),
    29: (
        "integrations/tools/test_files.py::test_one_place_is_edited_and_the_change_is_shown",
        "integrations/tools/test_files.py::test_an_edit_that_does_not_fit_says_where",
    ),
    30: ("integrations/tools/test_files.py::test_lines_are_found",),
    31: (
        "models/test_classify.py::test_every_server_has_its_words_for_too_long",
        "models/test_classify.py::test_status_code_and_words_decide",
    ),
    32: ("models/test_retry_after.py::test_it_is_read",),
    33: ("agent/test_behaviours.py::test_a_call_is_on_the_disk_before_its_tool_begins_and_all_of_it_in_order",),
}


def test_each_behaviour_has_its_tests() -> None:
    files = {
        path: (TESTS / path).read_text()
        for all in BEHAVIOURS.values()
        for path in {each.split("::")[0] for each in all}
    }

    missing = [
        name
        for tests in BEHAVIOURS.values()
        for path, name in (each.split("::") for each in tests)
        if not re.search(rf"^(async )?def {name}\(", files[path], re.MULTILINE)
    ]

    assert missing == []
    assert list(BEHAVIOURS) == list(range(1, 34))


async def sent(folder: Path, story: str) -> list[str]:
    """Return what a model is sent of a story: `u1 a1 …`, and `C:u2` for a compaction that keeps what is from u2 on."""
    transcript = Transcript.open(folder / "story.jsonl")
    for word in story.split():
        if word.startswith("C:"):
            entry = compaction_entry(Compaction(f"summary to {word[2:]}", word[2:]), 1, derived=False, run_id=None)
        else:
            role = Role.USER if word.startswith("u") else Role.ASSISTANT
            entry = message_entry(Message(role, (TextBlock(word),)), 1, id=word)
        await transcript.append(entry)
    messages = RunConversation(transcript, UTC).window(100_000).messages
    return [message.text if message.text in story.split() else message.text.split()[-1] for message in messages]


@pytest.mark.parametrize(
    ("story", "expected"),
    [
        ("u1 a1 u2 a2 C:u2 u3 a3", "u2 u2 a2 u3 a3"),
        ("u1 a1 u2 a2 C:u2 u3 a3 C:u3 u4 a4", "u3 u3 a3 u4 a4"),
        ("u1 a1 C:u1 u2 a2", "u1 u1 a1 u2 a2"),
        ("u1 a1 u2 a2", "u1 a1 u2 a2"),
    ],
)
async def test_a_model_is_sent_the_last_summary_and_what_it_keeps(tmp_path: Path, story: str, expected: str) -> None:
    assert await sent(tmp_path, story) == expected.split()


async def began_at(folder: Path, server: OpenAIServer, counted: int) -> list[int]:
    """Say something twice, the first time to a provider that counts so much; return the sizes that were compacted."""
    server.reset()
    server.set_default([{"text": "ok"}, {"usage": None}])
    server.rule(SUMMARISE, SUMMARY)
    server.queue([{"text": "ok"}, {"usage": {"prompt_tokens": counted, "completion_tokens": 1}}])
    async with standing(AgentHouse(folder / str(counted), server.base_url)) as house:
        await talk(house, 2)
        return [each["tokens_before"] for each in house.told("compaction_started")]


async def test_it_is_compacted_above_the_threshold_and_not_at_it(tmp_path: Path, openai_server: OpenAIServer) -> None:
    threshold = CompactionSettings().threshold(32_768)
    (size,) = await began_at(tmp_path, openai_server, threshold)
    counted = threshold - (size - threshold)  # what was said since that call counts too

    assert await began_at(tmp_path, openai_server, counted) == []
    assert await began_at(tmp_path, openai_server, counted + 1) == [threshold + 1]


async def test_what_was_counted_before_a_compaction_calls_for_no_other(
    house: AgentHouse, openai_server: OpenAIServer
) -> None:
    openai_server.set_default([{"text": "ok"}, {"usage": None}])
    openai_server.rule(SUMMARISE, SUMMARY)
    openai_server.queue([{"text": "ok"}, {"usage": {"prompt_tokens": 32_000, "completion_tokens": 1}}])

    await talk(house, 2, "word " * 1_000)
    await talk(house, 2, "short")

    assert len(compactions(house)) == 1
    assert house.told("compaction_finished")[0]["tokens_after"] < 10_000


async def test_what_was_counted_for_an_answer_that_broke_off_is_not_the_size(
    house: AgentHouse, openai_server: OpenAIServer
) -> None:
    openai_server.set_default([{"text": "ok"}, {"usage": None}])
    counted = {"usage": {"prompt_tokens": 32_000, "completion_tokens": 1}}

    await talk(house, 2, "word " * 1_000)
    openai_server.queue([{"text": "I beg"}, counted, {"disconnect": True}])
    broken = await house.runner.run(house.request("and now?"))
    await talk(house, 1, "short")

    assert broken.error is not None
    assert house.told("compaction_started") == []


async def test_a_call_is_on_the_disk_before_its_tool_begins_and_all_of_it_in_order(
    house: AgentHouse, openai_server: OpenAIServer
) -> None:
    on_disk: list[list[str]] = []

    def change(call: ToolCall) -> str:
        on_disk.append([role for role, _ in house.transcript()])
        return "changed"

    house.tool("change", change, CHANGING)
    calls: list[dict[str, Any]] = [{"tool_call": {"name": "change", "arguments": {}, "id": id}} for id in "ab"]
    openai_server.queue(calls, "done")

    await house.runner.run(house.request("change it twice"))

    assert on_disk == [["user", "assistant"], ["user", "assistant", "toolResult"]]
    assert [role for role, _ in house.transcript()] == ["user", "assistant", "toolResult", "toolResult", "assistant"]
    results = [entry.message.tool_call_id for entry in house.entries() if entry.message and entry.message.tool_call_id]
    assert results == ["a", "b"]
