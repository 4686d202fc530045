"""Lists kept in memory, an entry for each item: adding, removing and reading. Pure functions."""

from __future__ import annotations

import re
from collections.abc import Sequence

from hub.memory.lists import item_of, item_text
from hub.memory.words import fold, words_of
from integrations.models.offline.entries import RecalledEntry, entries_in, lines
from integrations.models.offline.hearing import ENDS, plain
from integrations.models.offline.recognizer import CHINESE, ENGLISH, RecognizedIntent
from integrations.models.offline.replies import reply
from integrations.models.offline.steps import Call, Say, Step, StepResult, read_items, read_json

ITEMS_LIMIT = 10
"""Items of one sentence."""
LIST_LIMIT = 50
LISTS_LIMIT = 100
LOOK, CALL = "get_state", "call_service"
KEPT_BY, MEMORY = "kept_by", "memory"
"""The attribute of a list by which memory's own are known."""

_THE_LIST = r"(?:my|our|the) (?:(?P<list>(?!to-?do|to do|task)[\w'-]+(?: (?!list\b)[\w'-]+)?) )?list"
_ZH_LIST = r"(?:我的|我们的)?(?P<list>购物|买菜|采购|行李|打包|礼物|出行)?(?:清单|单子)(?:里面|里|上面|上|中)?"
_PATTERNS: dict[str, tuple[tuple[str, re.Pattern[str]], ...]] = {
    language: tuple((name, re.compile(pattern, re.IGNORECASE)) for name, pattern in patterns)
    for language, patterns in {
        ENGLISH: (
            (
                "ListAdd",
                rf"(?P<items>.+?),? (?:so )?(?:add|put|write) (?:it|that|them|this) (?:to|on|onto) {_THE_LIST}",
            ),
            ("ListAdd", rf"(?:add|put|write|stick|throw) (?P<items>.+?) (?:to|on|onto) {_THE_LIST}"),
            ("ListAdd", rf"(?:i|we) (?:also )?(?:need|want) (?P<items>.+?) on {_THE_LIST}(?: too| as well)?(?:,.*)?"),
            ("ListAdd", r"(?:my |our |the )?(?P<list>(?!to-?do|task)[\w-]+) list ?: ?(?P<items>.+)"),
            (
                "ListOff",
                rf"(?:take|remove|delete|cross|strike|drop|scratch|tick|check)(?: off)? (?P<items>.+?)"
                rf" (?:off|from|off of|on|in) {_THE_LIST}",
            ),
            ("ListOff", rf"(?:complete|finish) (?P<items>.+?) (?:on|in|from) {_THE_LIST}"),
            ("ListOff", rf"mark (?P<items>.+?) as (?:done|completed?|bought|finished) (?:on|in) {_THE_LIST}"),
            (
                "ListShow",
                rf"(?:what's|what is|whats|what else is|show me|read me|show|read|tell me)(?: left)?(?: what's)?"
                rf"(?: on| in)? {_THE_LIST}(?: now)?",
            ),
            ("ListShow", r"what (?:else )?do (?:i|we) (?:still )?(?:need|have) to (?:buy|get|shop for)"),
        ),
        CHINESE: (
            (
                "ListAdd",
                rf"(?:我们?)?没(?:有)?(?P<items>[^,]+?)了,(?:请)?(?:加|记|写|放|添)(?:到|进|在)?{_ZH_LIST}",
            ),
            (
                "ListAdd",
                rf"(?P<items>[^,]+?)(?:用完了|没有了|没了|不够了|快没了)?,(?:请)?(?:加|记|写|放|添)(?:到|进"
                rf"|在)?{_ZH_LIST}",
            ),
            ("ListAdd", rf"(?:把)?(?P<items>.+?)(?:加入|添加到|加到|加进|放进|放到|写到|写进|记到){_ZH_LIST}"),
            (
                "ListAdd",
                rf"(?:在|往|给)?{_ZH_LIST}(?:再|还)?(?:要)?(?:加上|加入|添加|添上|记上|写上|放上|加|添)(?:上)?(?P<items>.+)",
            ),
            ("ListAdd", rf"{_ZH_LIST}:(?P<items>.+)"),
            ("ListOff", rf"(?:把)?(?P<items>.+?)从{_ZH_LIST}(?:去掉|删掉|划掉|拿掉|移除|删除|拿走|删了|划了)"),
            ("ListOff", rf"(?:从)?{_ZH_LIST}(?:去掉|删掉|划掉|拿掉|移除|删除)(?P<items>.+)"),
            ("ListShow", rf"{_ZH_LIST}(?:现在)?(?:都|还)?(?:有|剩|是)(?:些)?(?:什么|啥|哪些)(?:东西)?"),
            (
                "ListShow",
                rf"(?:看一下|看看|查看|念一下|念念|读一下|列出|显示|告诉我){_ZH_LIST}(?:(?:都)?有(?:什么|啥|哪些))?",
            ),
            ("ListShow", r"(?:我们?)?(?:还)?(?:要|需要|得|该)买(?:些)?(?:什么|啥)(?:东西)?"),
        ),
    }.items()
}
_SPLITS = {
    ENGLISH: re.compile(r"\s*(?:,|;|&|\band\b)\s*", re.IGNORECASE),
    CHINESE: re.compile(r"[、,;和跟与]|还有|以及"),
}
_BEFORE_ITEMS = {
    ENGLISH: re.compile(
        r"(?:(?:we|i)(?:'re| are|'ve| have)?(?: all)? (?:need|want|out of|running out of|low on|no more"
        r"|run out of) |buy |get )",
        re.IGNORECASE,
    ),
    CHINESE: re.compile(r"(?:我们?)?(?:需要|要买|买|没有|没|再)"),
}
_LITTLE = {
    ENGLISH: re.compile(r"(?:a|an|some|the|more|another) ", re.IGNORECASE),
    CHINESE: re.compile(r"一(?:个|些|点|瓶|盒|包|袋)"),
}
_ASIDES = re.compile(
    r"\A(?:(?:please|can you|could you|would you|hey|ok|and|also)\b[\s,]*)+|[\s,]*\b(?:please|thanks"
    r"|thank you)\Z|\A(?:请|帮我|麻烦|你)+|来着\Z",
    re.IGNORECASE,
)
_USUAL = {ENGLISH: "shopping", CHINESE: "购物"}
_LIST_WORD = re.compile(r"\b(?:my|our|the|lists?)\b|清单|列表|单子", re.IGNORECASE)
_OURS = re.compile(r"\bour (?:[\w-]+ )?list\b|我们的\w{0,3}(?:清单|单子)", re.IGNORECASE)
_SAME = {
    "买菜": "购物",
    "采购": "购物",
    "打包": "行李",
    "grocery": "shopping",
    "groceries": "shopping",
    "buying": "shopping",
}


