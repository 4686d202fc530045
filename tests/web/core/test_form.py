from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from hub.core.errors import InvalidRequest
from web.core.form import FIELD_LIMIT, LISTED_LIMIT, read_lists

BOUNDARY = "----x"


def posted(body: bytes, kind: str) -> Any:
    """A call as far as a form reads it."""
    return SimpleNamespace(request=SimpleNamespace(headers={"Content-Type": kind}), body=body)


def parts(*named: tuple[str, bytes]) -> bytes:
    """The body of a form with files."""
    found = b"".join(
        b"--"
        + BOUNDARY.encode()
        + b'\r\nContent-Disposition: form-data; name="'
        + name.encode()
        + b'"\r\n\r\n'
        + text
        + b"\r\n"
        for name, text in named
    )
    return found + b"--" + BOUNDARY.encode() + b"--\r\n"


def test_a_form_has_the_texts_of_each_field_in_their_order() -> None:
    found = read_lists(posted(b"a=1&b=x%0D%0Ay&a=2&c=", "application/x-www-form-urlencoded"))

    assert found == {"a": ["1", "2"], "b": ["x\ny"], "c": [""]}


def test_a_chosen_file_is_its_text_whatever_its_language() -> None:
    body = parts(("path", b""), ("file", "名字: für\r\n\r\n--- nichts\n".encode()))

    found = read_lists(posted(body, f"multipart/form-data; boundary={BOUNDARY}"))

    assert found == {"path": [""], "file": ["名字: für\n\n--- nichts\n"]}


def test_json_may_hold_texts_numbers_truths_and_lists_of_them() -> None:
    found = read_lists(posted(b'{"a": "x", "b": [1, true], "c": 2.5}', "application/json; charset=utf-8"))

    assert found == {"a": ["x"], "b": ["1", "true"], "c": ["2.5"]}


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"[]", "application/json"),
        (b'{"a": {"b": 1}}', "application/json"),
        (b'{"a": null}', "application/json"),
        (b"{", "application/json"),
        (b"a=%FF%FE&&", "application/x-www-form-urlencoded"),
        (b"&".join([b"a=1"] * (LISTED_LIMIT + 1)), "application/x-www-form-urlencoded"),
        (b"hello", "text/plain"),
        (b"hello", "multipart/form-data"),
        (b"hello", "multipart/form-data; boundary=y"),
        (parts(("a", b"\xff\xfe")), f"multipart/form-data; boundary={BOUNDARY}"),
        (parts(*[("a", b"")] * (FIELD_LIMIT + 1)), f"multipart/form-data; boundary={BOUNDARY}"),
        (b"--x\r\n\r\nnameless\r\n--x--\r\n", "multipart/form-data; boundary=x"),
    ],
)
def test_what_is_no_form_is_refused(body: bytes, kind: str) -> None:
    with pytest.raises(InvalidRequest):
        read_lists(posted(body, kind))
