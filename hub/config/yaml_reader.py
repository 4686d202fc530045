"""Parses YAML into mappings and lists with marks, by the C parser or a fallback, within bounds.

All errors inside a well-formed text are reported at once, with `BROKEN` in their place; only a syntax error, or a
bound that is passed, ends the reading of a text.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any, Protocol

from ruamel.yaml.cyaml import CParser  # type: ignore[attr-defined]
from ruamel.yaml.error import YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from hub.config.bounds import ANCHOR_LIMIT, DEPTH_LIMIT, KEY_LENGTH_LIMIT, Budget
from hub.config.errors import ERROR_LIMIT, ConfigError, TagError
from hub.config.marks import BROKEN, ConfigList, ConfigMapping, Mark, MarkOrigin, place
from hub.config.paths import Key, KeyPath
from hub.config.scalars import BadScalar, resolve_plain
from hub.config.second_parser import second_opinion
from hub.config.syntax import explain_syntax, forbidden_character
from hub.core.phrases import phrase

CORE_TAG = "tag:yaml.org,2002:"
MERGE_KEY = "<<"
_TOO_MANY = phrase("the configuration holds too many values (after aliases are expanded)")


class TagResolver(Protocol):
    """Resolves the value of a tagged node."""

    def __call__(self, tag: str, value: Any, mark: Mark, keys: KeyPath) -> Any:
        """Return the value of `!tag value`.

        Args:
            tag: With its exclamation mark.
            value: The scalar's text, or the mapping or list.
            mark: Its place.
            keys: The path of keys that leads to it.

        Raises:
            TagError: It cannot be resolved.
        """
        ...


class YamlStop(Exception):
    """Nothing more can be read of this text."""


class YamlReader:
    """Reads one text.

    Args:
        origin: The file (or part of it) that the text is.
        resolve: Gives the values of tags; None refuses every tag.
        budget: Bounds shared by all texts of one reading.
        errors, warnings: Findings are added to them.
        keys: The path that leads to the text's root.
        first_index: Index of the first item of a list at the text's root, when the list continues one of another text.
    """

    def __init__(
        self,
        origin: MarkOrigin,
        resolve: TagResolver | None,
        budget: Budget,
        errors: list[ConfigError],
        warnings: list[ConfigError],
        *,
        keys: KeyPath = (),
        first_index: int = 0,
    ) -> None:
        self._origin = origin
        self._resolve = resolve
        self._budget = budget
        self._errors = errors
        self._warnings = warnings
        self._prefix = keys
        self._keys: list[Key] = list(keys)
        self._anchors: dict[str, Any] = {}
        self._depth = 0
        self._first_index = first_index
        self._next: Callable[[], Any] = _nothing
        self.tagged = False
        """Whether a tag was met, so that the same text may give something else another time."""
        self.failed = False
        """Whether the text could not be read to its end."""

    def read(self, text: str) -> Any:
        """Return the value of the text: None if it is empty, `BROKEN` if it cannot be read."""
        found = forbidden_character(text)
        if found is not None:
            line, column, message, hint = found
            return self._fail((self._origin, line, column), message, hint)
        parser = CParser(text)
        before = (copy(self._budget), len(self._errors), len(self._warnings))
        try:
            try:
                return self._document(parser.get_event)
            except YAMLError as refusal:
                events = second_opinion(text, refusal)
                self._begin_again(*before)
                return self._document(iter(events).__next__)
        except YamlStop:
            self.failed = True
            return BROKEN
        except YAMLError as error:
            line, column, message, hint = explain_syntax(error, text)
            self._keys = list(self._prefix)
            return self._fail((self._origin, line, column), message, hint)
        finally:
            parser.dispose()

    def _begin_again(self, budget: Budget, errors: int, warnings: int) -> None:
        """Discard everything read before the place that the C parser refused."""
        for name in budget.__slots__:
            setattr(self._budget, name, getattr(budget, name))
        del self._errors[errors:], self._warnings[warnings:]
        self._keys = list(self._prefix)
        self._anchors.clear()
        self._depth = 0

    def _document(self, next_event: Callable[[], Any]) -> Any:
        self._next = next_event
        self._next()  # the start of the stream
        event = self._next()
        if isinstance(event, StreamEndEvent):
            return None
        if isinstance(event, DocumentStartEvent) and event.version not in {None, (1, 2)}:
            self._warn(self._mark(event), "files are always read as YAML 1.2; %YAML is ignored")
        value, _ = self._node(self._next())
        self._next()  # the end of the document
        event = self._next()
        if not isinstance(event, StreamEndEvent):
            mark = self._mark(event)
            told = phrase("a second document begins here; a file holds one")
            return self._fail(mark, told, phrase("remove the line with ---"))
        return value

    def _anchor(self, event: Any, value: Any) -> None:
        self._anchors[event.anchor] = value
        if len(self._anchors) > ANCHOR_LIMIT:
            told = phrase("the file holds more than {limit} anchors (&name)", limit=ANCHOR_LIMIT)
            self._tell(self._mark(event), told)
            raise YamlStop

    def _node(self, event: Any) -> tuple[Any, int]:
        """Return the value of the node that begins with `event`, and how many values it holds."""
        kind = event.__class__
        if kind is ScalarEvent:
            self._budget.values -= 1
            tag = event.tag
            if tag is None:
                value = event.value if event.style else self._plain(event)
            else:
                value = self._tagged_scalar(tag, event)
            if event.anchor is not None:
                self._anchor(event, value)
            return value, 1
        if kind is MappingStartEvent:
            return self._container(event, self._mapping)
        if kind is SequenceStartEvent:
            return self._container(event, self._list)
        if kind is AliasEvent:
            return self._alias(event)
        raise YamlStop  # unreachable with a sane parser

    def _container(self, event: Any, build: Callable[[Any], ConfigMapping | ConfigList]) -> tuple[Any, int]:
        if self._depth >= DEPTH_LIMIT:
            told = phrase("more than {limit} mappings and lists inside each other", limit=DEPTH_LIMIT)
            self._tell(self._mark(event), told)
            raise YamlStop
        anchor = event.anchor
        if anchor is not None:
            self._anchor(event, YamlStop)  # an alias inside itself
        self._depth += 1
        value: Any = build(event)
        self._depth -= 1
        size = value.size
        if self._budget.values < 0:
            self._tell(self._mark(event), _TOO_MANY)
            raise YamlStop
        tag = event.tag
        if tag is not None and tag not in {"!", f"{CORE_TAG}map", f"{CORE_TAG}seq"}:
            value = self._tagged(tag, value, self._mark(event))
        if anchor is not None:
            self._anchors[anchor] = value
        return value, size

    def _mapping(self, event: Any) -> ConfigMapping:
        found = ConfigMapping(self._mark(event))
        merges: list[tuple[Any, Mark]] = []
        origin, next_event, keys, budget = self._origin, self._next, self._keys, self._budget
        size = 1
        while (event := next_event()).__class__ is not MappingEndEvent:
            start = event.start_mark
            key_mark = (origin, start.line, start.column)
            key = self._key(event, key_mark)
            event = next_event()
            start = event.start_mark
            value_mark = (origin, start.line, start.column)
            keys.append(key if key is not None else "?")
            value, held = self._node(event)
            if key is None:
                keys.pop()
                found.put("?", BROKEN, key_mark, value_mark)
                continue
            size += held
            if budget.values < 0:
                self._tell(key_mark, _TOO_MANY)
                raise YamlStop
            if key == MERGE_KEY:
                merges.append((value, key_mark))
            elif key in found:
                line = place(found.key_marks[key])[1]
                told = phrase("the key {key} appears a second time; it is already on line {line}", key=key, line=line)
                self._tell(key_mark, told)
                found[key] = BROKEN
            else:
                found.put(key, value, key_mark, value_mark)
            keys.pop()
        found.size = size
        for value, mark in merges:
            self._merge(found, value, mark)
        return found

    def _list(self, event: Any) -> ConfigList:
        found = ConfigList(self._mark(event))
        origin, next_event, keys, budget = self._origin, self._next, self._keys, self._budget
        size, index = 1, self._first_index if self._depth == 1 else 0
        keys.append(index)
        while (event := next_event()).__class__ is not SequenceEndEvent:
            start = event.start_mark
            keys[-1] = index
            value, held = self._node(event)
            found.put(value, (origin, start.line, start.column))
            size += held
            index += 1
            if budget.values < 0:
                self._tell(found.mark, _TOO_MANY)
                raise YamlStop
        keys.pop()
        found.size = size
        return found

    def _key(self, event: Any, mark: Mark) -> str | None:
        """Return the key in `event`; None, after reporting why, if it cannot be a key."""
        if event.__class__ is not ScalarEvent:
            brace = event.__class__ is MappingStartEvent and event.flow_style
            self._node(event)
            hint = "put quotes around a text that begins with {" if brace else ""
            self._tell(mark, phrase("a key must be a text, not a list, a mapping or an alias"), hint)
            return None
        self._budget.values -= 1
        key: str = event.value
        if event.anchor is not None:
            self._anchor(event, key)
        if event.tag is not None and event.tag not in {"!", f"{CORE_TAG}str"}:
            self._tell(mark, phrase("a key cannot have a tag ({tag})", tag=event.tag))
            return None
        if not key:
            self._tell(mark, phrase("a key is missing before the colon"))
            return None
        if len(key) > KEY_LENGTH_LIMIT:
            self._tell(mark, phrase("a key has at most {limit} characters", limit=KEY_LENGTH_LIMIT))
            return None
        return key

    def _merge(self, found: ConfigMapping, value: Any, mark: Mark) -> None:
        """Add the keys of `<<` that `found` lacks."""
        sources = value if isinstance(value, ConfigList) else [value]
        for source in sources:
            if source is BROKEN:
                found.put(MERGE_KEY, BROKEN, mark, mark)
                continue
            if not isinstance(source, ConfigMapping):
                self._tell(mark, phrase("<< merges a mapping, or a list of mappings, given by an alias such as *name"))
                found.put(MERGE_KEY, BROKEN, mark, mark)
                return
            for key, each in source.items():
                if key not in found:
                    held = each.size if isinstance(each, (ConfigMapping, ConfigList)) else 1
                    self._budget.values -= held
                    found.size += held
                    found.put(key, each, source.key_marks[key], source.value_marks[key])
            if self._budget.values < 0:
                self._tell(mark, _TOO_MANY)
                raise YamlStop

    def _alias(self, event: Any) -> tuple[Any, int]:
        mark = self._mark(event)
        if event.anchor not in self._anchors:
            told = phrase("there is no anchor &{anchor} before this alias", anchor=event.anchor)
            self._tell(mark, told, phrase("write &{anchor} first", anchor=event.anchor))
            return BROKEN, 1
        value = self._anchors[event.anchor]
        if value is YamlStop:
            self._tell(mark, phrase("the anchor &{anchor} contains itself", anchor=event.anchor))
            return BROKEN, 1
        size = value.size if isinstance(value, (ConfigMapping, ConfigList)) else 1
        self._budget.values -= size
        self._budget.aliases -= 1
        if self._budget.values < 0 or self._budget.aliases < 0:
            self._tell(mark, _TOO_MANY)
            raise YamlStop
        return value, size

    def _plain(self, event: Any) -> Any:
        try:
            return resolve_plain(event.value)
        except BadScalar as error:
            self._tell(self._mark(event), str(error), phrase("put quotes around it if it is a text"))
            return BROKEN

    def _tagged_scalar(self, tag: str, event: Any) -> Any:
        text: str = event.value
        if tag in {"!", f"{CORE_TAG}str"}:
            return text
        mark = self._mark(event)
        if tag.startswith(CORE_TAG):
            return self._core_scalar(tag.removeprefix(CORE_TAG), text, mark)
        return self._tagged(tag, text, mark)

    def _core_scalar(self, name: str, text: str, mark: Mark) -> Any:
        """Return the value of `!!int 1` and the like, or an error."""
        expected: dict[str, tuple[type, ...]] = {
            "int": (int,),
            "float": (float, int),
            "bool": (bool,),
            "null": (type(None),),
        }
        if name not in expected:
            self._tell(mark, phrase("the tag !!{name} is not used here", name=name), phrase("remove it"))
            return BROKEN
        try:
            value = resolve_plain(text)
        except BadScalar as error:
            self._tell(mark, str(error))
            return BROKEN
        if not isinstance(value, expected[name]) or (isinstance(value, bool) and name != "bool"):
            self._tell(mark, phrase("this is not what !!{name} says", name=name))
            return BROKEN
        return float(value) if name == "float" else value  # type: ignore[arg-type]

    def _tagged(self, tag: str, value: Any, mark: Mark) -> Any:
        self.tagged = True
        if tag.startswith(CORE_TAG):
            told = phrase("the tag !!{name} is not used here", name=tag.removeprefix(CORE_TAG))
            self._tell(mark, told, phrase("remove it"))
            return BROKEN
        if self._resolve is None:
            self._tell(mark, phrase("the tag {tag} cannot be used in this file", tag=tag))
            return BROKEN
        try:
            return self._resolve(tag, value, mark, tuple(self._keys))
        except TagError as error:
            self._tell(mark, error.message, error.hint)
            return BROKEN

    def _mark(self, event: Any) -> Mark:
        return (self._origin, event.start_mark.line, event.start_mark.column)

    def _fail(self, mark: Mark, message: str, hint: str = "") -> Any:
        self.failed = True
        self._tell(mark, message, hint)
        return BROKEN

    def _tell(self, mark: Mark, message: str, hint: str = "") -> None:
        self._errors.append(ConfigError.at(mark, tuple(self._keys), message, hint))
        if len(self._errors) >= ERROR_LIMIT:
            raise YamlStop

    def _warn(self, mark: Mark, message: str) -> None:
        self._warnings.append(ConfigError.at(mark, tuple(self._keys), message))


def _nothing() -> Any:
    raise YamlStop
