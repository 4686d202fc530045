"""XML as JSON, in the form of `xmltodict`: attributes are `@name`, text is `#text`, what is repeated is a list."""

from __future__ import annotations

import json
from typing import Any

from hub.core.errors import InvalidRequest

DEPTH_LIMIT = 100


def json_of_xml(text: str) -> str:
    """Return an XML document as JSON; for the process that reads what comes from outside.

    Raises:
        InvalidRequest: It is none, is too deep, or defines entities.
    """
    from xml.parsers import expat

    parser = expat.ParserCreate("utf-8")
    parser.buffer_text = True
    root: dict[str, Any] = {}
    opened: list[tuple[str, dict[str, Any], list[str]]] = [("", root, [])]

    def start(name: str, attributes: dict[str, str]) -> None:
        if len(opened) > DEPTH_LIMIT:
            raise InvalidRequest(f"the XML has more than {DEPTH_LIMIT} levels")
        opened.append((name, {f"@{key}": value for key, value in attributes.items()}, []))

    def end(_: str) -> None:
        name, inside, texts = opened.pop()
        said = "".join(texts).strip() or None
        if said is not None and inside:
            inside["#text"] = said
        value: Any = inside or said
        above = opened[-1][1]
        if name not in above:
            above[name] = value
        elif isinstance(above[name], list):
            above[name].append(value)
        else:
            above[name] = [above[name], value]

    def refuse(*_: Any) -> None:
        raise InvalidRequest("the XML defines entities of its own, which are not read")

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler = lambda said: opened[-1][2].append(said)  # noqa: PLW0108  of the innermost then
    parser.EntityDeclHandler = refuse
    try:
        parser.Parse(text.encode(), True)
    except expat.ExpatError as error:
        raise InvalidRequest(f"the XML cannot be read: {error}") from error
    return json.dumps(root, ensure_ascii=False)
