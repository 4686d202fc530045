"""`homarus check` tells every mistake with its place, without a hub."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.terminal import Terminal


def write(home: Path, text: str) -> None:
    (home / "configuration.yaml").write_text(text, encoding="utf-8")


def test_the_starter_configuration_is_valid(type_: Terminal) -> None:
    ran = type_("check")

    assert ran.code == 0
    assert "is valid" in ran.out


def test_json_is_exactly_what_scripts_rely_on(type_: Terminal) -> None:
    write(type_.home, "hub: {}\nhttp:\n  prot: 18789\n")

    ran = type_("check", "--json")

    assert ran.code == 3
    assert ran.json.keys() == {"valid", "errors", "warnings"}
    assert ran.json["valid"] is False
    (error,) = ran.json["errors"]
    assert error.keys() == {"file", "line", "column", "path", "message", "hint"}
    assert (error["file"], error["line"], error["column"]) == ("configuration.yaml", 3, 3)
    assert error["path"] == "http.prot"
    assert "port" in error["hint"]


@pytest.mark.parametrize(
    ("http", "word"),
    [
        ("{host: 0.0.0.0, auth: {mode: none}}", "mode: token"),
        ("{auth: {mode: password}}", "password"),
        ("{auth: {mode: trusted_proxy}}", "trusted_proxies"),
        ("{auth: {mode: trusted_proxy}, trusted_proxies: [127.0.0.1]}", "proxy_secret"),
    ],
)
def test_what_a_start_refuses_is_an_error(type_: Terminal, http: str, word: str) -> None:
    write(type_.home, f"http: {http}\n")

    ran = type_("check", "--json")

    assert ran.code == 3
    (error,) = ran.json["errors"]
    assert error["path"] == "http.auth.mode"
    assert word in error["message"]


def test_people_are_shown_the_line_and_the_place_in_it(type_: Terminal) -> None:
    write(type_.home, "http:\n  port: 99999\n")

    ran = type_("check")

    assert ran.code == 3
    lines = ran.out.splitlines()
    assert lines[0].startswith("configuration.yaml:2:9: http.port: expected a port")
    assert lines[1] == "  2 |   port: 99999"
    assert lines[2] == "    |         ^"


def test_the_mark_stands_under_wide_letters(type_: Terminal) -> None:
    write(type_.home, "people: [{id: me, owner: true, name: 家庭, identities: [我]}]\n")

    lines = type_("check").out.splitlines()

    shown, mark = lines[1], lines[2]
    before = shown[: shown.index("我")]
    assert mark.index("^") == len(before) + before.count("家") + before.count("庭")


def test_a_long_line_is_cut_around_the_place(type_: Terminal) -> None:
    write(type_.home, f"people: [{'{id: me, owner: true}, ' * 20}{{id: me, ownr: true}}]\n")

    lines = type_("check").out.splitlines()

    marks = [number for number, line in enumerate(lines) if line.strip(" |") == "^"]
    assert marks
    assert all(len(lines[number - 1]) < 120 for number in marks)


def test_an_address_inside_braces_needs_no_quotes(type_: Terminal) -> None:
    write(type_.home, "models: {providers: {a: {base_url: http://127.0.0.1:8000/v1}}}\n")

    ran = type_("check")

    assert ran.code == 0, ran.out


def test_all_errors_are_told_and_what_becomes_of_the_hub(type_: Terminal) -> None:
    write(type_.home, "hub: {}\nsession: {dm_scope: everyone}\nnots: {}\n")

    ran = type_("check")

    assert ran.code == 3
    assert "session.dm_scope" in ran.out
    assert "did you mean notes?" in ran.out
    assert "2 errors" in ran.out
    assert "A hub starts without what is broken: nodes, nots, session." in ran.out


def test_recovery_mode_is_announced(type_: Terminal) -> None:
    write(type_.home, "hub: [\n")

    ran = type_("check")

    assert ran.code == 3
    assert "recovery mode" in ran.out


@pytest.mark.parametrize("kind", ["missing", "file"])
def test_what_is_no_directory_is_said_to_be_none(type_: Terminal, tmp_path: Path, kind: str) -> None:
    place = tmp_path / "elsewhere"
    if kind == "file":
        place.touch()

    ran = type_("check", "--config", str(place), "--json")

    assert ran.code == 3
    assert str(place) in ran.json["errors"][0]["message"]
    assert "homarus init" in ran.json["errors"][0]["hint"]
    assert not place.is_dir()


def test_a_line_of_secrets_is_never_shown(type_: Terminal) -> None:
    (type_.home / "secrets.yaml").write_text("key: [sesame-open-now]\n", encoding="utf-8")
    write(type_.home, "models: {providers: {openai: {api_key: !secret key}}}\n")

    ran = type_("check")

    assert ran.code == 3
    assert "secrets.yaml:1" in ran.out
    assert "sesame" not in ran.out


def test_a_key_written_in_place_is_not_shown(type_: Terminal) -> None:
    key = "sk-proj-" + "a1B2c3D4" * 6
    write(type_.home, f"models: {{providers: {{openai: {{api_key: {key}, colour: red}}}}}}\n")

    ran = type_("check")

    assert ran.code == 3
    assert "colour" in ran.out
    assert key not in ran.out


def test_an_error_in_an_included_file_is_told_there(type_: Terminal) -> None:
    (type_.home / "session.yaml").write_text("# mine\ndm_scope: nobody\n", encoding="utf-8")
    write(type_.home, "hub: {}\nsession: !include session.yaml\n")

    ran = type_("check")

    assert "session.yaml:2:11: session.dm_scope" in ran.out
    assert "  2 | dm_scope: nobody" in ran.out


def test_a_schema_of_ones_own_is_heard(type_: Terminal) -> None:
    folder = type_.home / "custom_integrations" / "doorbell"
    folder.mkdir(parents=True)
    manifest = '{"domain": "doorbell", "name": "Doorbell", "kind": "tool", "version": "1.0.0"}'
    (folder / "manifest.json").write_text(manifest, encoding="utf-8")
    (folder / "__init__.py").write_text("raise RuntimeError('a check runs nothing')\n", encoding="utf-8")
    (folder / "schema.py").write_text(
        "from hub.core.schema import Required, Schema, url\nCONFIG_SCHEMA = Schema({Required('address'): url})\n",
        encoding="utf-8",
    )
    write(
        type_.home, "hub: {}\ndoorbell: {adress: http://bell.local}\n".replace("http://bell.local", "'http://b.local'")
    )

    ran = type_("check")

    assert ran.code == 3
    assert "did you mean address?" in ran.out


@pytest.mark.parametrize(
    ("match", "path", "told", "hint"),
    [
        ("{channel: telegrm}", "channel", "there is no channel telegrm", "did you mean telegram?"),
        ("{channel: slack}", "channel", "there is no channel slack", "there are: "),
        ("{channel: telegram, account: famly}", "account", "telegram has no account famly", "did you mean family?"),
        ("{channel: telegram, account: default}", "account", "telegram has no account default", "family"),
        ("{account: wrk}", "account", "no channel has an account wrk", "did you mean work?"),
        ("{channel: telegram, account: '*'}", "", "", ""),
        ("{channel: telegram, account: work, peer: 5}", "", "", ""),
        ("{channel: webchat}", "", "", ""),
    ],
)
def test_a_binding_that_can_match_nothing_is_a_warning(
    type_: Terminal, match: str, path: str, told: str, hint: str
) -> None:
    token = f"123456:{'ABCdef-123' * 4}"
    accounts = f"[{{account: family, token: '{token}'}}, {{account: work, token: '2{token}'}}]"
    write(type_.home, f"telegram: {accounts}\nbindings:\n  - agent: main\n    match: {match}\n")

    ran = type_("check", "--json")

    assert ran.code == 0, ran.out
    found = [each for each in ran.json["warnings"] if each["path"].startswith("bindings")]
    assert [(each["path"], each["line"]) for each in found] == ([(f"bindings[0].match.{path}", 4)] if path else [])
    assert all(told in each["message"] and hint in each["hint"] for each in found), found


@pytest.mark.parametrize(
    "mqtt",
    [
        "clients: {a: {password: '%s', publish: [], subscribe: []}}",
        "nodes: {a: {password: '%s'}}",
        "username: a\n  password: '%s'",
    ],
    ids=["client", "node", "own"],
)
@pytest.mark.parametrize(
    ("password", "reason"),
    [
        ("secret", "it is a placeholder"),
        ("random", "it has fewer than 10 characters"),
        ("10", "it has fewer than 10 characters"),
        ("cannot be", "it has fewer"),
        ("expected", "it has fewer"),
        ("aabbaabbaabb", "it is made of fewer than 5 different characters"),
    ],
)
def test_why_a_password_is_refused_is_said_whatever_words_it_is_made_of(
    type_: Terminal, mqtt: str, password: str, reason: str
) -> None:
    write(type_.home, f"mqtt:\n  {mqtt % password}\n")

    ran = type_("check", "--json")

    (error,) = ran.json["errors"]
    assert reason in error["message"]
    assert error["path"].endswith("password")
