"""Whatever a file holds, it is read without an exception, and what is wrong has a place."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import HealthCheck, given, settings, strategies as st

from hub.config.check import check
from hub.config.sections import Sections
from hub.config.seed import starter_folder
from tests.lengths import examples

STARTER = (starter_folder() / "configuration.yaml").read_bytes()
PIECES = [b"!secret x ", b"!include configuration.yaml", b"<<: ", b"*a ", b"[", b"{", b"\t", b"- ", b": ", b"'", b"? "]
MORE = [b"!env_var ", b"\x00", b"packages: ", b"|\n", b"&b ", b"%", b"---\n", b"\xff", b"!!int "]


@settings(max_examples=examples(150), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    cuts=st.lists(
        st.tuples(st.integers(0, len(STARTER)), st.integers(0, 40), st.sampled_from(PIECES + MORE)), max_size=5
    )
)
def test_a_damaged_file_is_told_and_never_raises(sections: Sections, cuts: list[tuple[int, int, bytes]]) -> None:
    data = STARTER
    for start, length, piece in cuts:
        data = data[:start] + piece + data[start + length :]
    with tempfile.TemporaryDirectory() as home:
        (Path(home) / "configuration.yaml").write_bytes(data)

        checked = check(home, sections, environment={})

    assert all(error.line >= 1 and error.column >= 1 and error.message for error in checked.errors)
    assert checked.config.recovery or set(checked.config.broken).isdisjoint(checked.config)


def test_a_file_of_twenty_thousand_anchors_is_refused(sections: Sections, tmp_path: Path) -> None:
    anchors = "".join(f"k{number}: &a{number} x\n" for number in range(20_000))
    (tmp_path / "configuration.yaml").write_text(anchors)

    checked = check(str(tmp_path), sections, environment={})

    assert [(error.line, error.message) for error in checked.errors if "anchors" in error.message] == [
        (1_001, "the file holds more than 1000 anchors (&name)")
    ]
