"""What YAML means here, from bytes to validated values."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import cyaml

from hub.config.check import CheckCache, check
from hub.config.explain import leaks
from hub.config.loader import load
from hub.config.marks import mark_of, place
from hub.config.sections import Sections
from hub.core.schema_bounds import ERRORS_LIMIT
from hub.core.secret import Secret
from tests.config.conftest import Check

ROUTINE = "- id: r{n}\n  mode: queued\n  triggers:\n    - type: time\n      at: '07:{n:02}'\n"
SECRET = "s3cr3t-value-nobody-sees"


def test_the_c_parser_is_in_use() -> None:
    parser: Any = vars(cyaml)["CParser"]

    assert parser.__module__.startswith(("_ruamel_yaml", "ruamel.yaml.clib"))


@pytest.mark.parametrize("word", ["yes", "no", "on", "off"])
def test_words_of_old_yaml_are_texts_that_a_boolean_takes(checked: Check, word: str) -> None:
    result = checked(f"hub: {{name: {word}}}\nhttp: {{compress: {word}}}\n")

    assert result.errors == []
    assert result.config["hub"]["name"] == word
    assert result.config["http"]["compress"] is (word in {"yes", "on"})


@pytest.mark.parametrize("tag", ["!include /config/more/a.yaml", "!include_dir_merge_list /config/more/"])
def test_what_a_container_calls_config_is_the_home(tmp_path: Path, tag: str) -> None:
    (tmp_path / "packages").mkdir()
    (tmp_path / "more").mkdir()
    (tmp_path / "configuration.yaml").write_text("hub:\n  packages: !include_dir_named packages\n")
    (tmp_path / "packages" / "one.yaml").write_text(f"automation: {tag}\n")
    (tmp_path / "more" / "a.yaml").write_text("- id: x\n")

    found = load(tmp_path)

    assert found.errors == []
    assert [dict(each) for each in found.data["automation"]] == [{"id": "x"}]


def test_a_text_field_takes_a_number_as_it_was_written(checked: Check) -> None:
    result = checked("lamp: {host: 1.10, pin: 0123}\nhub: {name: 2026-11-21}\n")

    assert result.config["lamp"] == {"host": "1.10", "pin": "0123"}
    assert result.config["hub"]["name"] == "2026-11-21"


def test_numbers_in_values_are_plain_numbers(checked: Check) -> None:
    result = checked("agents: [{id: main, temperature: 1.10}]\nhttp: {port: 0x1F90}\n")

    assert type(result.config["agents"][0]["temperature"]) is float
    assert result.config["http"]["port"] == 8080


def test_a_byte_order_mark_and_windows_lines_do_no_harm(checked: Check) -> None:
    result = checked(b"\xef\xbb\xbfhub:\r\n  name: Home\r\nhttp:\r\n  port: x\r\n")

    assert [(error.line, error.column, error.path) for error in result.errors] == [(4, 9, "http.port")]


def test_bytes_that_are_not_utf8_are_told_with_their_place(checked: Check) -> None:
    result = checked(b"hub:\n  name: K\xfcche\n")

    assert [(error.line, error.column, error.path) for error in result.errors] == [(2, 10, "")]
    assert "0xFC" in result.errors[0].message
    assert result.config.recovery


def test_utf16_is_told_as_such(checked: Check) -> None:
    result = checked("hub: {name: x}".encode("utf-16"))

    assert "UTF-16" in result.errors[0].message


def test_a_missing_root_file_is_recovery_mode(tmp_path: Path, sections: Sections) -> None:
    result = check(tmp_path, sections)

    assert result.config.recovery
    assert "configuration.yaml does not exist" in result.errors[0].message
    assert result.config.or_default("http")["port"] == 18789


def test_a_file_that_is_too_large_is_refused(checked: Check) -> None:
    result = checked(b"#" * (9 * 1024 * 1024))

    assert "larger than 8 MB" in result.errors[0].message


def test_a_symlink_out_of_the_home_is_refused(tmp_path: Path, checked: Check) -> None:
    outside = tmp_path.parent / f"{tmp_path.name}-outside.yaml"
    outside.write_text("host: x\n")
    (tmp_path / "lamp.yaml").symlink_to(outside)

    result = checked("lamp: !include lamp.yaml\n")

    assert [error.path for error in result.errors] == ["lamp"]
    assert "symlink" in result.errors[0].message


def test_merge_keys_bring_what_is_not_there_with_their_marks(checked: Check) -> None:
    result = checked(
        "routine:\n- &one\n  id: a\n  max: 0\n  triggers: [{type: time, at: x}]\n- <<: *one\n  id: b\n  max: 5\n"
    )

    assert [(error.line, error.path) for error in result.errors] == [(4, "routine[0].max")]
    assert result.config["routine"][0]["max"] == 5
    assert result.config.kept_items["routine"] == (1,)


def test_a_directory_of_names_gives_keys(checked: Check) -> None:
    result = checked(
        {
            "configuration.yaml": "models: {providers: !include_dir_named p}\n",
            "p/one.yaml": "base_url: http://one\n",
            "p/two.yml": "base_url: http://two\n",
            "p/.hidden.yaml": "nonsense: 1\n",
            "p/notes.txt": "not read",
        }
    )

    assert result.errors == []
    assert sorted(result.config["models"]["providers"]) == ["one", "two"]
    assert result.config.folders == {"p"}


def test_packages_join_lists_and_mappings(checked: Check) -> None:
    result = checked(
        {
            "configuration.yaml": "hub: {name: Home, packages: !include_dir_named p}\nlamp: {host: x}\nroutine:\n"
            + ROUTINE.format(n=1),
            "p/a.yaml": "lamp: {pin: 7}\nroutine:\n" + ROUTINE.format(n=2),
            "p/b.yaml": "routine:\n" + ROUTINE.format(n=3),
        }
    )

    assert result.errors == []
    assert result.config["lamp"] == {"host": "x", "pin": "7"}
    assert [routine["id"] for routine in result.config["routine"]] == ["r1", "r2", "r3"]
    assert "packages" not in result.config["hub"]


def test_an_environment_variable_has_a_value_or_a_default(checked: Check) -> None:
    text = "http: {port: !env_var PORT 8080, host: !env_var HOST}\n"

    result = checked(text, {"HOST": "0.0.0.0"})

    assert result.config["http"]["port"] == 8080
    assert result.config["http"]["host"] == "0.0.0.0"


def test_a_secret_does_not_print(checked: Check) -> None:
    result = checked(
        {
            "configuration.yaml": "lamp: {host: x, token: !secret token}\n",
            "secrets.yaml": f"token: {SECRET}\nother: b\n",
        }
    )

    token = result.config["lamp"]["token"]
    assert isinstance(token, Secret)
    assert token.reveal() == SECRET
    assert SECRET not in f"{result.config} {result.config.raw} {result}"
    assert {secret.reveal() for secret in result.config.secrets} == {SECRET, "b"}


def test_a_secret_may_stand_where_a_text_or_a_number_belongs(checked: Check) -> None:
    files = {
        "configuration.yaml": "http: {port: !secret port, host: !secret host}\n",
        "secrets.yaml": "port: 1234\nhost: h\n",
    }

    result = checked(files)

    assert result.errors == []
    assert result.config["http"]["port"] == 1234


def test_any_number_of_secrets_may_stand_where_numbers_belong(checked: Check) -> None:
    providers = ", ".join(f"p{number}: {{retries: !secret retries}}" for number in range(ERRORS_LIMIT * 3))
    files = {"configuration.yaml": f"models: {{providers: {{{providers}}}}}\n", "secrets.yaml": "retries: 7\n"}

    result = checked(files)

    assert result.errors == []
    assert [each["retries"] for each in result.config["models"]["providers"].values()] == [7] * ERRORS_LIMIT * 3


@pytest.mark.parametrize(
    "place", ["http: {port: !secret s}", "http: {auth: {mode: !secret s}}", "agents: [{id: !secret s}]"]
)
def test_no_error_shows_a_secret(checked: Check, place: str) -> None:
    result = checked({"configuration.yaml": f"{place}\n", "secrets.yaml": f"s: {SECRET}!\n"})

    assert len(result.errors) == 1
    assert SECRET[:6] not in str(result.as_dict())
    assert "!secret s" in result.errors[0].message


@pytest.mark.parametrize("value", ["[sk-abcdef]", "{a: sk-abcdef}", "''"])
def test_no_error_shows_what_was_written_where_a_secret_belongs(checked: Check, value: str) -> None:
    result = checked(f"models: {{providers: {{a: {{api_key: {value}}}}}}}\n")

    assert "sk-abcdef" not in str(result.as_dict())
    assert result.errors[0].path == "models.providers.a.api_key"


def test_what_is_broken_is_isolated_and_the_rest_is_valid(checked: Check) -> None:
    result = checked("lamp: {hosst: x}\nhub: {name: Ours}\nlampp: {}\nhttp: {port: 1}\n")

    assert sorted(result.config.broken) == ["lamp", "lampp"]
    assert result.config["hub"]["name"] == "Ours"
    assert result.config["http"]["port"] == 1
    assert not result.config.recovery


def many(count: int) -> str:
    return "# all\n" + "".join(ROUTINE.format(n=n) for n in range(count))


def test_a_long_list_is_read_the_same_in_parts_and_whole(tmp_path: Path) -> None:
    (tmp_path / "configuration.yaml").write_text("routine: !include r.yaml\n")
    (tmp_path / "r.yaml").write_text(many(900))
    whole = load(tmp_path).data["routine"]
    (tmp_path / "r.yaml").write_text("%YAML 1.2\n---\n" + many(900))
    other = load(tmp_path).data["routine"]

    assert whole == other
    assert place(mark_of(whole, (899, "triggers", 0, "at"), whole.mark)) == ("r.yaml", 2 + 899 * 5 + 4, 11)


def test_marks_follow_when_lines_are_added_above(tmp_path: Path, sections: Sections) -> None:
    (tmp_path / "configuration.yaml").write_text("routine: !include r.yaml\n")
    cache = CheckCache()
    text = many(900)
    (tmp_path / "r.yaml").write_text(text)
    check(tmp_path, sections, cache=cache)

    (tmp_path / "r.yaml").write_text("# one\n# two\n" + text.replace("id: r899", "id: R 899"))
    result = check(tmp_path, sections, cache=cache)

    assert [(error.line, error.path) for error in result.errors] == [(2 + 2 + 899 * 5, "routine[899].id")]
    assert len(result.config["routine"]) == 899


def test_an_alias_across_items_of_a_long_list_is_understood(tmp_path: Path, sections: Sections) -> None:
    (tmp_path / "configuration.yaml").write_text("routine: !include r.yaml\n")
    text = (
        many(900)
        .replace("mode: queued", "mode: &m queued", 1)
        .replace("id: r899\n  mode: queued", "id: r899\n  mode: *m")
    )
    (tmp_path / "r.yaml").write_text(text)

    result = check(tmp_path, sections)

    assert result.errors == []
    assert result.config["routine"][899]["mode"] == "queued"


def test_a_cached_check_gives_the_same_values(tmp_path: Path, sections: Sections) -> None:
    (tmp_path / "configuration.yaml").write_text("routine: !include r.yaml\n")
    (tmp_path / "r.yaml").write_text(many(900))
    cache = CheckCache()
    first: Any = check(tmp_path, sections, cache=cache).config["routine"]

    second: Any = check(tmp_path, sections, cache=cache).config["routine"]

    assert first == second
    assert first[5] is second[5]


def test_reading_imports_nothing_heavy() -> None:
    imports = "import sys, hub.config.store, hub.integration.manager"
    code = f"{imports}; print([n for n in ('aiohttp', 'watchfiles', 'jinja2') if n in sys.modules])"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("secret", [r"corp\anna", 'it\'s "q"', "p\ta\ts\ts"])
def test_a_message_that_shows_a_secret_with_its_characters_escaped_leaks_it(secret: str) -> None:
    assert leaks(secret, f"expected an address, got {secret!r}")
    assert not leaks(secret, "expected an address such as homarus@example.org")


@pytest.mark.parametrize("part", [slice(None), slice(6), slice(5, 20)])
def test_a_message_with_a_part_of_a_secret_leaks_it(part: slice) -> None:
    assert leaks(f"{SECRET}-and-its-rest", f"'{f'{SECRET}-and-its-rest'[part]}' is no name")
    assert not leaks(f"{SECRET}-and-its-rest", "expected the token that the platform gave")
