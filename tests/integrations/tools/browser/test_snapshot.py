"""Snapshots: refs as numbers, only what can be acted on, without wrappers, cut at a line."""

from __future__ import annotations

from integrations.tools.browser.snapshot import SnapshotForm, cut, read_snapshot

TREE = """- generic [active] [ref=e1]:
  - heading "A \\"quoted\\" title" [level=1] [ref=e2]
  - generic [ref=e3]:
    - generic [ref=e4]:
      - link "Go" [ref=f1e5] [cursor=pointer] [box=1,2,30,4]:
        - /url: /there
    - text: plain
  - generic [ref=e6] [cursor=pointer]: Clicky"""


def read(**form: bool) -> tuple[str, dict[int, str]]:
    numbers = {f"e{number}": number for number in range(1, 7)} | {"f1e5": 5}
    text, found = read_snapshot(TREE, numbers.__getitem__, SnapshotForm(**form))
    return text, {number: element.label for number, element in found.items()}


def test_refs_are_numbers_and_elements_are_known_by_them() -> None:
    text, elements = read()
    _, found = read_snapshot(TREE, lambda ref: int(ref[-1]), SnapshotForm())

    assert '    - link "Go" [ref=5] [cursor=pointer]:\n        - /url: /there' in text
    assert elements[2] == 'heading "A "quoted" title"'
    assert (found[5].ref, found[5].box) == ("f1e5", (1, 2, 30, 4))
    assert "[ref=e2]" in read(role_refs=True)[0]


def test_an_interactive_snapshot_has_only_what_can_be_acted_on() -> None:
    text, elements = read(interactive=True)

    assert text == '- link "Go" [ref=5] /there\n- generic [ref=6]: Clicky'
    assert len(elements) == 6


def test_a_compact_snapshot_leaves_out_what_only_holds_others() -> None:
    assert read(compact=True)[0] == (
        '- generic [active] [ref=1]:\n  - heading "A \\"quoted\\" title" [level=1] [ref=2]\n'
        '  - link "Go" [ref=5] [cursor=pointer]:\n    - /url: /there\n  - text: plain\n'
        "  - generic [ref=6] [cursor=pointer]: Clicky"
    )


def test_a_long_snapshot_is_cut_at_a_line() -> None:
    assert cut("one\ntwo\nthree", 9) == "one\ntwo\n[cut: 9 of 13 characters; interactive, compact or depth show less]"
    assert cut("one", 9) == "one"
