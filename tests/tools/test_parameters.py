"""What is said of arguments that do not fit a tool's parameters."""

from __future__ import annotations

import re
from typing import Any

import pytest

from hub.core.errors import InvalidRequest
from hub.core.schema import In, Optional, Required, string
from hub.tools.parameters import from_schema

STEPS = from_schema(
    {
        Required("name"): string,
        Optional("data"): dict,
        Optional("env"): {str: string},
        Optional("steps"): [{Required("kind"): In(("click", "type")), Optional("ref"): string}],
    }
)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "invalid arguments: name: required (string). The parameters are: data, env, name, steps"),
        ({"name": "x", "data": "x"}, "data: expected an object."),
        ({"name": "x", "env": "x"}, "env: expected an object."),
        ({"name": "x", "steps": [{}]}, "steps[0].kind: required (click, type)."),
        (
            {"steps": [{"kind": "click", "do": 1}]},
            "name: required (string); steps[0].do: extra keys not allowed; there can be kind, ref.",
        ),
    ],
)
def test_an_error_names_the_argument_and_what_is_expected(arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidRequest, match=re.escape(said)):
        STEPS.validate(arguments)
