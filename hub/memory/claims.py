"""What sort of statement a note is: which thing of a row it is about, whether it is a reading or an occasion. Pure.

Two notes that differ in a number disagree only when they say it of one thing that has one such number at a time.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from hub.memory.words import STOP_WORDS, fold

_MANY = "invoices? bills? receipts? orders? tickets? notes? clients? customers? episodes? chapters? lessons? seasons? "
_MANY += "parts? pages? weeks? days? rooms? flats? apartments? units? houses? bus(?:es)? lines? trams? trains? seats? "
_MANY += "rows? tables? box(?:es)? shelf drawers? radiators? sensors? cameras? doors? windows? keys? versions? steps? "
_MANY += "class(?:es)? groups? teams? rounds? match(?:es)? games? volumes? issues? items? no nr tests? exams? modules? "
_MANY += "parcels? sessions? meetings? visits? buildings? blocks? lockers? garages? channels? ports? lamps? level phase"
_ROW = re.compile(rf"\b({_MANY.replace(' ', '|')})\b\.?\s*#?((?:\d+[-/.])*\d+)\b")
_HASH = re.compile(r"()#\s?(\d+)")
_NOUN = re.compile(
    r"\b([a-z]{3,})\s(\d{1,5})(?=\s*(?:[,;:.!?)](?!\d)|$)|\s(?:is|are|was|has|had|of|in|on|from|with)\b)"
)
_CODE = re.compile(r"(?<!\bis )(?<!\bcalled )\b([a-z]{1,6})-?(\d{1,5})\b")
_CJK_NUMBER = r"(\d+|[零一二三四五六七八九十百]+)"
_CJK_ROWS = (
    re.compile(rf"()第\s*{_CJK_NUMBER}"),
    re.compile(r"()(\d+)\s*(?=号|室|栋|幢|单元|路|班|集|章|课)"),
    re.compile(r"(发票|笔记|客户|订单|包裹|合同|房间|摄像头|钥匙|箱子|柜子|编号)\s*(\d+)"),
)
_NO_ROW = frozenset(
    """
    about around after before until till than over under between plus every each last next only now another costs cost
    weighs takes took pays paid owes needs need gets got eats ate drinks drank reads read keeps weight height size age
    rent fee code pin password number phone mobile extension speed turned scored per
    """.split()  # noqa: SIM905  as elsewhere
)

_FIXED_WORDS = (
    r"codes?|pin|password|passcode|wi-?fi|phone|mobile|birthday|address|rent|salary|pocket money|deposit|iban"
)
_FIXED_WORDS += r"|allowance|fee|insurance|anniversary|number|wedding"
_FIXED = re.compile(
    rf"\b(?:{_FIXED_WORDS}|daily|weekly|monthly|yearly|every|(?:a|per) (?:day|week|month|year))\b"
    r"|每|密码|生日|纪念日|电话|地址|房租|工资|押金|物业费|零花钱|号码"
)
_YEARLY = re.compile(r"\b(?:birthday|anniversary|born)\b|生日|纪念日|出生")
_MEASURED = re.compile(
    r"\b(?:weigh(?:s|ed)?|weight|temperature|fever|meter|reading|mileage|on the clock|pressure|blood sugar|pulse|steps"
    r"|humidity|tank|battery|balance|costs?|price|petrol|diesel|slept|tall|stock|exchange rate|years old)\b"
    r"|\d\s?(?:°|%|(?:kg|g|lbs?|degrees|kwh|km|bar|mbar|hpa|mmhg|bpm|m3)\b)"
    r"|体重|血压|血糖|心率|读数|[电水]表|燃气表|气温|温度|体温|湿度|油价|价格|余额|步数|身高|里程|压力|油箱|电量|股价|汇率|岁"
    r"|\d\s*(?:公斤|千克|斤|度|公里|步|巴)|[块元]一"
)
_SELDOM = re.compile(
    r"\b(?:serviced|repaired|installed|replaced|renewed|vaccinated|born|married|signed|inspected|swept)\b"
    r"|保养|维修|安装|更换|接种|出生|结婚|签"
)
_HAPPENED = re.compile(
    r"\b(?:was|were|had|did|didn['’]t|went|came|bought|paid|got|ate|drank|slept|ran|read|saw|met|made|took|gave|sent|left"
    r"|found|lost|won|spent|sold|rode|swam|drove|wrote|brought|forgot)\b"
    r"|(?<!\bis )(?<!\bare )(?<!\bbe )(?<!\bget )\b(?!(?:need|speed|seed|feed|breed|shed|indeed|hundred|kindred)\b)"
    r"[a-z]{2,}[a-z]ed\b"
    r"|(?<![换改变搬成到为])了(?!解)|过(?![敏期程滤夜年节])"
)
_WISH = re.compile(
    r"(?:need|needs|buy|get|fetch|pick up|bring|order|lunch|dinner|breakfast|coffee|tea)\b(?! (?:is|are))"
    r"|(?:要|需要|记得)?买"
)
_TOLD = (
    re.compile(
        r"(.+? (?:(?:is|are) (?:called|named)|lives? in|works? (?:at|for)|goes to school at|studies at|belongs to))"
        r" (.+)"
    ),
    re.compile(rf"(.*\b(?:{_FIXED_WORDS})\b[^:]*?(?: is| are|:)) (.+)"),
    re.compile(r"([^，。]{1,16}?(?:叫|住在|电话是|号码是|密码是|生日是|地址是|医生是|老师是))([^我你他她了]{1,24})"),
)
_IS_NAMED = re.compile(r"(.+?) (?:is|:) ((?:(?:Dr|Mr|Mrs|Ms|Prof)\b\.? )?[A-Z][\w-]+)")
_TELLING = re.compile(r"[^\W_]+(?:[.,:/-]\d+)*")


@dataclass(frozen=True, slots=True)
class Claim:
    """What sort of statement a note is.

    Attributes:
        rows: Which things of a row it is about: (invoice, 12), (第, 六).
        told: What it says something of that has one value at a time, and the words of that value; None otherwise.
        is_fixed: Whether it is of what changes seldom: a code, a birthday, a rent, so much a day.
        is_yearly: Whether its day comes back each year.
        is_reading: Whether its number is read off something that changes by itself.
        is_seldom: Whether it tells of what happens seldom.
        is_occasion: Whether it tells of what happened or was wanted once, and may again.
    """

    rows: frozenset[tuple[str, str]]
    told: tuple[frozenset[str], frozenset[str]] | None
    is_fixed: bool
    is_yearly: bool
    is_reading: bool
    is_seldom: bool
    is_occasion: bool


def claim_of(text: str, rest: str) -> Claim:
    """Return what sort of statement a text is.

    Args:
        text: The text.
        rest: The same, folded, without its dates and weekdays.
    """
    plain = fold(" ".join(text.split())).rstrip(".!。！ ")
    told = _told(text, plain)
    is_fixed = told is not None or _FIXED.search(plain) is not None
    is_occasion = (_HAPPENED.search(plain) or _WISH.match(plain)) is not None
    return Claim(
        frozenset(_rows_in(rest)) if told is None else frozenset(),
        told,
        is_fixed,
        _YEARLY.search(plain) is not None,
        not is_fixed and _MEASURED.search(plain) is not None,
        _SELDOM.search(plain) is not None,
        is_occasion and not is_fixed,
    )


def of_other_things(mine: Claim, theirs: Claim) -> bool:
    """Whether two notes are about different things of one row: invoice 12 and invoice 13."""
    return any(
        {number for other, number in mine.rows if other == word}
        != {number for other, number in theirs.rows if other == word}
        for word in {word for word, _ in mine.rows} & {word for word, _ in theirs.rows}
    )


def told_otherwise(mine: Claim, theirs: Claim) -> bool:
    """Whether two notes say of one thing that it has two values, of which it has one at a time."""
    if mine.told is None or theirs.told is None or mine.told[0] != theirs.told[0]:
        return False
    return bool(mine.told[1] - theirs.told[1] and theirs.told[1] - mine.told[1])


def _told(text: str, plain: str) -> tuple[frozenset[str], frozenset[str]] | None:
    for pattern in _TOLD:
        if match := pattern.fullmatch(plain):
            return _of(match[1]), _of(match[2])
    if match := _IS_NAMED.fullmatch(" ".join(text.split()).rstrip(".!")):
        return _of(fold(match[1])), _of(fold(match[2]))
    return None


def _of(part: str) -> frozenset[str]:
    return frozenset(_TELLING.findall(part)) - {"the", "is", "are", "on", "at"}


def _rows_in(rest: str) -> list[tuple[str, str]]:
    found = [
        (match[1].rstrip("s"), match[2]) for pattern in (_ROW, _HASH, *_CJK_ROWS) for match in pattern.finditer(rest)
    ]
    for match in _NOUN.finditer(rest):
        if match[1] not in STOP_WORDS | _NO_ROW and not match[1].endswith("ed"):
            found.append((match[1].rstrip("s"), match[2]))
    return [*found, *((match[1], match[2]) for match in _CODE.finditer(rest))]
