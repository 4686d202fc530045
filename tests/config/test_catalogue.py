"""Every way to break a configuration that we could think of, each with the message it must give."""

from __future__ import annotations

from itertools import pairwise, zip_longest
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from hub.config.check import check
from hub.config.errors import ConfigError
from hub.config.sections import Sections

CATALOGUE = Path(__file__).parent / "catalogue"


def cases() -> list[Any]:
    found = []
    for file in sorted(CATALOGUE.glob("*.yaml")):
        for name, case in YAML(typ="safe").load(file.read_text(encoding="utf-8")).items():
            found.append(pytest.param(case, id=f"{file.stem}: {name}"))
    return found


def generated(kind: str) -> dict[str, str]:
    if kind == "brackets":
        return {"configuration.yaml": "lamp:\n  " + "[" * 4000 + "\n"}
    letters = "abcdefghijkl"
    if kind == "laughs":
        lines = ["a: &a [x, x, x, x, x, x, x, x, x, x]"]
        lines += [f"{one}: &{one} [{', '.join([f'*{two}'] * 10)}]" for two, one in pairwise(letters)]
        return {"configuration.yaml": "\n".join(lines) + "\n"}
    lines = ["k0: &k0 {x: 1}"]
    lines += [f"k{i}: &k{i} {{<<: *k{i - 1}, a{i}: *k{i - 1}, b{i}: *k{i - 1}}}" for i in range(1, 40)]
    return {"configuration.yaml": "\n".join(lines) + "\n"}


def differences(error: ConfigError | None, expected: dict[str, Any] | None) -> list[str]:
    """Return what of an error is not as the catalogue says."""
    if error is None or expected is None:
        return [f"got {error}, expected {expected}"]
    told = error.as_dict()
    exact: dict[str, Any] = {key: expected[key] for key in ("line", "column", "path") if key in expected}
    exact["file"] = expected.get("file", "configuration.yaml")
    wrong = [f"{key}: {told[key]!r} is not {value!r}" for key, value in exact.items() if told[key] != value]
    wrong += [f"{key}: {told[key]!r}" for key in ("message", "hint") if str(expected.get(key, "")) not in told[key]]
    return [f"{error} -- {each}" for each in wrong]


@pytest.mark.parametrize("case", cases())
def test_a_broken_configuration_gives_the_right_messages(
    case: dict[str, Any], tmp_path: Path, sections: Sections
) -> None:
    files = case["files"] if "files" in case else generated(case["generate"])
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    checked = check(tmp_path, sections, environment={})

    assert [mismatch for pair in zip_longest(checked.errors, case["errors"]) if (mismatch := differences(*pair))] == []
    assert checked.config.recovery == case.get("recovery", False)
    assert set(case.get("broken", checked.config.broken)) == set(checked.config.broken)
    assert case.get("broken_items", {}) == {name: [*items] for name, items in checked.config.broken_items.items()}
    assert not checked.config.keys() & checked.config.broken.keys()
    assert checked.as_dict()["valid"] is False
