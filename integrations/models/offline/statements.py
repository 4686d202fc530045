"""Plain statements: people on themselves, their things and people they know. Pure functions.

A sentence is parsed by word classes: its subject (a possession, a name, the speaker), a verb of being,
having, liking or doing, and the rest. Moods, opinions and talk about the conversation are not statements.
"""

from __future__ import annotations

import re

from msgspec import Struct

from hub.memory.words import fold, words_of
from integrations.models.offline.hearing import ENDS, ends_as_question, plain as plainly
from integrations.models.offline.recognizer import CHINESE

PLACE = "place"
"""What sort of thing is said: where something is."""
SUBJECT_WORDS = 8
"""Words of an English sentence among which its verb is looked for."""


class PlainStatement(Struct, frozen=True):
    """A statement.

    Attributes:
        text: The text as it is kept.
        subject: The words that name its subject; none for the speaker.
        about: The same, as it was said.
        is_change: Whether it says that something else held before.
        is_todo: Whether it is something to do.
        is_explicit: Whether it was a request to remember.
        is_correction: Whether it says that an earlier statement was wrong.
        is_name: Whether it gives the speaker's name.
    verb: The class of its verb; none for a place or a change.
    """

    text: str
    subject: frozenset[str] = frozenset()
    about: str = ""
    is_change: bool = False
    is_todo: bool = False
    is_explicit: bool = False
    is_correction: bool = False
    is_name: bool = False
    verb: str = ""


def statement_in(text: str, language: str) -> PlainStatement | None:
    """Return the statement that a sentence makes; None when it makes none that is worth keeping."""
    if is_question(text, language):
        return None
    return _chinese(text) if language == CHINESE else _english(text)


def is_question(text: str, language: str) -> bool:
    """Whether a sentence asks, by its end or, in Chinese, by its words."""
    return ends_as_question(text) or (language == CHINESE and _ZH_QUESTION.search(text.strip(ENDS)) is not None)


