from __future__ import annotations

from typing import Any

import pytest

from hub.core.errors import InvalidRequest
from web.settings.yaml_data import data_of


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("", {}),
        ("  \n# nothing\n", {}),
        ("null", {}),
        ("a: 1\nb: [x, {c: null}]", {"a": 1, "b": ["x", {"c": None}]}),
        ('{"a": "!secret x", "b": 1.5}', {"a": "!secret x", "b": 1.5}),
    ],
)
def test_yaml_and_json_are_data(text: str, data: dict[str, Any]) -> None:
    assert data_of(text) == data


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a: [", "neither YAML nor JSON"),
        ("a: 1\n b: 2", "line 2"),
        ("- a", "a mapping was expected"),
        ("just text", "a mapping was expected"),
        ("a: !secret x", "!secret cannot be used here"),
        ("a: [{b: !include /etc/passwd}]", "!include cannot be used here"),
        ("a: !!python/object:os.system x", "cannot be used here"),
    ],
)
def test_what_is_no_data_is_refused_with_a_reason(text: str, told: str) -> None:
    with pytest.raises(InvalidRequest, match=told):
        data_of(text)
