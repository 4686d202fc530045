"""Search words of a text, folded to common forms: English stems, Chinese character pairs."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Container, Iterator
from functools import lru_cache

from hub.core.lazy_pattern import LazyPattern
from hub.memory.traditional import simplified

_CJK = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u3040-\u30ff\uac00-\ud7af"
# One pattern with so many characters in it, and that once: to build one takes milliseconds.
_RUN = re.compile(rf"([{_CJK}]+)")
_ASCII_WORD = LazyPattern(r"[a-z0-9]+(?:'[a-z]+)?")
SYMBOLS = "\u2600-\u27bf\U0001f300-\U0001faff"
"""Pictures that say something, as ranges of a regular expression."""
_WORD = re.compile(rf"[^\W_]+(?:['’][^\W\d_]+)?|[{SYMBOLS}]")
_LONG_NUMBER = LazyPattern(r"[0-9](?:[ ./()\u00a0-]{0,2}[0-9]){6,}")
_NOT_A_DIGIT = LazyPattern(r"[^0-9]")
TELLING_DIGITS = 7
"""By so many of its last digits a long number is found however it is grouped, with or without a prefix."""
_CODE = LazyPattern(r"(?<![^\W_])([a-z]{1,8})[ -]([0-9]{2,8})(?![^\W_])")

STOP_WORDS = frozenset(
    """
    a an the of to in on at for from by with and or but if as so than then is are was were be been being am do does did
    done have has had having i you he she it we they me my mine your yours him his her hers its our ours us them their
    this that these those what when where who whom whose which why how will would can could shall should may might must
    please tell know knows say said says show find there here about any anything something some all just also again
    remember recall remind forget memory note notes get got ever happen happens happened happening
    """.split()  # noqa: SIM905  ninety quoted words read worse
)
_CHINESE_ASIDES = re.compile(
    "的事情|的事|这件事|那件事|事情|请问|请|什么时候|什么|何时|哪里|哪儿|哪个|哪些|哪|谁|多少|怎么样|怎么|怎样|为什么|是不是|有没有|关于|告诉|记得|记住|忘记|忘掉|知道"
    "|一下|发生|吗|呢|吧|啊|的|了|过|是|在|我们|你们|他们|我|你|您|他|她|它|和|与|把|被|这|那|就|都|也|还"
)

_COMMON_CHARACTERS = frozenset(
    "一不个上下大小有人到去来能要会可以多少么么怎得着给从对很最更没为于中里后前天年月日时候间号家用做说看让给点次件第"
)
"""Characters that are in so many passages that one of them alone says nothing."""
KNOWN_STEMS = 8_192
"""Words whose stem is remembered: a language has some thousands that make up nearly all of a text."""


def fold(text: str) -> str:
    """Return text without case, width, accents, and traditional Chinese forms."""
    if text.isascii():
        return text.lower()
    plain = unicodedata.normalize("NFKD", text.casefold())
    # Looked at once for each character there is, not for each time it occurs: files are folded whole.
    marks = {ord(each): None for each in set(plain) if unicodedata.combining(each)}
    return simplified(unicodedata.normalize("NFC", plain.translate(marks) if marks else plain))


def count_cjk(text: str) -> int:
    """Return how many Chinese, Japanese and Korean characters there are."""
    return 0 if text.isascii() else sum(map(len, _RUN.findall(text)))


def words_of(text: str) -> list[str]:
    """Return the search words of a text: stems, and single characters and pairs of Chinese."""
    if text.isascii():
        plain = text.lower()
        return [*filter(None, map(_stem_of, _ASCII_WORD.findall(plain))), *word_variants(plain)]
    found: list[str] = []
    for part, is_run in _parts(text):
        if is_run:
            found.extend(part)
            found.extend(_pairs(part))
        else:
            found.extend(filter(None, map(_stem_of, _WORD.findall(part))))
            found.extend(word_variants(part))
    return found


def word_variants(folded: str) -> list[str]:
    """Return further search words of a text: the ends of long numbers, and codes (E-15) as one word."""
    found = []
    for match in _LONG_NUMBER.finditer(folded):
        found.append(_NOT_A_DIGIT.sub("", match[0])[-TELLING_DIGITS:])
    for match in _CODE.finditer(folded):
        if match[1] not in STOP_WORDS:
            found.append(f"{match[1]}{match[2]}")
    return found


def query_words(query: str) -> list[str]:
    """Return the words of a query, each once: without question words, Chinese in pairs where possible."""
    if query.isascii():
        return list(dict.fromkeys(filter(None, map(_stem_of, _WORD.findall(query.lower())))))
    found: list[str] = []
    for part, is_run in _parts(query):
        if is_run:
            for asked in _CHINESE_ASIDES.split(part):
                found.extend(_pairs(asked) if len(asked) > 1 else asked)
        else:
            found.extend(filter(None, map(_stem_of, _WORD.findall(part))))
    return list(dict.fromkeys(found))


def search_words(query: str) -> list[str]:
    """Return the words to search for, any of which may match: the query's words, codes as one word, the ends of
    long numbers, then single Chinese characters.

    A character finds what is said in another word (升职 and 升到); what many passages have weighs little in an engine.
    """
    folded = fold(query)
    parts = [part for run in _RUN.findall(folded) for part in _CHINESE_ASIDES.split(run)]
    characters = (each for part in parts for each in part if each not in _COMMON_CHARACTERS)
    return list(dict.fromkeys([*query_words(query), *word_variants(folded), *characters]))


def places_of(text: str, words: Container[str]) -> Iterator[tuple[int, str]]:
    """Yield the words found in `text`, each with its approximate position: folding may shift it slightly."""
    begin = 0
    for part, is_run in _parts(text):
        if is_run:
            yield from ((begin + at, pair) for at, pair in enumerate(_pairs(part)) if pair in words)
        else:
            found = ((begin + match.start(), _stem_of(match[0])) for match in _WORD.finditer(part))
            yield from (each for each in found if each[1] in words)
        begin += len(part)


def stem(word: str) -> str:
    """Return the light stem of an English word: a wrong stem costs more than a missed one."""
    if len(word) <= 3 or not word.isascii() or not word.isalpha():
        return word
    for suffix, instead in (("ies", "y"), ("sses", "ss"), ("ing", ""), ("edly", ""), ("ed", ""), ("es", ""), ("s", "")):
        if word.endswith(suffix) and len(word) - len(suffix) >= 3:
            if suffix == "s" and word.endswith(("ss", "us", "is")):
                break
            word = word.removesuffix(suffix) + instead
            break
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "aeiouls":
        word = word[:-1]
    if len(word) > 3 and word.endswith("e"):
        word = word[:-1]
    return f"{word[:-1]}i" if len(word) > 3 and word.endswith("y") else word


def _parts(text: str) -> Iterator[tuple[str, bool]]:
    """Yield folded text in parts, and whether each is a run of Chinese characters."""
    if text.isascii():
        yield text.lower(), False
        return
    for number, part in enumerate(_RUN.split(fold(text))):
        if part:
            yield part, number % 2 == 1


@lru_cache(maxsize=KNOWN_STEMS)
def _stem_of(piece: str) -> str:
    """Return the stem of a word in folded text; empty for a stop word."""
    word = _bare(piece)
    return "" if word in STOP_WORDS else stem(word)


def _bare(word: str) -> str:
    return word.replace("’", "'").partition("'")[0]


def _pairs(run: str) -> list[str]:
    return [run[at : at + 2] for at in range(len(run) - 1)]


SMALL_TALK = frozenset(
    query_words(
        "hi hello hey hiya howdy yo good morning afternoon evening night bye goodbye later soon welcome sorry thanks "
        "thank thx cheers ok okay k yes yeah yep yup no nope nah sure fine great nice cool perfect super wow lol haha "
        "hmm oh ah well right exactly really maybe stop wait go on continue more again next why test ping "
        "你好 您好 早上好 下午好 晚上好 晚安 早安 谢谢 多谢 感谢 好的 好 行 可以 没事 "
        "没有 不用 不客气 对 对的 嗯 哦 哈哈 再见 拜拜 继续"
    )
)
"""Words that name nothing: greetings and thanks need no recall and no note."""


def significant_words(text: str) -> list[str]:
    """Return the words of a text that name something, folded as in memory; none for small talk."""
    return [word for word in query_words(text) if word not in SMALL_TALK]
