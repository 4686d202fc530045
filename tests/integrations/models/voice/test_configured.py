"""With `voice:` in the configuration, whatever names no model of its own hears and speaks on this machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from hub.cli.configured import check_home

CALLS = """
voice_call:
  account_sid: AC00000000000000000000000000000000
  auth_token: 0123456789abcdef0123456789abcdef
  number: "+4930123456"
  public_url: https://my.home
"""


@pytest.mark.parametrize(("text", "key"), [("speech:\n", "speech"), (CALLS, "voice_call")])
def test_speech_and_calls_need_something_that_speaks(tmp_path: Path, text: str, key: str) -> None:
    (tmp_path / "configuration.yaml").write_text(text)
    without = check_home(tmp_path)
    (tmp_path / "configuration.yaml").write_text(f"{text}\nvoice:\n")
    with_it = check_home(tmp_path)

    assert [(each.path, each.message.split(":")[0]) for each in without.errors] == [(key, "nothing speaks")]
    assert with_it.errors == []
