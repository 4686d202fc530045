"""Plain statements: what somebody says of themselves, of what is theirs and of people they know. Pure functions.

A sentence is taken apart by word classes: who or what it is about (a possession, a name, the speaker), a verb of being,
having, liking or doing, and what is said. Moods, opinions and talk about the conversation are no statements.
"""

from __future__ import annotations

import re

from msgspec import Struct

from hub.memory.words import fold, words_of
from integrations.models.offline.hearing import ENDS, asks, plain as plainly
from integrations.models.offline.recognizer import CHINESE

SUBJECT_WORDS = 8
"""Words of an English sentence among which its verb is looked for."""


class PlainStatement(Struct, frozen=True):
    """A statement.

    Attributes:
        text: As it is kept.
        subject: The words that name what it is about; none for the speaker.
        about: The same, as it was said.
        is_change: Whether it says that something else held before.
        is_todo: Whether it is something to do.
        is_explicit: Whether it was asked to be kept.
        is_correction: Whether it says that what was said was wrong.
        is_name: Whether it tells how the speaker is called.
    """

    text: str
    subject: frozenset[str] = frozenset()
    about: str = ""
    is_change: bool = False
    is_todo: bool = False
    is_explicit: bool = False
    is_correction: bool = False
    is_name: bool = False


def statement_in(text: str, language: str) -> PlainStatement | None:
    """Return the statement that a sentence makes; None when it makes none that is worth keeping."""
    if is_question(text, language):
        return None
    return _chinese(text) if language == CHINESE else _english(text)


def is_question(text: str, language: str) -> bool:
    """Whether a sentence asks, by its end or, in Chinese, by its words."""
    return asks(text) or (language == CHINESE and _ZH_QUESTION.search(text.strip(ENDS)) is not None)


def subject_of(text: str, language: str) -> frozenset[str]:
    """Return the words that name what an entry is about."""
    found = statement_in(text.strip(ENDS), language)
    return found.subject if found is not None else frozenset()


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# --- English ---

_LEAD = re.compile(
    r"(?:(?:btw|by the way|fyi|just so you know|heads up|for your information|oh|hey|ok|okay|so|well|and|also|hmm|um"
    r"|(?P<change>no|nope|wait|actually|oops|sorry|correction)|(?P<explicit>note to self|memo to self))\b[\s,:.!-]*)*",
    re.IGNORECASE,
)
_CHANGE_LEAD = re.compile(r"\b(?:no|nope|wait|actually|oops|correction)\b", re.IGNORECASE)
_TAIL = re.compile(r"[\s,]*\b(?:btw|by the way|fyi|just so you know|please|thanks)\Z", re.IGNORECASE)
_CHANGES = re.compile(
    r"\b(?:now|no longer|any ?more|changed|moved|switched|swapped|new|instead|these days|from now on)\b", re.IGNORECASE
)
_MOVED = re.compile(
    r"(?:i|we)(?:'ve| have)? (?:moved|switched|changed|swapped|replaced) (?:to )?(?:the |my |our |a )?(?:new )?"
    r"(?P<what>[^,;]+?)[,;]? (?:and )?(?:now )?(?:it|he|she|they|that)(?:'s|'re| is| are)\b",
    re.IGNORECASE,
)
_TODO = re.compile(
    r"(?:i|we)(?:'ve| have)? (?:still |also |really )*(?:need to|have to|got to|gotta|ought to|should"
    r"|must) (?P<what>.+)",
    re.IGNORECASE,
)
_PUT = re.compile(
    r"(?:i|we)(?:'ve| have)? (?:put|left|parked|hid|stored|keep|kept|lent) (?:the |my |our )?(?P<what>[^,;]+?) "
    r"(?:in|on|under|at|to|behind|with|into|by|next|inside)\b.+",
    re.IGNORECASE,
)
_CALL_ME = re.compile(r"(?:you can |please )?call me [\w-]+(?: from now on)?", re.IGNORECASE)
_NO_SUBJECT = _words(
    """who what when where why how which whose is are was were do does did can could will would should shall may
    might has have had it that this these those there here you your yours he she they it's that's you're
    there's they're he's she's let let's please tell show set turn remind add take remove buy get make give
    forget remember nothing everything someone nobody if because but what's where's who's how's everyone all
    some"""
)
_BEING = _words("is are was were has have had isn't aren't wasn't can't cannot doesn't don't won't can will must never")
_DOING = _words(
    """lives live works work likes like loves love hates hate dislikes prefers prefer owes owe drinks drink eats
    eat comes come drives drive plays play moved moves speaks speak needs needs takes take goes go starts
    start opens open closes close ends end belongs wears wear weighs costs expires turns gives gets studies
    teaches runs sleeps keeps changed wants collects knows sticks sits hangs stays fits uses arrives leaves
    lent"""
)
_MINE = _words(
    """put keep kept left lent gave parked hid stored use wear own speak learn study sleep weigh collect support
    married moved take drive live work prefer like love hate dislike eat drink play owe can't cannot don't
    won't never have am was always usually only"""
)
_MOODS = _words(
    """tired hungry thirsty sad happy bored sick fine ok okay good great well back here home busy sorry sure ready
    done late lost confused cold hot angry annoyed glad afraid kidding joking going trying looking thinking
    wondering leaving coming just not so very really too a the still nervous excited worried awake asleep
    stuck off out in on about talking asking"""
)
_AM_KEPT = _words("allergic vegetarian vegan diabetic married single pregnant learning born left right intolerant")
_EMPTY = _words("question idea problem feeling point fun clue doubt moment minute")
_OPINION = _words(
    "nice great bad good funny awesome terrible cold hot lovely beautiful amazing wrong right true boring fun ok okay"
)
_KIN = _words(
    """mom mum mother dad father grandpa grandma grandfather grandmother granny grandad sister brother uncle aunt
    auntie cousin wife husband son daughter kids"""
)
_DETERMINERS = _words(
    "my our his her their the a an new now old only also currently actually always usually really just"
)


