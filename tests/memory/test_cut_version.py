"""What a file is cut into is what it was cut into when `CUT_VERSION` was last raised; else old indexes would stay."""

from __future__ import annotations

import hashlib

from hub.memory.chunking import CUT_VERSION, chunk
from hub.memory.words import words_of

GOLDEN = {
    1: "08ed16a7600bd334563ea51526a31ce10c616324d588567686aa28f096812853",
    2: "08ed16a7600bd334563ea51526a31ce10c616324d588567686aa28f096812853",  # a source that was changed gives no trust
    3: "ecf61079bcc26eb7e3118b9597a40caeacad1d5e31343c4d2ecdaae59ada2fba",  # months, long numbers, codes, traditional
    4: "9656947d86fe42a936bcf69e40558c92a757470d07c914178c1b3fb6763de565",  # what has no sentences overlaps as well
    5: "8268d6eb3bb5e541c23e2278be407cf11bebd1b001e4435d891d9a99f581ac22",  # days without a year
}
"""Digest of all that the corpus is cut into, by version. A line is added here, and none is ever changed."""

ENTRIES = """\
# 2026-05-12

- The boiler was serviced on 12 May
  _fact · 2026-05-12 14:03 · from me in `agent:main:main`_
- ~~Anna works at the bakery~~
  _person · 2026-05-12 14:05 · from me in `agent:main:main` · superseded 2026-06-01_
- We sleep with the window open,
  all year round
  _preference · 2026-05-13 08:00 · from anna in `agent:main:telegram:direct:5` · also noted 2026-05-02_
- > The parcel comes on Friday
  _fact · 2026-05-13 09:10 · from someone in `agent:main:email:direct:x` · untrusted_
- 锅炉在5月12日保养过，下次是2027年3月
  _todo · 2026-05-13 09:12 · from me in `agent:main:main`_
* a line of one's own, on the 3rd of June 2025
1. and a numbered one — Café Łódź, naïve, ＡＢＣ

## Evening

We ate soup. Then we didn't do anything.
"""
PROSE = """\
---
source: openclaw
trusted: false
person: anna
session: agent:main:main
---

Before any heading.

# The house

## Heating ##

### Boiler, since 2019-11-02

{long}

| room | degrees |
|------|---------|
| bath | 22      |

```python
# no heading
def warm(room):
    return room.degrees > 20
```

~~~
never closed {long}

## 供暖系统

{chinese}

#### Empty

## Last
### Below it
end without a newline, {word}"""
LONG = " ".join(f"Sentence {number} speaks of pipes, valves and the running pump; is it warm?" for number in range(60))
PARAGRAPHS = "\n\n".join(" ".join(LONG.split("? ")[:count]) + "?" for count in (8, 20, 3, 1, 12, 8, 30, 2, 9, 14))
WORDS = "passes tries boxes classes hoped hoping running skies stories wishes bus this kisses markedly I've Anna's"
CHINESE = "".join(f"第{number}句话说的是暖气、水管和阀门。昨天修好了！" for number in range(60))
CORPUS = {
    "MEMORY.md": ENTRIES.replace("# 2026-05-12", "# Memory"),
    "memory/2026-05-12.md": ENTRIES,
    "memory/people/anna.md": PROSE.format(long=LONG, chinese=CHINESE, word="x" * 3_000),
    "memory/2024-02-29-note.md": "\n\n".join(["# A note", LONG, CHINESE, "On 2024-02-30 nothing was.", "yesterday"]),
    "extra/x/only a title.md": "# Nothing but this\n",
    "memory/paragraphs.md": f"{PARAGRAPHS}\n\n{WORDS}\n",
    "memory/crlf.md": "# Ends\r\n\r\n- one\r\n- two\r\n\r\nText.\r\n",
    "memory/empty.md": "\n",
}


def test_what_files_are_cut_into_is_not_changed_without_a_new_version() -> None:
    whole = hashlib.sha256()
    for path, text in CORPUS.items():
        for tokens, overlap in ((400, 80), (50, 10)):
            for trusted in (True, False):
                for each in chunk(path, text, tokens=tokens, overlap=overlap, trusted=trusted):
                    parts = (path, each.start_line, each.end_line, each.digest, each.embed_text, words_of(each.text))
                    whole.update(repr(parts).encode())

    assert GOLDEN.get(CUT_VERSION) == whole.hexdigest(), (
        "Files are cut into other passages than before. An index that was made before would keep the old ones: raise "
        "CUT_VERSION in hub/memory/chunking.py, and add a line to GOLDEN here, "
        f"{{version}}: {whole.hexdigest()!r}. When nothing should have changed, the change is a bug."
    )
    assert max(GOLDEN) == CUT_VERSION
