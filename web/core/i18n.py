"""Texts in the reader's language: gettext catalogues read from their `.po` sources.

English is the language of the message ids and needs no catalogue.
"""

from __future__ import annotations

import ast
from collections import ChainMap
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from msgspec import Struct, field

from hub.core.languages import preferred_language
from hub.core.phrases import Phrase

LOCALE_DIR = Path(__file__).parent.parent / "locale"
DEFAULT_LANGUAGE = "en"
LANGUAGES: Mapping[str, str] = {"en": "English", "zh-CN": "简体中文"}


class Catalogue(Struct, frozen=True):
    """The texts of one language.

    Attributes:
        language: BCP 47 tag, for the `lang` attribute.
        messages: Message id to its forms: (text,) or (singular, plural); Chinese has one form only.
    """

    language: str
    messages: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def gettext(self, message: str, **values: object) -> str:
        """Return a message id in this language with `{name}` filled in, or a phrase; unchanged when it is unknown."""
        if isinstance(message, Phrase) and message.template:
            return self._phrase(message)
        forms = self.messages.get(message)
        text = forms[0] if forms else message
        return text.format(**values) if values else text

    def _phrase(self, said: Phrase) -> str:
        forms = self.messages.get(said.template)
        if forms is None:
            return str(said)
        try:
            return forms[0].format(**{key: self._value(value) for key, value in said.values.items()})
        except LookupError:  # a stored phrase whose template has other fields today
            return str(said)

    def _value(self, value: object) -> str:
        if isinstance(value, (list, tuple)):
            return self.gettext(", ").join(self._value(each) for each in value)
        return self.gettext(value) if isinstance(value, Phrase) else str(value)

    def with_texts(self, messages: Mapping[str, tuple[str, ...]]) -> Catalogue:
        """Return the catalogue with further texts, which replace none of it."""
        return Catalogue(self.language, ChainMap(dict(self.messages), dict(messages))) if messages else self

    def ngettext(self, singular: str, plural: str, count: int, **values: object) -> str:
        """Return the form for `count` things, with `{count}` filled in."""
        forms = self.messages.get(singular) or (singular, plural)
        text = forms[0] if count == 1 else forms[-1]
        return text.format(count=count, **values)


@lru_cache(maxsize=len(LANGUAGES))
def catalogue(language: str) -> Catalogue:
    """Return the catalogue of one of `LANGUAGES`; English for any other."""
    if language not in LANGUAGES or language == DEFAULT_LANGUAGE:
        return Catalogue(DEFAULT_LANGUAGE)
    return Catalogue(language, read_po((LOCALE_DIR / f"{language}.po").read_text(encoding="utf-8")))


def choose_language(cookie: str | None, accept_language: str | None, default: str) -> str:
    """Return the language to show: the reader's choice, else the browser's, else the hub's.

    Args:
        cookie: The stored choice, if any.
        accept_language: The header of that name, if any.
        default: `hub.language`.
    """
    if cookie is not None and cookie in LANGUAGES:
        return cookie
    return preferred_language(accept_language, tuple(LANGUAGES), default)


def read_po(source: str) -> dict[str, tuple[str, ...]]:
    """Return the messages of a `.po` file; fuzzy and untranslated ones are left out.

    Raises:
        ValueError: A line is none of msgid, msgid_plural, msgstr, a continued string or a comment.
    """
    messages: dict[str, tuple[str, ...]] = {}
    entry: dict[str, str] = {}
    current = ""
    fuzzy = False

    def finish() -> None:
        forms = [text for key, text in sorted(entry.items()) if key.startswith("msgstr")]
        if entry.get("msgid") and forms and all(forms) and not fuzzy:
            messages[entry["msgid"]] = tuple(forms)

    for number, raw in enumerate(source.splitlines(), start=1):
        line = raw.strip()
        if not line or line.startswith("#"):
            if entry:
                finish()
                entry, fuzzy = {}, False
            fuzzy = fuzzy or (line.startswith("#,") and "fuzzy" in line)
            continue
        if not line.startswith('"'):
            current, _, line = line.partition(" ")
            if current == "msgid" and entry:
                finish()
                entry, fuzzy = {}, False
            if current not in {"msgid", "msgid_plural"} and not current.startswith("msgstr"):
                raise ValueError(f"line {number}: {raw!r} is not part of a .po file")
        entry[current] = entry.get(current, "") + _unquote(line.strip(), number)
    finish()
    return messages


def _unquote(quoted: str, number: int) -> str:
    try:
        text = ast.literal_eval(quoted)
    except (SyntaxError, ValueError) as error:
        raise ValueError(f"line {number}: {quoted!r} is not a quoted string") from error
    if not isinstance(text, str):
        raise ValueError(f"line {number}: {quoted!r} is not a quoted string")
    return text