def about_a_list(text: str, language: str) -> RecognizedIntent | None:
    """Return the list request in a sentence; None if it is not about one."""
    said = _ASIDES.sub("", plain(text).strip(ENDS)).strip(ENDS)
    for name, pattern in _PATTERNS[language]:
        if (match := pattern.fullmatch(said if language == ENGLISH else said.replace(" ", ""))) is not None:
            found = match.groupdict()
            which = (found.get("list") or _USUAL[language]).lower()
            slots = {"list": _SAME.get(which, which)}
            if name == "ListAdd" and _OURS.search(said):
                slots["shared"] = "yes"
            if found.get("items"):
                slots["items"] = "\n".join(_items(found["items"], language))
            return RecognizedIntent(name, language, slots)
    return None


def keep_list(
    intent: RecognizedIntent, results: Sequence[StepResult], language: str, *, has_home: bool = False
) -> Step:
    """Add items to a list, remove them, or read the list.

    Args:
        has_home: Whether lists of the home may be looked at and written: one of that name is meant before memory's.
    """
    if has_home:
        if not results:
            return Call(LOOK, {"domain": "todo", "limit": LISTS_LIMIT})
        entity_id = _list_of_home(results[0].output, intent.slots["list"])
        if entity_id is not None:
            return _in_home(intent, results[1:], language, entity_id)
        results = results[1:]
    match intent.name:
        case "ListAdd":
            return _add(intent, results, language)
        case "ListOff":
            return _take_off(intent, results, language)
    if not results:
        return _look(intent.slots["list"])
    return _read([item for _, item in _on(results[0].output, intent.slots["list"])], intent, language)


