"""What sort of statement a note is: which thing of a row it is about, whether it is a reading or an occasion. Pure.

Two notes that differ in a number disagree only when they say it of one thing that has one such number at a time.
"""

from __future__ import annotations

from msgspec import Struct

from hub.memory.lazy_pattern import LazyPattern
from hub.memory.words import STOP_WORDS, fold

_MANY = "|".join(
    """
    invoices? bills? receipts? orders? tickets? notes? clients? customers? episodes? chapters? lessons? seasons?
    parts? pages? weeks? days? rooms? flats? apartments? units? houses? bus(?:es)? lines? trams? trains? seats?
    rows? tables? box(?:es)? shelf drawers? radiators? sensors? cameras? doors? windows? keys? versions? steps?
    class(?:es)? groups? teams? rounds? match(?:es)? games? volumes? issues? items? no nr tests? exams? modules?
    spaces? spots? parking slots? parcels? sessions? meetings? visits? buildings? blocks? lockers? garages?
    channels? ports? lamps? level phase contracts? claims? cases?
    """.split()  # noqa: SIM905  as elsewhere
)
_ROW = LazyPattern(rf"(?<!\bis )(?<!\bis in )(?<!\bis on )\b({_MANY})\b\.?\s*#?((?:\d+[-/.])*\d+)\b")
_NUMBERED = LazyPattern(rf"\b({_MANY})\b(?:\s\w+){{0,3}}?\s(?:number|no|nr)\b\.?\s?(\d+)")
_HASH = LazyPattern(r"()#\s?(\d+)")
_NOUN = LazyPattern(
    r"\b([a-z]{3,})\s(\d{1,5})(?=\s*(?:[,;:.!?)](?!\d)|$)|\s(?:is|are|was|has|had|of|in|on|from|with)\b)"
)
_CODE = LazyPattern(r"(?<!\bis )(?<!\bcalled )\b([a-z]{1,6})-?(\d{1,5})\b")
_CJK_NUMBER = r"(\d+|[零一二三四五六七八九十百]+)"
_CJK_ROWS = (
    LazyPattern(rf"()第\s*{_CJK_NUMBER}"),
    LazyPattern(r"()(\d+)\s*(?=号|室|栋|幢|单元|路|班|集|章|课|的租客)"),
    LazyPattern(r"(发票|笔记|客户|订单|包裹|合同|房间|摄像头|钥匙|箱子|柜子|编号|单号)\s*(\d+)"),
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
_FIXED_WORDS += r"|allowance|fee|insurance|anniversary|number|wedding|size"
_FIXED = LazyPattern(
    rf"\b(?:{_FIXED_WORDS}|daily|weekly|monthly|yearly|every|(?:a|per) (?:day|week|month|year))\b"
    r"|每|密码|生日|纪念日|电话|地址|房租|工资|押金|物业费|零花钱|号码|[机账卡牌]号|车牌"
)
_YEARLY = LazyPattern(r"\b(?:birthday|anniversary|born)\b|生日|纪念日|出生")
_MEASURED = LazyPattern(
    r"\b(?:weigh(?:s|ed)?|weight|temperature|fever|meter|reading|mileage|odometer|on the clock|pressure|blood sugar"
    r"|pulse|steps|humidity|tank|battery|balance|costs?|price|petrol|diesel|slept|sleeps|tall|cm high|stock"
    r"|years old"
    r"|exchange rate)\b"
    r"|\d\s?(?:°|%|(?:kg|g|lbs?|degrees|kwh|km|bar|mbar|hpa|mmhg|bpm|m3)\b)"
    r"|体重|血压|血糖|心率|读数|[电水]表|燃气表|气温|温度|体温|湿度|油价|价格|余额|步数|身高|里程|压力|油箱|电量|股价|汇率|岁"
    r"|\d\s*(?:公斤|千克|斤|度|公里|步|巴)|[块元]一"
)
_HAS_VERB = LazyPattern(r"\b(?:is|are|am|has|have|weighs|reads|costs|do|does)\b|是|在|有|周|星期|礼拜")
_STATED = LazyPattern(
    r"\b(?:can|may|must|should|will|go|goes|comes?|opens?|closes?|starts?|begins?|ends?|takes?|gets?|leaves?|lives?"
    r"|works?|arrives|departs|lasts|holds|fits|owns|keeps?|eats|drinks|wants|runs|plays|meets|allows|expires|teaches"
    r"|pays|earns|uses|stands|hangs|stops|wakes)\b"
    r"|\b(?:is|are)\b.* at (?:\d{1,2}:\d\d|[01]?\d|2[0-4])\b(?![.,%°]|\s?(?:percent|degrees))"
    r"|[是在有来修去].*[点]|可以|能|应该|属于|[点].*[开关]"
)
_SELDOM = LazyPattern(
    r"\b(?:serviced|repaired|installed|replaced|renewed|vaccinated|born|married|signed|inspected|swept)\b"
    r"|保养|维修|安装|更换|接种|出生|结婚|签"
)
_HAPPENED = LazyPattern(
    r"\b(?:was|were|had|did|didn['’]t|went|came|bought|paid|got|ate|drank|slept|ran|read|saw|met|made|took|gave|sent"
    r"|left (?:the|for|at|home|a|his|her|my)"
    r"|found|lost|lent|swam|won|spent|sold|rode|drove|wrote|brought|forgot)\b"
    r"|(?<!\bis )(?<!\bare )(?<!\bbe )(?<!\bget )\b"
    r"(?!(?:need|bed|red|shed|speed|seed|feed|breed|indeed|hundred)\b)[a-z]{2,}ed\b"
    r"|(?<![换改变搬])(?<![换改变搬][成到为])了(?!解)|过(?![敏期程滤夜年节])|没(?!有)|睡得"
)
_ROUTINE = LazyPattern(
    r"(?:(?:[^\W\d_]+|my [^\W\d_]+) )?(?:went|bought|paid|took|ate|drank|watched|called|lent|met|walked|ran|slept"
    r"|cooked|cleaned|washed|watered|fed|visited|played|sent|swam|charged|drove|rode)\b"
    r"|(?:[^，。]*[^换改变搬成到为升学])?[去买付吃喝看走跑睡洗打]了"
)
_WISH = LazyPattern(
    r"(?:need|needs|buy|get|fetch|pick up|bring|order|lunch|dinner|breakfast|coffee|tea)\b(?! (?:is|are))"
    r"|(?:要|需要|记得)?买"
)
_TOLD = (
    LazyPattern(
        r"(.+? (?:(?:is|are) (?:called|named)|lives? in|works? (?:at|for)|goes to school at|studies at|belongs to))"
        r" (.+)"
    ),
    LazyPattern(rf"(.*\b(?:{_FIXED_WORDS})\b[^:]*?(?: is| are|:)) (.+)"),
    LazyPattern(
        r"([^，。]{1,16}?(?:叫|住在|电话是|号码是|[机账卡牌]号是|密码是|生日是|地址是|医生是|老师是|班主任是|房东是))([^我你他她了]{1,24})"
    ),
)
_TITLE = r"(?:Dr|Mr|Mrs|Ms|Prof)\b\.? "
_IS_NAMED = LazyPattern(rf"(.+?)(?: is|:) ({_TITLE}[A-Z][\w-]+|(?<=is )[A-Z][\w-]+)(?:,.*)?")
_TELLING = LazyPattern(r"[^\W_]+(?:[.,:/-]\d+)*")


class Claim(Struct, frozen=True):
    """What sort of statement a note is.

    Attributes:
        rows: Which things of a row it is about: (invoice, 12), (第, 六).
        told: What it says something of that has one value at a time, and the words of that value; None otherwise.
        is_fixed: Whether it is of what changes seldom: a code, a birthday, a rent, so much a day.
        has_verb: Whether it is a sentence; readings and sums are often noted without a verb.
        is_stated: Whether it says how things are as a rule; what is, and what there is, may be otherwise the next day.
        is_yearly: Whether its day comes back each year.
        is_reading: Whether its number is read off something that changes by itself.
        is_seldom: Whether it tells of what happens seldom.
        is_occasion: Whether it tells of what happened or was wanted once, and may again.
        is_routine: Whether it is something of a day, as people do it on others too, and does not last.
    """

    rows: frozenset[tuple[str, str]]
    told: tuple[frozenset[str], frozenset[str]] | None
    is_fixed: bool
    has_verb: bool
    is_stated: bool
    is_yearly: bool
    is_reading: bool
    is_seldom: bool
    is_occasion: bool
    is_routine: bool


def claim_of(text: str, rest: str) -> Claim:
    """Return what sort of statement a text is.

    Args:
        text: The text.
        rest: The same, folded, without its dates and weekdays.
    """
    plain = fold(" ".join(text.split())).rstrip(".!。！ ")
    told, of_what = _told(text, plain)
    is_fixed = told is not None or _FIXED.search(plain) is not None
    is_occasion = (_HAPPENED.search(plain) or _WISH.match(plain)) is not None
    return Claim(
        frozenset(_rows_in(rest if told is None else of_what)),
        told,
        is_fixed,
        is_fixed or (_HAS_VERB.search(plain) or _STATED.search(plain)) is not None,
        is_fixed or _STATED.search(plain) is not None,
        _YEARLY.search(plain) is not None,
        not is_fixed and _MEASURED.search(plain) is not None,
        _SELDOM.search(plain) is not None,
        is_occasion and not is_fixed,
        not is_fixed and _ROUTINE.match(plain) is not None,
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


def _told(text: str, plain: str) -> tuple[tuple[frozenset[str], frozenset[str]] | None, str]:
    for pattern in _TOLD:
        if match := pattern.fullmatch(plain):
            return (_of(match[1]), _of(match[2])), match[1]
    if match := _IS_NAMED.fullmatch(" ".join(text.split()).rstrip(".!")):
        of_what = fold(match[1])
        return (_of(of_what), _of(fold(match[2]))), of_what
    return None, plain


def _of(part: str) -> frozenset[str]:
    return frozenset(_TELLING.findall(part)) - {"the", "is", "are", "on", "at"}


def _rows_in(rest: str) -> list[tuple[str, str]]:
    found = [
        (match[1].rstrip("s"), match[2])
        for pattern in (_ROW, _NUMBERED, _HASH, *_CJK_ROWS)
        for match in pattern.finditer(rest)
    ]
    for match in _NOUN.finditer(rest):
        if match[1] not in STOP_WORDS | _NO_ROW and not match[1].endswith("ed"):
            found.append((match[1].rstrip("s"), match[2]))
    return [*found, *((match[1], match[2]) for match in _CODE.finditer(rest))]
