"""A second parser for texts that the C parser refuses.

libyaml's grammar is older than YAML 1.2: it takes no colon inside plain text within braces and brackets, as in
`{base_url: http://127.0.0.1:8000/v1}`, and no anchor such as `&light.hall`. The pure parser does, at twenty times the
time, so it is asked only then, and not for every typing error.
"""

from __future__ import annotations

from typing import Any

from ruamel.yaml.error import YAMLError
from ruamel.yaml.events import MappingEndEvent, MappingStartEvent, SequenceEndEvent, SequenceStartEvent

from hub.config.bounds import DEPTH_LIMIT

OLD_GRAMMAR = ("found unexpected ':'", "did not find expected alphabetic or numeric character")
"""What the C parser says of valid text, so that its word is worth nothing there."""


def second_opinion(text: str, refusal: YAMLError) -> list[Any]:
    """Return the events of a text that the C parser refused because of its older grammar.

    Raises:
        YAMLError: It is not YAML; the original refusal, or a clearer one.
    """
    if not any(each in str(refusal) for each in OLD_GRAMMAR):
        raise refusal
    from ruamel.yaml import YAML  # few homes ever need it

    events: list[Any] = []
    depth = 0
    for event in YAML(typ="safe", pure=True).parse(text):
        depth += isinstance(event, (MappingStartEvent, SequenceStartEvent))
        depth -= isinstance(event, (MappingEndEvent, SequenceEndEvent))
        if depth > DEPTH_LIMIT:
            raise refusal
        events.append(event)
    return events