def _read(items: Sequence[str], intent: RecognizedIntent, language: str) -> Say:
    which = intent.slots["list"]
    if not items:
        return Say(reply("list_empty", language, list=which))
    return Say(reply("list", language, list=which, lines=lines(items)))


def _list_of_home(output: str, which: str) -> str | None:
    """Return the entity of a list that somebody else keeps, such as a Home Assistant; None if there is none."""
    meant = set(_USUAL.values()) if which in _USUAL.values() else {which}
    for each in read_items(output, "states"):
        attributes, name = each.get("attributes"), str(each.get("name") or "")
        is_memory = isinstance(attributes, dict) and attributes.get(KEPT_BY) == MEMORY
        if not is_memory and _LIST_WORD.sub("", name).strip().lower() in meant:
            return str(each.get("entity_id"))
    return None


def _in_home(intent: RecognizedIntent, results: Sequence[StepResult], language: str, entity_id: str) -> Step:
    which, items = intent.slots["list"], intent.slots.get("items", "").split("\n")
    if intent.name == "ListAdd":
        if len(results) < len(items):
            return _todo("add_item", entity_id, item=items[len(results)])
        return Say(reply("list_added", language, list=which, lines=lines(items)))
    if intent.name == "ListOff":
        if not results:
            return _todo("remove_item", entity_id, item=items)
        return Say(reply("list_taken", language, list=which, lines=lines(items)))
    if not results:
        return _todo("get_items", entity_id, status=["needs_action"])
    of_list = read_json(results[0].output).get(entity_id)
    told = of_list.get("items") if isinstance(of_list, dict) else None
    return _read([str(each.get("summary")) for each in told or () if isinstance(each, dict)], intent, language)


def _todo(service: str, entity_id: str, **data: object) -> Call:
    return Call(CALL, {"domain": "todo", "service": service, "data": {"entity_id": entity_id, **data}})


def _add(intent: RecognizedIntent, results: Sequence[StepResult], language: str) -> Step:
    items, which = intent.slots["items"].split("\n"), intent.slots["list"]
    if len(results) < len(items):
        shared = {"shared": True} if "shared" in intent.slots else {}
        return Call("remember", {"text": item_text(which, items[len(results)]), "kind": "todo", **shared})
    return Say(reply("list_added", language, list=which, lines=lines(items)))


def _take_off(intent: RecognizedIntent, results: Sequence[StepResult], language: str) -> Step:
    items, which = intent.slots["items"].split("\n"), intent.slots["list"]
    if not results:
        return _look(which)
    found = [(told, item) for told, item in _on(results[0].output, which) if any(_same(item, each) for each in items)]
    if not found:
        return Say(reply("list_lacks", language, list=which, text=", ".join(items)))
    gone = len(results) - 1
    if gone < len(found):
        return Call("forget", {"query": found[gone][0].text})
    return Say(reply("list_taken", language, list=which, lines=lines(item for _, item in found)))


def _look(which: str) -> Call:
    return Call("memory_search", {"query": item_text(which, "").strip(" :："), "kind": "todo", "limit": LIST_LIMIT})


def _on(output: str, which: str) -> list[tuple[RecalledEntry, str]]:
    """Return the entries of a list with their items."""
    found = [(each, item_of(each.text)) for each in entries_in(output, "hits")]
    return [(each, item[1]) for each, item in found if item is not None and item[0] == which]


def _items(text: str, language: str) -> list[str]:
    bare = _BEFORE_ITEMS[language].sub("", text, count=1) if _BEFORE_ITEMS[language].match(text) else text
    parts = [_LITTLE[language].sub("", part.strip(ENDS), count=1) for part in _SPLITS[language].split(bare)]
    return [part for part in parts if part][:ITEMS_LIMIT] or [text]


def _same(item: str, other: str) -> bool:
    ours, theirs = set(words_of(item)) or {fold(item)}, set(words_of(other)) or {fold(other)}
    return ours <= theirs or theirs <= ours