def _english(text: str) -> PlainStatement | None:
    lead = _LEAD.match(text)
    begin = lead.end() if lead is not None else 0
    said = _TAIL.sub("", text[begin:].strip(ENDS)).strip(ENDS)
    if lead is not None and lead["explicit"] is not None and said:
        return PlainStatement(said, is_explicit=True)
    is_correction = _CHANGE_LEAD.search(text[:begin]) is not None
    is_change = is_correction or _CHANGES.search(said) is not None
    words = [word.strip(",.!;:").replace("’", "'") for word in said.split()]
    low = [word.lower() for word in words]
    if _CALL_ME.fullmatch(said):
        return PlainStatement(said, is_name=True)
    if len(low) < 3 or low[0] in _NO_SUBJECT:
        return None
    if (moved := _MOVED.match(said)) is not None:
        return PlainStatement(said, _subject(moved["what"]), moved["what"], is_change=True)
    if (todo := _TODO.match(said)) is not None:
        return None if todo["what"].split()[0].lower() in {"know", "ask", "say", "see"} else _todo(todo["what"])
    if (put := _PUT.fullmatch(said)) is not None:
        return PlainStatement(said, _subject(put["what"]), put["what"], is_change, is_correction=is_correction)
    if low[0] in {"i", "i'm", "im", "we", "we're", "i've", "we've"}:
        return PlainStatement(said, is_change=is_change) if _is_of_mine(low) else None
    at = next((at for at in range(1, min(len(low), SUBJECT_WORDS)) if low[at] in _BEING or low[at] in _DOING), None)
    if at is None or at + 1 >= len(low):
        return None
    is_name = words[0][:1].isupper() and low[at] not in {"are", "were", "have"}
    is_ours = low[0] in {"my", "our", "his", "her", "their", "the"} or low[0] in _KIN or is_name
    if not is_ours and not {"me", "us", "my", "our"} & set(low[at:]):
        return None
    if set(low[at + 1 :]) <= _OPINION | {"so", "very", "really", "too", "pretty"}:
        return None
    return PlainStatement(
        said, _subject(" ".join(words[:at])), " ".join(words[:at]), is_change, is_correction=is_correction
    )


def _is_of_mine(low: list[str]) -> bool:
    """Whether what the speaker says of himself will still hold tomorrow."""
    rest = low[1:]
    if low[0] in {"i'm", "im", "we're"} or rest[:1] in (["am"], ["are"]):
        rest = rest[1:] if rest[:1] in (["am"], ["are"]) else rest
        return bool(rest) and (bool(_AM_KEPT & set(rest)) or rest[0] not in _MOODS or any(map(str.isdigit, rest[0])))
    return bool(rest) and rest[0] in _MINE and not _EMPTY & set(rest)


def _todo(what: str) -> PlainStatement:
    return PlainStatement(what.strip(ENDS), is_todo=True)


def _subject(text: str) -> frozenset[str]:
    return frozenset(words_of(" ".join(word for word in text.split() if word.lower() not in _DETERMINERS)))


# --- Chinese ---

