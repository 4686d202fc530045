"""The JSON Schema of the whole configuration, for the editor, the documentation and other programs."""

from __future__ import annotations

from hub.config.sections import SchemaProblem, Sections
from hub.core.json_schema import JsonSchema, to_json_schema

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def whole_schema(sections: Sections) -> JsonSchema:
    """Return JSON Schema (2020-12) of `configuration.yaml`: a key for each section and integration.

    A section may be left empty; an integration whose schema cannot be used accepts everything and says why.
    """
    return {
        "$schema": DIALECT,
        "title": "Homarus configuration",
        "type": "object",
        "properties": {name: _section(sections, name) for name in sections.names()},
        "additionalProperties": False,
    }


def _section(sections: Sections, name: str) -> JsonSchema:
    try:
        section = sections.get(name)
    except SchemaProblem as problem:
        return {"description": problem.message}
    if section is None:
        return {}
    schema = to_json_schema(section.schema)
    described: JsonSchema = {"description": section.description} if section.description else {}
    if not schema:
        return described
    return {**described, "anyOf": [schema, {"type": "null"}]}
