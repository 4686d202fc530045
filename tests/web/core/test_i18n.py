from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from hub.config.check import check
from hub.core.languages import match_language
from hub.integration.schemas import schemas
from hub.sections import all_sections
from hub.skills.gates import missing_text
from hub.skills.skill_file import Requirements
from tests.web.texts_in_use import (
    constants_of_the_hub,
    phrases_of_the_hub,
    texts_of_accounts,
    texts_of_blueprints,
    texts_of_manifests,
    texts_of_modules,
    texts_of_scripts,
    texts_of_skills,
    texts_of_templates,
)
from web.core.i18n import LANGUAGES, LOCALE_DIR, catalogue, choose_language, read_po
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
        *texts_of_accounts(),
    }

    source = (LOCALE_DIR / f"{language}.po").read_text(encoding="utf-8")
    translated = set(read_po(source))

    assert len(re.findall(r"^msgid ", source, re.MULTILINE)) == len({*translated, ""}), "a text stands there twice"
    assert sorted(used - translated) == []
    assert sorted(translated - used - {*constants_of_the_hub()}) == []


@pytest.mark.parametrize("language", TRANSLATED)
def test_translations_have_the_fields_of_the_original(language: str) -> None:
    messages = catalogue(language).messages

    wrong = {
        message: forms for message, forms in messages.items() if any(fields(form) != fields(message) for form in forms)
    }

    assert wrong == {}


SAID_BY = {
    "hub/core/schema.py": {"Invalid"},
    "hub/core/schema_bounds.py": {"Invalid"},
    "hub/config/explain.py": {"at", "ConfigError"},
    "hub/config/section_check.py": {"at", "ConfigError"},
    "hub/config/yaml_reader.py": {"_tell", "_fail"},
    "hub/config/secrets_file.py": {"TagError"},
    "hub/config/tags.py": {"_tell", "TagError"},
    **{
        path.relative_to(LOCALE_DIR.parents[1]).as_posix(): {"Invalid"}
        for kinds in ("triggers", "conditions", "actions")
        for path in sorted((LOCALE_DIR.parents[1] / "hub" / "automation" / kinds).glob("*.py"))
    },
    **{
        f"hub/automation/blueprints/{name}.py": {"Invalid", "NotFound", "Conflict", "InvalidRequest"}
        for name in (
            "blueprints",
            "expanding",
            "filling",
            "metadata",
            "selectors",
            "selector_values",
            "sources",
            "store",
        )
    },
    "hub/automation/definition/kinds.py": {"Invalid"},
    "hub/automation/definition/schema.py": {"error"},
    "hub/automation/definition/fields.py": {"Invalid"},
    "hub/automation/definition/grammar.py": {"Invalid"},
    "hub/automation/definition/values.py": {"Invalid"},
    "hub/messaging/schema.py": {"error", "Invalid"},
    "hub/messaging/access/routing_schema.py": {"error", "Invalid"},
    "hub/models/schema.py": {"Invalid"},
    "hub/memory/schema.py": {"error", "Invalid"},
    "hub/gateway/access/auth.py": {"Unauthorized", "WrongCredential"},
    "hub/gateway/access/devices.py": {"LimitExceeded", "Forbidden", "NotFound"},
    "hub/gateway/access/start_check.py": {"StartRefusal", "StartRefused"},
    "hub/gateway/connection/handshake.py": {"Unavailable", "NotPaired", "InvalidRequest"},
    "hub/gateway/access/ingress.py": {"Forbidden", "NotFound", "InvalidRequest", "TooLarge"},
    "hub/gateway/access/guard.py": {"LimitExceeded"},
    "hub/gateway/calls/dispatch.py": {"Forbidden"},
    "hub/entities/services.py": {"InvalidRequest", "NotFound", "Unavailable"},
    "hub/automation/running/execute.py": {"TimedOut"},
}
"""Modules whose errors pages show, and what raises or makes them."""


@pytest.mark.parametrize("path", SAID_BY)
def test_errors_that_pages_show_are_phrases(path: str) -> None:
    tree = ast.parse((LOCALE_DIR.parents[1] / path).read_text(encoding="utf-8"))

    plain = [
        ast.unparse(argument)
        for call in ast.walk(tree)
        if isinstance(call, ast.Call) and getattr(call.func, "attr", getattr(call.func, "id", "")) in SAID_BY[path]
        for argument in call.args
        if isinstance(argument, ast.JoinedStr | ast.Constant) and not isinstance(getattr(argument, "value", ""), int)
    ]

    assert plain == []


@pytest.mark.parametrize(
    ("section", "english", "chinese"),
    [
        ("http: {port: many}", "expected a port from 0 to 65535, got 'many'", "应为 0 到 65535 的端口，实际为 'many'"),
        ("http: {port: {}}", "expected a port from 0 to 65535, got a mapping", "应为 0 到 65535 的端口，实际为 映射"),
        ("http: {prot: 1}", "there is no key prot here", "此处没有键 prot"),
        ("hub: {name: [1]}", "expected text, got a list", "应为文本，实际为 列表"),
        ("people: [{name: Me}]", "id is missing here; expected text", "此处缺少 id；应为 文本"),
        (
            "memory: {search: {limit: 99}}",
            "value must be at most 50, got 99",
            "值最多为 50，实际为 99",
        ),
        (
            "memory: {extra_paths: [{path: notes, area: publik}]}",
            "expected private or shared, got 'publik'",
            "应为 private 或 shared，实际为 'publik'",
        ),
        ("mail: {}", "there is no integration or section mail", "没有名为 mail 的集成或配置段"),
        ("http: {port: [1}", "a list in [ ] is not closed, or lacks a comma", "[ ] 中的列表没有结束，或缺少逗号"),
        ("hub: !secrte x", "there is no tag !secrte", "没有标签 !secrte"),
        ("bindings: [{agent: nobody, match: {channel: a}}]", "there is no agent 'nobody'", "没有智能体 'nobody'"),
        (
            "automation: [{id: x, triggers: [{trigger: stat}], actions: []}]",
            "there is no trigger 'stat'; did you mean state?",
            "没有触发器 'stat'；是否指 state？",
        ),
    ],
)
def test_an_error_of_the_configuration_is_shown_in_the_readers_language(
    tmp_path: Path, section: str, english: str, chinese: str
) -> None:
    (tmp_path / "configuration.yaml").write_text(section, encoding="utf-8")

    [error] = check(tmp_path, all_sections(schemas({}))).errors

    assert error.message == english
    assert catalogue("zh-CN").gettext(error.message) == chinese


def test_what_a_skill_lacks_is_shown_in_the_readers_language() -> None:
    lacking = missing_text(Requirements(bins=("jq", "curl"), env=("KEY",)))

    assert lacking == "programs: jq, curl; environment variables: KEY"
    assert catalogue("zh-CN").gettext(lacking) == "程序：jq、curl；环境变量：KEY"


def test_each_page_brings_the_texts_of_its_scripts() -> None:
    assert sorted(set(texts_of_scripts())) == sorted(SCRIPT_TEXTS)


def test_a_text_is_shown_in_the_language_with_its_fields_filled_in() -> None:
    texts = catalogue("zh-CN")

    assert texts.gettext("Devices") == "设备"
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
    assert match_language("zh-Hans-SG", LANGUAGES) == "zh-CN"
    assert match_language("EN-us", LANGUAGES) == "en"
    assert match_language("tlh", LANGUAGES) is None


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
