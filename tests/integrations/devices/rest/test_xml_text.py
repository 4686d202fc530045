"""XML as JSON."""

from __future__ import annotations

import json

import pytest

from hub.core.errors import InvalidRequest
from integrations.devices.rest.xml_text import json_of_xml


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("<a/>", {"a": None}),
        ("<a> x </a>", {"a": "x"}),
        ('<a b="1"/>', {"a": {"@b": "1"}}),
        ('<a b="1">x<c/>y</a>', {"a": {"@b": "1", "c": None, "#text": "xy"}}),
        ("<a><b>1</b><b>2</b><b/></a>", {"a": {"b": ["1", "2", None]}}),
        ('<x:a xmlns:x="u"><x:b>ü&amp;&#252;</x:b></x:a>', {"x:a": {"@xmlns:x": "u", "x:b": "ü&ü"}}),
        ('<?xml version="1.0" encoding="ISO-8859-1"?><a><![CDATA[<ü>]]></a>', {"a": "<ü>"}),
    ],
)
def test_it_has_the_form_of_xmltodict(text: str, data: object) -> None:
    assert json.loads(json_of_xml(text)) == data


@pytest.mark.parametrize(
    "text", ["", "<a><b></a>", "text", '<!DOCTYPE a [<!ENTITY e "x">]><a>&e;</a>', "<a>" * 200 + "</a>" * 200]
)
def test_what_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(InvalidRequest):
        json_of_xml(text)