_ZH_LEAD = re.compile(
    r"(?:(?:对了|顺便说一下|顺便提一下|顺便|说一下|另外|哦|嗯|啊|嘿|(?P<change>不对|不是的|错了|说错了"
    r"|记错了|其实))[,，、。!！ ]*)+"
)
_ZH_QUESTION = re.compile(r"[吗呢么]\Z|什么|谁|哪|几[点号个岁]|多少|多大|怎么|啥|为什么|是不是|有没有|能不能|可以|来着")
_ZH_CHANGE = re.compile(r"现在|改成|改为|换成|变成|换了|搬到|不再|新的|换地方|已经改|换.{1,8}了")
_ZH_MOVED = re.compile(
    r"(?P<what>[^,，]{1,10}?)(?:我|我们|被我)?(?:换地方|挪地方|换位置|挪|搬)了?[,，]|(?:我们?"
    r"|咱们)换(?:了)?(?P<other>[^,，]{1,10}?)了[,，]"
)
_ZH_TODO = re.compile(
    r"(?:我|我们)?(?P<when>(?:今天|明天|后天|今晚|明晚|今年|明年|这周|下周|周末|月底|这个月|下个月|早上"
    r"|下午|晚上)*)(?:我|我们)?(?:还|也|又)?"
    r"(?:要|得|必须|需要|应该)(?P<what>(?!是|不|命|求|钱|多|么).{2,})"
)
_ZH_PUT = re.compile(r"(?:我|我们)?把(?P<what>[^,，]{1,10}?)(?:放|藏|搁|存|挂|收|停|借).+")
_ZH_CALL_ME = re.compile(r"以后(?:就)?[叫喊]我[^,，]{1,8}|[叫喊]我[^,，]{1,6}就[行好]了?")
_ZH_MOOD = re.compile(
    r"(?:我|我们)?(?:今天)?(?:好|很|真|太|有点|非常)?(?:累|困|饿|渴|烦|开心|难过|无聊|忙|高兴|生气|冷|热"
    r"|烦躁|郁闷|紧张|想睡)[了啊呀]*"
)
_ZH_NOW = re.compile(r"现在|目前|已经")
_ZH_VERB = re.compile(
    r"(?:最|只|不|很|特别|也|都)*(?:喜欢|讨厌|爱|吃|喝|看|怕|(?<!备)用|穿|戴|坐)|对(?=.+过敏)|过敏|是|叫|姓|住"
    r"|放在|停在|[在有欠]|借给|把"
    r"|搬到|每[天周月年个]|身高|体重|改成|换成|改为|变成|上班|保修|保养"
)
_ZH_NO_SUBJECT = re.compile(
    r"应该|其实|不?是|[这那你您它他她]|今天|昨天|谢谢|哈|请|帮|把|给我|提醒|设|定个|\d+[分点个]"
    r"|[一二三四五六七八九十半]+[分点个小]|明天|后天|早上|晚上|今晚|大家|没有|没事"
)
_ZH_DETERMINERS = re.compile(r"我们的|我们家的?|我家的?|我的|我们|咱们|我|家里的?|新的|现在|目前|已经")


def _chinese(text: str) -> PlainStatement | None:
    lead = _ZH_LEAD.match(plainly(text))
    begin = lead.end() if lead is not None else 0
    said = text[begin:].strip(ENDS)
    plain = plainly(said).replace(" ", "")
    if len(plain) < 4 or _ZH_MOOD.fullmatch(plain):
        return None
    is_correction = lead is not None and lead["change"] is not None
    is_change = is_correction or _ZH_CHANGE.search(plain) is not None
    if _ZH_CALL_ME.fullmatch(plain):
        return PlainStatement(said, is_name=True)
    if (moved := _ZH_MOVED.match(plain)) is not None:
        what = moved["what"] or moved["other"]
        return PlainStatement(said, _zh_subject(what), what, is_change=True)
    if (todo := _ZH_TODO.fullmatch(plain)) is not None and ("我" in plain[:6] or todo["when"]):
        return PlainStatement(f"{todo['when']}{todo['what']}", is_todo=True)
    if (put := _ZH_PUT.fullmatch(plain)) is not None:
        about = _ZH_DETERMINERS.sub("", put["what"])
        return PlainStatement(said, _zh_subject(about), about, is_change, is_correction=is_correction)
    if _ZH_NO_SUBJECT.match(plain):
        return None
    bare = _ZH_NOW.sub("", plain)
    verb = _ZH_VERB.search(bare, 1)
    if verb is None or verb.end() >= len(bare) + (1 if verb[0] in {"过敏", "上班", "保修", "保养"} else 0):
        return None
    about = _ZH_DETERMINERS.sub("", bare[: verb.start()])
    return PlainStatement(said, _zh_subject(about), about, is_change, is_correction=is_correction)


def _zh_subject(text: str) -> frozenset[str]:
    return frozenset(fold(_ZH_DETERMINERS.sub("", text)).replace("的", ""))
