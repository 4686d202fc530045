from __future__ import annotations

import re

import pytest

from tests.web.texts_in_use import (
    constants_of_the_hub,
    phrases_of_the_hub,
    texts_of_blueprints,
    texts_of_manifests,
    texts_of_modules,
    texts_of_scripts,
    texts_of_skills,
    texts_of_templates,
)
from web.core.i18n import LANGUAGES, LOCALE_DIR, catalogue, choose_language, match_language, read_po
from web.core.texts import SCRIPT_TEXTS

TRANSLATED = [language for language in LANGUAGES if language != "en"]


def fields(text: str) -> list[str]:
    return sorted(re.findall(r"\{\w+\}", text))


@pytest.mark.parametrize("language", TRANSLATED)
def test_every_text_is_translated_and_none_is_left_over(language: str) -> None:
    used = {
        *texts_of_templates(),
        *texts_of_modules(),
        *texts_of_scripts(),
        *phrases_of_the_hub(),
        *texts_of_blueprints(),
        *texts_of_skills(),
        *texts_of_manifests(),
    }

    translated = set(read_po((LOCALE_DIR / f"{language}.po").read_text(encoding="utf-8")))

    assert sorted(used - translated) == []
    assert sorted(translated - used - {*constants_of_the_hub()}) == []


@pytest.mark.parametrize("language", TRANSLATED)
def test_translations_have_the_fields_of_the_original(language: str) -> None:
    messages = catalogue(language).messages

    wrong = {
        message: forms for message, forms in messages.items() if any(fields(form) != fields(message) for form in forms)
    }

    assert wrong == {}


def test_each_page_brings_the_texts_of_its_scripts() -> None:
    assert sorted(set(texts_of_scripts())) == sorted(SCRIPT_TEXTS)


def test_a_text_is_shown_in_the_language_with_its_fields_filled_in() -> None:
    texts = catalogue("zh-CN")

    assert texts.gettext("Overview") == "概览"
    assert texts.gettext("Text of {file}", file="a.yaml") == "a.yaml 的内容"


def test_an_unknown_text_is_shown_as_it_is() -> None:
    assert catalogue("zh-CN").gettext("no such text {x}", x=1) == "no such text 1"


def test_counts_have_the_form_of_their_language() -> None:
    english = [catalogue("en").ngettext("{count} problem", "{count} problems", count) for count in (1, 2)]
    chinese = [catalogue("zh-CN").ngettext("{count} problem", "{count} problems", count) for count in (1, 2)]

    assert english == ["1 problem", "2 problems"]
    assert chinese == ["1 个问题", "2 个问题"]


@pytest.mark.parametrize(
    ("cookie", "header", "hub", "chosen"),
    [
        (None, None, "en", "en"),
        (None, "zh-TW,zh;q=0.9,en;q=0.8", "en", "zh-CN"),
        (None, "de-DE,en-GB;q=0.9,zh;q=0.8", "zh-CN", "en"),
        (None, "de", "zh-CN", "zh-CN"),
        ("en", "zh", "zh-CN", "en"),
        ("xx", "zh", "en", "zh-CN"),
        (None, "en;q=0, zh;q=0.5", "en", "zh-CN"),
        (None, ";;;q=x,,", "en", "en"),
        (None, "*", "fr", "en"),
    ],
)
def test_the_language_is_the_readers_choice_then_the_browsers_then_the_hubs(
    cookie: str | None, header: str | None, hub: str, chosen: str
) -> None:
    assert choose_language(cookie, header, hub) == chosen


def test_a_language_serves_its_regions() -> None:
    assert match_language("zh-Hans-SG") == "zh-CN"
    assert match_language("EN-us") == "en"
    assert match_language("tlh") is None


def test_a_po_file_is_read_with_continued_lines_plurals_and_escapes() -> None:
    source = """
# a comment
msgid ""
msgstr "Language: xx\\n"

#: somewhere.py:1
msgid "one "
"two"
msgstr "eins \\"zwei\\""

#, fuzzy
msgid "unsure"
msgstr "unsicher"

msgid "left"
msgstr ""

msgid "{count} thing"
msgid_plural "{count} things"
msgstr[0] "{count} Ding"
msgstr[1] "{count} Dinge"
"""

    assert read_po(source) == {"one two": ('eins "zwei"',), "{count} thing": ("{count} Ding", "{count} Dinge")}


@pytest.mark.parametrize("source", ["msgid oops", 'msgid "a', "domain x", 'msgid "a"\nmsgstr __import__("os")'])
def test_what_is_no_po_file_is_refused_with_the_line(source: str) -> None:
    with pytest.raises(ValueError, match="line"):
        read_po(source)
