"""Search results of memory: entries with their file and day, and how well they match a question. Pure functions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import date
from typing import Any

from msgspec import Struct

from hub.memory.dates import marks_in, marks_of_day
from hub.memory.days_asked import extract_days
from hub.memory.words import query_words, words_of
from integrations.models.offline.recognizer import CHINESE, language_of
from integrations.models.offline.replies import reply, short_date
from integrations.models.offline.statements import KIN, ZH_KIN, subject_of
from integrations.models.offline.steps import read_items


class RecalledEntry(Struct, frozen=True):
    """An entry from memory: its text, its file, its day, and its score (0 to 1)."""

    text: str
    path: str = ""
    day: date | None = None
    score: float = 0.0
    is_ours: bool = True


class EntryQuery(Struct, frozen=True):
    """The words that a question asks for.

    Attributes:
        text: The query for memory: the question, with synonyms.
        words: Beside the days it names.
        days: For each named day, the marks of which one must be there.
        all_words: With those that name days, since an entry may have the same: "on Tuesday".
        said: The whole question.
        subject: Words that name its subject: an entry without any of them is about somebody else.
        means: Synonyms of the requested thing, any of which answers it.
        possession: Words of what is the speaker's, or is pointed at: "my sister", "the summer coats".
        head: The last of these words, which names the sort of thing.
        is_named: Whether somebody is called by name.
    """

    text: str
    words: frozenset[str]
    days: tuple[frozenset[str], ...]
    all_words: frozenset[str]
    subject: frozenset[str] = frozenset()
    said: str = ""
    means: frozenset[str] = frozenset()
    possession: frozenset[str] = frozenset()
    head: frozenset[str] = frozenset()
    is_named: bool = False

    def share(self, entry: RecalledEntry) -> float:
        """Return the share of it, 0 to 1, that an entry has."""
        own = {*words_of(entry.text), *marks_in(entry.text), *(marks_of_day(entry.day) if entry.day else ())}
        terms = [*(_LIKE_WORDS.get(word, frozenset([word])) for word in self.words), *self.days]
        if not terms or self.means & own:
            return 1.0
        by_day = sum(bool(term & own) for term in terms) / len(terms)
        return max(by_day, len(self.all_words & own) / len(self.all_words) if self.all_words else 0.0)

    @property
    def asks_who(self) -> bool:
        """Whether it asks for the person that an entry is about."""
        return _WHO.search(self.said) is not None

    def is_about(self, entry: RecalledEntry) -> bool:
        """Whether an entry names the subject of the question: half of a name, all of somebody's thing.

        A thing with fewer words matches, as long as the question has them all: a fence for the garden fence.
        """
        own = {*words_of(entry.text)}
        is_of_it = all(_LIKE_WORDS.get(word, frozenset([word])) & own for word in self.possession)
        if not is_of_it and not (self.head <= own and self.names_whole_subject_of(entry, least=1)):
            return False
        return 2 * len(self.subject & own) >= len(self.subject)

    def is_near(self, entry: RecalledEntry) -> bool:
        """Whether an entry has half of the query, beside words that fit many things: number, name.

        The subject must be the same, too: a question about a sister is not answered with what a brother does.
        """
        content, own = self.words - _ATTRIBUTES, {*words_of(entry.text)}
        shared = 2 * len(content & own)
        is_strict = self.asks_who and not self.possession and language_of(self.said) != CHINESE
        if shared < max(1, len(content) + is_strict) or not self.is_about(entry):
            return False
        return self.is_named or self.asks_who or self.names_whole_subject_of(entry)

    def asks_for_kind_of(self, entry: RecalledEntry) -> bool:
        """Whether an entry has the requested sort of thing: a number does not answer where somebody is."""
        attributes = subject_of(entry.text, language_of(entry.text)) & _NAMED_ATTRIBUTES - {*words_of(self.said)}
        return all(attributes <= fits for pattern, fits in _KINDS if pattern.search(self.said))

    def names_whole_subject_of(self, entry: RecalledEntry, *, least: int = 0) -> bool:
        """Whether the question names all that an entry is about: of a family the name or the relation suffices."""
        language = language_of(entry.text)
        subject = subject_of(entry.text, language) - _ATTRIBUTES - _ATTRIBUTE_CHARACTERS
        if not subject and language == CHINESE and not entry.text.startswith("我"):
            subject = frozenset(entry.text[:1])
        kin = ZH_KIN if language == CHINESE else KIN
        asked = {*words_of(self.said or self.text)}
        if len(subject) < least:
            return False
        is_of_kin = language != CHINESE or _ZH_OF_KIN.search(self.said or self.text) is not None
        return (subject - kin or subject) <= asked or bool(is_of_kin and subject & kin and subject & kin <= asked)


_ATTRIBUTES = frozenset(
    word
    for text in (
        "number phone name birthday address code password size age date time pin colour color money bucks "
        "euros dollars much live work like born",
        "电话 号码 密码 生日 地址 名字 时间 日期 颜色 多少 少钱 住 住在 上班 工作 喜欢",
    )
    for word in words_of(text)
)
"""What is asked of many people and things: who has it in common with a question need not be meant."""
_ATTRIBUTE_CHARACTERS = frozenset("电话号码密生日地址名字时间期颜色")
_NAMED_ATTRIBUTES = frozenset(words_of("number phone code password address birthday")) | frozenset("电话号码密")
_KINDS = (
    (re.compile(r"\bwhere\b|哪里|哪儿", re.IGNORECASE), frozenset(words_of("address"))),
    (re.compile(r"\bwhen\b|什么时候|几点|哪天", re.IGNORECASE), frozenset(words_of("birthday"))),
)
"""What a question word asks for, of what entries are about."""
_ZH_OF_KIN = re.compile(rf"(?:\A|[我家的])[{''.join(sorted(ZH_KIN))}]")
_LIKE_WORDS = {
    word: words
    for text in (
        "like love enjoy prefer favourite favorite",
        "live moved",
        "work job",
        "mum mom mother",
        "dad father",
        "grandma granny grandmother",
        "grandpa granddad grandfather",
    )
    for words in (frozenset(words_of(text)),)
    for word in words
}
"""Words for the same, any of which answers a question for another."""
_NO_CONTENT = frozenset(words_of("don't can't won't isn't aren't wasn't doesn't didn't kind sort type"))
_POSSESSION = re.compile(
    r"\b(?:my|our|the) ((?:(?!(?:is|are|was|were|do|does|did|has|have|had|can|live|lives|work|works|like|likes|in"
    r"|on|at|of|for|from|to|with|i|we|that|who|again|now)\b)[\w-]+ ?){1,3})",
    re.IGNORECASE,
)
_ZH_POSSESSION = re.compile(r"我们?的([^的是在对有住叫姓哪什谁几多怎吗呢？?]{2,6})")
_WHO = re.compile(r"\bwho\b|谁", re.IGNORECASE)
_OWNER = re.compile(r"\b([\w-]+)['’]s\b(?! (?:the|my|our|a)\b)")
_NAME = re.compile(r"(?<=\s)(?!I\b|I['’])[A-Z][\w-]*")
_NO_OWNER = frozenset(
    [
        "what",
        "who",
        "where",
        "when",
        "how",
        "that",
        "it",
        "there",
        "here",
        "today",
        "yesterday",
        "tomorrow",
        "monday",
        "tuesday",
        "wednesday",
        "thursday",
        "friday",
        "saturday",
        "sunday",
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
    ]
)
_ZH_OF_MINE = re.compile(r"\A(?:请问|你知道|你记得|我们的|我们家的?|我家的?|我的|家里的?|我们|我)+")
_ZH_SUBJECT_END = re.compile(r"[的欠对在是住不喜讨吃喝几多哪什怎何有放停叫会过属谁啥我还从]|现在")
_MEANS = (
    (r"\ballerg", "allergic allergy allergies"),
    (
        r"\b(?:medicines?|medication|drugs?)\b|\b(?:can't|cannot|must not|mustn't|may not) (?:i|we) (?:eat"
        r"|have|take)\b",
        "allergic",
    ),
    (
        r"\bdislike|\b(?:don't|not) (?:i )?like\b|\bhate\b|\bavoid\b|\b(?:can't|cannot) (?:i|we) (?:eat|stand)\b",
        "don't dislike hate",
    ),
    (r"过敏|忌口|不能[吃用碰]", "过敏"),
    (r"不喜欢|讨厌|忌口|不爱", "不喜欢 讨厌 不吃"),
)
"""What people call by different words."""


def parse_query(text: str, today: date, said: str = "") -> EntryQuery:
    """Return the query of a text.

    Args:
        text: The question, or the part of it to search for.
        today: When it is asked.
        said: The whole question, which names its subject.
    """
    rest, days = extract_days(text, today)
    other = " ".join(words for pattern, words in _MEANS if said and re.search(pattern, said, re.IGNORECASE))
    subject = _subject(said)
    is_chinese = language_of(said) == CHINESE
    if is_chinese:
        rest = _ZH_OF_MINE.sub("", rest)
    possessions = query_words(" ".join((_ZH_POSSESSION if is_chinese else _POSSESSION).findall(said)))
    return EntryQuery(
        f"{text} {other}" if other and subject else other or text,
        frozenset(query_words(rest)) - _NO_CONTENT,
        tuple(days),
        frozenset(query_words(text)) - _NO_CONTENT,
        subject,
        said,
        frozenset(word for word in words_of(other) if len(word) > 1) - {"don"}
        | ({"don"} if "don't" in other else frozenset()),
        frozenset(possessions) - _ATTRIBUTES - _NO_CONTENT,
        frozenset(possessions[-1:]),
        bool(subject) and not is_chinese,
    )


def _subject(said: str) -> frozenset[str]:
    """Return the words that name the subject of a question, if it names one."""
    if language_of(said) == CHINESE:
        named = _ZH_SUBJECT_END.split(_ZH_OF_MINE.sub("", said.strip()), maxsplit=1)[0]
        return frozenset(query_words(named)) - _ATTRIBUTES
    names = [*_OWNER.findall(said), *_NAME.findall(said)]
    return frozenset(words_of(" ".join(name for name in names if name.lower() not in _NO_OWNER)))


def entries_in(output: str, key: str) -> list[RecalledEntry]:
    """Return the entries in a memory tool's result under a key: each item of a list once."""
    found: dict[str, RecalledEntry] = {}
    for each in read_items(output, key):
        if "text" not in each:
            continue
        for text in _texts(str(each["text"]), is_entry="kind" in each):
            entry = RecalledEntry(
                text, str(each.get("path", "")), _day(each), _score(each), each.get("trusted") is not False
            )
            found.setdefault(text, entry)
    return list(found.values())


def lines(items: Iterable[str]) -> str:
    """Return texts as a list."""
    return "\n".join(f"- {item}" for item in items)


def with_places(items: Sequence[RecalledEntry], language: str) -> str:
    """Return entries as a list, each with its place and day."""
    return lines(f"{each.text}{_where(each, language)}" for each in items)


def _where(entry: RecalledEntry, language: str) -> str:
    facts = [entry.path, short_date(entry.day, language) if entry.day else ""]
    facts.append("" if entry.is_ours else reply("from_outside", language))
    known = [fact for fact in facts if fact]
    return reply("place", language, facts=reply("between", language).join(known)) if known else ""


def _texts(text: str, *, is_entry: bool) -> list[str]:
    items = [line.removeprefix("- ").strip() for line in text.splitlines() if line.startswith("- ")]
    return items if items and not is_entry else [text.strip()]


def _day(item: dict[str, Any]) -> date | None:
    try:
        return date.fromisoformat(str(item.get("date")))
    except ValueError:
        return None


def _score(item: dict[str, Any]) -> float:
    score = item.get("score", 0)
    return float(score) if isinstance(score, (int, float)) else 0.0
