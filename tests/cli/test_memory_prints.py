"""What the memory answers, as people read it."""

from __future__ import annotations

import pytest

from hub.memory.cli.memory_prints import WHY_LIMIT, print_hits, print_status, size


@pytest.mark.parametrize(
    ("count", "told"), [(0, "0 bytes"), (999, "999 bytes"), (1_000, "1.0 kB"), (2_500_000, "2.5 MB")]
)
def test_a_size_has_the_unit_that_suits_it(count: int, told: str) -> None:
    assert size(count) == told


def test_a_long_reason_is_cut_and_says_where_the_rest_is(capsys: pytest.CaptureFixture[str]) -> None:
    print_hits({"hits": [], "degraded": "x" * (WHY_LIMIT + 1)}, why=False)
    print_hits({"hits": [], "degraded": "short"}, why=False)

    long, short = capsys.readouterr().err.splitlines()
    assert len(long) < WHY_LIMIT + 80
    assert "homarus memory status" in long
    assert short == "Not all of it was searched: short"


def test_the_state_leaves_out_what_there_is_none_of(capsys: pytest.CaptureFixture[str]) -> None:
    print_status(
        {
            "agent": "main",
            "files": 0,
            "skipped": [],
            "index": {
                "damage": {},
                "embedder": {"provider": None, "notes": []},
                "rss_bytes": 29_495_296,
                "costs": [{"day": "2026-05-12", "usd": None, "tokens": 35}],
                "ready": True,
            },
        }
    )

    assert capsys.readouterr().out.splitlines() == [
        "Memory of the agent main",
        "files: 0",
        "index:",
        "  rss: 29.5 MB",
        "  costs:",
        "    day 2026-05-12, tokens 35",
        "  ready: yes",
    ]