def subject_of(text: str, language: str) -> frozenset[str]:
    """Return the words that name the subject of an entry."""
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
_CHANGE_LEAD = re.compile(r"\b(?:no|nope|wait|actually|oops|sorry|correction)\b", re.IGNORECASE)
_TAIL = re.compile(r"[\s,]*\b(?:btw|by the way|fyi|just so you know|please|thanks)\Z", re.IGNORECASE)
_CHANGES = re.compile(
    r"\b(?:now|no longer|any ?more|changed|moved|switched|swapped|new|instead|these days|from now on)\b", re.IGNORECASE
)
_MOVED = re.compile(
    r"(?:i|we)(?:'ve| have)? (?:moved|switched|changed|swapped|replaced) (?:to )?(?:the |my |our |a )?(?:new )?"
    r"(?P<what>[^,;]+?)[,;]? (?:and )?(?:now )?(?:it|he|she|they|that)(?:'s|'re| is| are)\b",
    re.IGNORECASE,
)
_CHANGED_TO = re.compile(
    r"(?:i|we|they|he|she|somebody|someone)(?:'ve| have| has)? (?:moved|switched|changed|swapped|updated|set|reset) "
    r"(?:the |my |our )?(?P<what>[^,;]+?) (?:in)?to .+",
    re.IGNORECASE,
)
_TODO = re.compile(
    r"(?:i|we)(?:'ve| have)? (?:still |also |really )*(?:need to|have to|got to|gotta|ought to|should"
    r"|must) (?P<what>.+)",
    re.IGNORECASE,
)
_PUT = re.compile(
    r"(?:i|we)(?:'ve| have)? (?P<verb>put|left|parked|hid|stored|keep|kept|lent|moved) "
    r"(?:the |my |our )?(?P<what>[^,;]+?) (?:in|on|under|at|to|behind|with|into|by|next|inside)\b.+",
    re.IGNORECASE,
)
_PLACES = _words("in on under at behind inside by above next beside near below parked stored kept hidden")
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
    lent went became has had borrowed wants cooks bakes swims sings calls trains"""
)
_VERB_CLASSES = {
    word: name
    for name, words in {
        "home": "lives live moved",
        "work": "works work",
        "like": "likes like loves love hates hate dislikes prefers prefer",
        "diet": "eats eat drinks drink takes take",
    }.items()
    for word in words.split()
}
_MINE = _words(
    """put keep kept left lent gave parked hid stored use wear own speak learn study sleep weigh collect support
    married moved grew suffer borrowed joined adopted take drive live work prefer like love hate dislike eat drink play
    owe can't cannot don't won't never have am always usually only"""
)
_HABIT = _words("every each usually always never daily weekly")
_MENTAL = _words("know think mind care understand remember believe see get mean feel want wanna suppose guess")
_MONTH = re.compile(
    r"\b(?:in|on|since|until|from|till)\b.*\b(?:january|february|march|april|may|june|july|august|september|october"
    r"|november|december|\d{4})\b"
)
_LITTLE = _words("bit little tad mess fool genius lot")
_MOODS = _words(
    """tired hungry thirsty sad happy bored sick fine ok okay good great well back here home busy sorry sure ready
    done late lost confused cold hot angry annoyed glad afraid kidding joking going trying looking thinking
    wondering leaving coming just not so very really too a the still nervous excited worried awake asleep
    stuck off out in on about talking asking"""
)
_AM_KEPT = _words("allergic vegetarian vegan diabetic married single pregnant learning born left right intolerant")
_EMPTY = _words("question idea problem feeling point fun clue doubt moment minute time headache cold")
_OPINION = _words(
    "nice great bad good funny awesome terrible cold hot lovely beautiful amazing wrong right true boring fun ok okay"
)
KIN = _words(
    """mom mum mother dad father grandpa grandma grandfather grandmother granny grandad sister brother uncle aunt
    auntie cousin wife husband son daughter kids nephew niece partner boyfriend girlfriend parents children
    boss neighbour neighbor colleague flatmate roommate"""
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
    if low[:1] == ["i'd"] and low[1:2] in (["rather"], ["prefer"]):
        return PlainStatement(said)
    if _CALL_ME.fullmatch(said):
        return PlainStatement(said, is_name=True)
    if len(low) < 3:
        return None
    if (moved := _MOVED.match(said) or _CHANGED_TO.fullmatch(said)) is not None and _subject(moved["what"]):
        return PlainStatement(said, _subject(moved["what"]), moved["what"], is_change=True)
    if low[0] in _NO_SUBJECT:
        return None
    if (todo := _TODO.match(said)) is not None:
        return None if todo["what"].split()[0].lower() in {"know", "ask", "say", "see"} else _todo(todo["what"])
    if (put := _PUT.fullmatch(said)) is not None:
        is_change = is_change or put["verb"].lower() not in {"lent", "keep", "kept"}  # a thing is in one place
        return PlainStatement(
            said, _subject(put["what"]), put["what"], is_change, is_correction=is_correction, verb=PLACE
        )
    if low[0] in {"i", "i'm", "im", "we", "we're", "i've", "we've"}:
        return PlainStatement(said, is_change=is_change) if _is_of_mine(low) else None
    at = next((at for at in range(1, min(len(low), SUBJECT_WORDS)) if low[at] in _BEING or low[at] in _DOING), None)
    if at is None and low[0] in {"my", "our"} and low[1] in KIN and low[2].endswith("s"):
        at = 2  # any verb, of somebody of the family
    if at is None or (at + 1 >= len(low) and low[1] not in KIN):
        return None
    is_name = words[0][:1].isupper() and low[at] not in {"are", "were", "have"}
    is_ours = low[0] in {"my", "our", "his", "her", "their", "the"} or low[0] in KIN or is_name
    if not is_ours and not {"me", "us", "my", "our"} & set(low[at:]) and not _recurs(low):
        return None
    if set(low[at + 1 :]) <= _OPINION | {"so", "very", "really", "too", "pretty"}:
        return None
    about = " ".join(words[:at])
    is_of_person = (is_name and low[0] not in _DETERMINERS) or bool(KIN & set(low[:at]))
    verb = _VERB_CLASSES.get(low[at], low[at]) if is_of_person else PLACE if low[at + 1] in _PLACES else ""
    return PlainStatement(said, _subject(about), about, is_change, is_correction=is_correction, verb=verb)


def _is_of_mine(low: list[str]) -> bool:
    """Whether what the speaker says of himself will still hold tomorrow."""
    rest = low[1:]
    if low[0] in {"i'm", "im", "we're"} or rest[:1] in (["am"], ["are"], ["was"], ["were"]):
        rest = rest[1:] if rest[:1] in (["am"], ["are"], ["was"], ["were"]) else rest
        if rest[:1] in (["a"], ["an"]):
            return not _LITTLE & set(rest[1:2])
        return bool(rest) and (bool(_AM_KEPT & set(rest)) or rest[0] not in _MOODS or any(map(str.isdigit, rest[0])))
    if not rest or _EMPTY & set(rest) or (rest[0] in {"don't", "can't", "cannot"} and _MENTAL & set(rest[1:2])):
        return False
    if rest[0].endswith("ed") and _MONTH.search(" ".join(rest)):
        return True
    return rest[0] in _MINE or _recurs(low) or (rest[0] in {"got", "have"} and rest[1:2] in (["a"], ["an"]))


def _recurs(low: list[str]) -> bool:
    """Whether a sentence says of something that it happens again and again."""
    return bool(_HABIT & set(low)) or any(f"{day}days" in low for day in ("mon", "tues", "wednes", "thurs", "fri"))


def _todo(what: str) -> PlainStatement:
    return PlainStatement(what.strip(ENDS), is_todo=True)


def _subject(text: str) -> frozenset[str]:
    return frozenset(words_of(" ".join(word for word in text.split() if word.lower() not in _DETERMINERS)))


# --- Chinese ---

_ZH_LEAD = re.compile(
    r"(?:(?:对了|顺便说一下|顺便提一下|顺便|说一下|另外|哦|嗯|啊|嘿|(?P<explicit>备忘(?=[:：]))|(?P<change>不对|不是的|错了|说错了"
    r"|记错了|其实))[,，、。:：!！ ]*)+"
)
_ZH_QUESTION = re.compile(r"[吗呢么]\Z|什么|谁|哪|几[点号个岁]|多少|多大|怎么|啥|为什么|是不是|有没有|能不能|可以|来着")
_ZH_CHANGE = re.compile(
    r"现在|改成|改为|换成|变成|换了|搬到|不再|新的|我们?的?新|换地方|已经改|换.{1,8}了|[挪移搬]|不[在是].+了[,，]"
)
_ZH_IF = re.compile(
    r"要是|如果|假如|假设|假使|倘若|万一|我.{0,5}(?:想|觉得|认为|以为|知道|明白|记得)|我[有在][个点些件]*(?:问题|疑问|想法|主意|空|路上|忙|外面)|(?:我|真)*(?:希望|但愿|巴不得)|也许|可能|说不定"
)
_ZH_MOVED = re.compile(
    r"(?P<what>[^,，]{1,10}?)(?:我|我们|被我)?(?:换地方|挪地方|换位置|挪|搬|换|变|改)了?[,，]|(?:我们?"
    r"|咱们)换(?:了)?(?P<other>[^,，]{1,10}?)了[,，]"
)
_ZH_TODO = re.compile(
    r"(?:我|我们)?(?P<when>(?:今天|明天|后天|今晚|明晚|今年|明年|这周|下周|周末|月底|这个月|下个月|早上"
    r"|下午|晚上)*)(?:我|我们)?(?:还|也|又)?"
    r"(?:要|得|必须|需要|应该)(?P<what>(?!是|不|命|求|钱|多|么).{2,})"
)
_ZH_PUT = re.compile(r"(?:我|我们)?把(?P<what>[^,，]{1,10}?)(?:放|藏|搁|存|挂|收|停|借|挪|移|搬|留|换).+")
_ZH_CALL_ME = re.compile(r"以后(?:就)?[叫喊]我[^,，]{1,8}|[叫喊]我[^,，]{1,6}就[行好]了?")
_ZH_MOOD = re.compile(
    r"(?:我|我们)?(?:今天)?(?:好|很|真|太|有点|非常)?(?:累|困|饿|渴|烦|开心|难过|无聊|忙|高兴|生气|冷|热"
    r"|烦躁|郁闷|紧张|想睡)[了啊呀]*"
)
_ZH_NOW = re.compile(r"现在|目前|已经")
_ZH_VERB = re.compile(
    r"(?:最|只|不|很|特别|也|都|开始|要|得)*(?:(?P<like>喜欢|讨厌|爱|怕)|(?P<diet>吃|喝|打(?=.+[素针药]))"
    r"|看|(?<!备)用|穿|戴|坐|练|学|会(?=[说弹游开做写下打唱跳修]))"
    r"|(?P<allergy>对(?=.+过敏)|过敏|不耐受)|是|叫|姓|(?P<home>住|搬到|搬去)"
    r"|(?P<work>在(?=.+(?:上班|工作|上学|大学)))|(?P<place>放在|停在|挂在|在)|[有欠养]|借给|借了|把|留了|生了|跟(?=.+[学借住])"
    r"|每[天周月年个]|一个?[天周月年](?=.*[\d一二三四五六七八九十百千万])|身高|体重|改成|换成|改为|变成|上班|保修|保养|到期|过期|长大"
)
_ZH_AT_END = frozenset({"过敏", "不耐受", "上班", "保修", "保养", "到期", "过期", "长大"})
_ZH_RELATIVE = re.compile(
    r"(?:我们?家?的?(?P<who>爸爸?|妈妈?|老公|老婆|先生|太太|爱人|儿子|女儿|孩子们?|哥哥?|弟弟?|姐姐?|妹妹?|爷爷|奶奶"
    r"|外公|外婆|姥姥|姥爷|公公|婆婆|岳父|岳母|侄子|侄女|外甥女?|叔叔|阿姨|舅舅|姑姑|[表堂][哥姐弟妹]|同事|邻居|老板"
    r"|领导|室友|男朋友|女朋友)(?!.{0,2}(?:正|在等|来了|到了|走了|回来)).{3,})"
)
_ZH_ONCE = re.compile(
    r"(?:[去今前]年|[上这]个?(?:月|周|星期)|[\d一二三四五六七八九十]+月(?:[\d一二三四五六七八九十]+[号日])?).*了.+"
)
ZH_KIN = frozenset("爸妈父母哥弟姐妹爷奶公婆叔伯姑姨舅儿女老表堂同事")
"""Characters by which people are called beside their names."""
_ZH_NO_SUBJECT = re.compile(
    r"应该|其实|不?是|[这那你您它他她]|今天|昨天|谢谢|哈|请|帮|把|给我|提醒|设|定个|\d+[分点个]"
    r"|[一二三四五六七八九十半]+[分点个小]|明天|后天|早上|晚上|今晚|大家|没有|没事"
)
_ZH_DETERMINERS = re.compile(r"我们?的新|我们的|我们家的?|我家的?|我的|我们|咱们|我|家里的?|新的|现在|目前|已经")


def _chinese(text: str) -> PlainStatement | None:
    lead = _ZH_LEAD.match(plainly(text))
    begin = lead.end() if lead is not None else 0
    said = text[begin:].strip(ENDS)
    plain = plainly(said).replace(" ", "")
    if lead is not None and lead["explicit"] is not None and said:
        return PlainStatement(said, is_explicit=True)
    if len(plain) < 4 or _ZH_MOOD.fullmatch(plain) or _ZH_IF.match(plain):
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
        is_change = is_change or "借" not in plain
        return PlainStatement(said, _zh_subject(about), about, is_change, is_correction=is_correction, verb=PLACE)
    if _ZH_NO_SUBJECT.match(plain):
        return None
    bare = _ZH_NOW.sub("", plain)
    verb = _ZH_VERB.search(bare, 0 if bare.startswith("每") else 1)
    if verb is None or verb.end() >= len(bare) + (1 if verb[0] in _ZH_AT_END else 0):
        if (of_us := _ZH_RELATIVE.fullmatch(bare)) is not None:
            return PlainStatement(said, _zh_subject(of_us["who"]), of_us["who"], is_change)
        return PlainStatement(said) if _ZH_ONCE.fullmatch(plain) is not None else None
    about = _ZH_DETERMINERS.sub("", bare[: verb.start()]).removesuffix("不")
    return PlainStatement(
        said, _zh_subject(about), about, is_change, is_correction=is_correction, verb=verb.lastgroup or ""
    )


def _zh_subject(text: str) -> frozenset[str]:
    return frozenset(fold(_ZH_DETERMINERS.sub("", text)).replace("的", ""))
