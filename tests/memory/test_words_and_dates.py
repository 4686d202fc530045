"""Words are found in their other forms, in two languages, and dates in any way they are written."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given, strategies as st

from hub.memory.dates import marks_in, marks_of_day, search_marks
from hub.memory.days_asked import extract_days
from hub.memory.words import places_of, query_words, search_words, stem, word_variants, words_of

TODAY = date(2026, 5, 13)  # a Wednesday


@pytest.mark.parametrize(
    "forms",
    [
        ("service", "services", "serviced", "servicing"),
        ("boiler", "boilers"),
        ("plan", "planned", "planning", "plans"),
        ("birthday", "birthdays"),
        ("party", "parties"),
        ("like", "liked", "likes", "liking"),
        ("call", "called", "calling"),
        ("class", "classes"),
        ("bus",),
        ("Café", "cafe", "CAFÉS"),
    ],
)
def test_the_forms_of_a_word_are_one(forms: tuple[str, ...]) -> None:
    assert len({tuple(words_of(form)) for form in forms}) == 1


@pytest.mark.parametrize(("one", "other"), [("wing", "wed"), ("busy", "bus"), ("glass", "glad")])
def test_different_words_stay_apart(one: str, other: str) -> None:
    assert stem(one) != stem(other)


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("when was the boiler serviced?", ["boiler", "servic"]),
        ("What's Anna's birthday?", ["anna", "birthdai"]),
        ("锅炉什么时候保养的?", ["锅炉", "保养"]),
        ("我家的 WiFi 密码是什么", ["家", "wifi", "密码"]),
        ("猫", ["猫"]),
        ("what do you know about me?", []),
    ],
)
def test_a_question_is_asked_by_its_telling_words(query: str, words: list[str]) -> None:
    assert query_words(query) == words


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("when was the boiler serviced?", ["boiler", "servic"]),
        ("妈妈升职了吗", ["妈妈", "妈升", "升职", "妈", "升", "职"]),
        ("我家有多少猫", ["家有", "猫"]),
        ("什么时候", []),
    ],
)
def test_chinese_is_searched_by_its_telling_characters_too(query: str, words: list[str]) -> None:
    assert search_words(query) == words


@pytest.mark.parametrize("text", ["What happened yesterday?", "昨天发生了什么？", "What happened on 12 May?"])
def test_asking_what_happened_names_nothing_but_the_day(text: str) -> None:
    rest, wanted = extract_days(text, TODAY)

    assert search_words(rest) == []
    assert len(wanted) == 1


@pytest.mark.parametrize(
    ("text", "mark"),
    [
        ("serviced on 12 May", "@05-12"),
        ("on the 12th of May", "@05-12"),
        ("May 12", "@05-12"),
        ("May 12th, 2026", "@2026-05-12"),
        ("2026-05-12", "@2026-05-12"),
        ("am 12.5.2026", "@2026-05-12"),
        ("5月12日", "@05-12"),
        ("2026年5月12号", "@2026-05-12"),
        ("2026/05/12", "@2026-05-12"),
        ("生日是五月十二日", "@05-12"),
        ("二〇二六年五月十二号", "@2026-05-12"),
    ],
)
def test_a_date_is_the_same_however_it_is_written(text: str, mark: str) -> None:
    assert mark in marks_in(text)
    assert "@05-12" in marks_in(text)
    assert any(mark in each for each in extract_days(text, TODAY)[1])


@pytest.mark.parametrize(
    "text", ["due in May 2027", "二〇二七 或 2027年5月", "MAY, 2027", "2027-05", "二〇二七年五月", "2027 年 5 月"]
)
def test_a_month_that_is_named_with_its_year_is_a_mark(text: str) -> None:
    assert marks_in(text) == ["@2027-05", "@05"]


@pytest.mark.parametrize("text", ["a birthday in May", "each May", "late may", "五月的账单", "5月份", "在 5 月"])
def test_a_month_without_a_year_is_a_mark_of_every_year(text: str) -> None:
    assert marks_in(text) == ["@05"]
    assert extract_days(text, TODAY)[1] == [frozenset(["@05"])]
    assert "@05" in marks_of_day(date(2024, 5, 31))


@pytest.mark.parametrize(
    "text", ["you may go", "May I?", "三个月", "五个月大", "13月", "march on", "每月一次", "二〇年"]
)
def test_what_only_sounds_like_a_month_is_none(text: str) -> None:
    assert marks_in(text) == []
    assert extract_days(text, TODAY)[1] == []


@pytest.mark.parametrize("text", ["2027-13", "2027年0月", "call 0421-555 in room 2027", "maybe 2027", "2027-05-99"])
def test_what_is_no_month_has_no_mark_of_one(text: str) -> None:
    assert not any(len(mark) == len("@2027-05") for mark in marks_in(text))


@pytest.mark.parametrize("text", ["31 February", "99 May", "2026-13-40", "version 1.2", "may 2", "12 Maybe", "0月0日"])
def test_what_is_no_date_raises_nothing(text: str) -> None:
    assert "@05-12" not in marks_in(text)


@pytest.mark.parametrize(
    ("query", "day"),
    [
        ("what did I do yesterday", "@2026-05-12"),
        ("昨天我说了什么", "@2026-05-12"),
        ("前天", "@2026-05-11"),
        ("today", "@2026-05-13"),
        ("on monday", "@2026-05-11"),
        ("what is there on monday", "@2026-05-18"),
        ("next monday", "@2026-05-18"),
        ("tomorrow", "@2026-05-14"),
        ("the day after tomorrow", "@2026-05-15"),
        ("last night", "@2026-05-12"),
        ("last weekend", "@2026-05-10"),
        ("next week", "@2026-05-24"),
        ("next month", "@2026-06"),
        ("last December", "@2025-12"),
        ("next January", "@2027-01"),
        ("twelve days ago", "@2026-05-01"),
        ("five months ago", "@2025-12"),
        ("two years ago", "@2024"),
        ("上周二", "@2026-05-05"),
        ("上周三", "@2026-05-06"),
        ("上个星期天", "@2026-05-10"),
        ("下周二", "@2026-05-19"),
        ("这周五", "@2026-05-15"),
        ("周五有什么安排", "@2026-05-15"),
        ("上周末", "@2026-05-09"),
        ("昨晚", "@2026-05-12"),
        ("明天", "@2026-05-14"),
        ("后天", "@2026-05-15"),
        ("十五天前", "@2026-04-28"),
        ("五个月前", "@2025-12"),
        ("明年", "@2027"),
        ("last wednesday", "@2026-05-06"),
        ("上周", "@2026-05-04"),
        ("周一", "@2026-05-11"),
        ("星期天", "@2026-05-10"),
        ("last month", "@2026-04"),
        ("去年", "@2025"),
        ("3 days ago", "@2026-05-10"),
        ("a week ago", "@2026-05-04"),
        ("三天前", "@2026-05-10"),
        ("两个星期前", "@2026-04-27"),
        ("what did we buy in March 2026", "@2026-03"),
        ("2026年3月买了什么", "@2026-03"),
        ("in 2026-03", "@2026-03"),
    ],
)
def test_days_are_asked_for_by_their_names(query: str, day: str) -> None:
    _, (wanted,) = extract_days(query, TODAY)

    assert day in wanted


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("01701234567", "Anna: 0170 123 45 67"),
        ("+49 170 1234567", "0170/1234567"),
        ("(0170) 123-4567", "+491701234567"),
        ("DE89370400440532013000", "IBAN DE89 3704 0044 0532 0130 00"),
        ("E1503", "error E-1503"),
        ("PTC-330", "the part PTC330"),
        ("WB 40117", "frame number WB40117"),
        ("圖書館", "图书馆"),
        ("什麼時候保養鍋爐", "锅炉保养"),
        ("🎂", "🎂 for Leo"),
        ("ＷＩＦＩ", "wifi密码"),
    ],
)
def test_a_thing_is_found_however_it_is_written(query: str, text: str) -> None:
    assert set(search_words(query)) & set(words_of(text))
    assert set(search_words(text)) & set(words_of(query))


@pytest.mark.parametrize("text", ["12 34", "in 2026 there were 12 to 14", "1, 2, 3, 4, 5, 6, 7, 8", "a1 b2"])
def test_short_numbers_stay_apart(text: str) -> None:
    assert word_variants(text) == []


def test_to_forget_a_number_its_words_are_to_be_there_as_they_stand() -> None:
    assert query_words("0170 1234567") == ["0170", "1234567"]


@pytest.mark.parametrize(
    ("query", "day"), [("上週二", "@2026-05-05"), ("兩個月前", "@2026-03"), ("五月十二號", "@05-12")]
)
def test_dates_are_read_in_traditional_characters_too(query: str, day: str) -> None:
    (wanted,) = extract_days(query, TODAY)[1]

    assert day in wanted


@pytest.mark.parametrize("query", ["what is there tomorrow", "on thursday", "下周四，或者这周四", "this week"])
def test_a_day_that_is_asked_for_is_also_what_was_named_without_a_year(query: str) -> None:
    wanted = frozenset[str]().union(*extract_days(query, TODAY)[1])

    assert wanted.intersection(search_marks("Anna's birthday is on 14 May"))
    assert wanted.intersection(search_marks("the dentist on 2026-05-14"))
    assert not wanted.intersection(marks_of_day(date(2025, 5, 14)))


def test_what_names_no_date_is_asked_as_it_was_written() -> None:
    assert extract_days("圖書館在哪裡", TODAY) == ("圖書館在哪裡", [])


def test_a_weekday_of_last_week_in_chinese_is_that_day_alone() -> None:
    assert extract_days("上周二做了什么", TODAY) == (" 做了什么", [frozenset(["@2026-05-05", "@--05-05"])])


@pytest.mark.parametrize("query", ["每周二", "两周一次", "上上周", "大前天", "twenty-two days ago", "on Tuesdays"])
def test_what_is_no_day_that_can_be_told_is_asked_by_its_words(query: str) -> None:
    assert extract_days(query, TODAY) == (query, [])


@given(st.text(max_size=200))
def test_any_text_has_words_and_dates(text: str) -> None:
    words = words_of(text)
    rest, wanted = extract_days(text, TODAY)

    assert len(rest) <= len(text) + len(wanted) + 20
    assert list(places_of(text, frozenset(words))) is not None
    assert isinstance(query_words(text), list)


@pytest.mark.parametrize(
    ("query", "rest", "marks"),
    [
        ("2026-02-31", "2026-02-31", []),
        ("31.2.2026", "31.2.2026", []),
        ("2026-13", "2026-13", []),
        ("13月45日", "13月45日", []),
        ("31 February 2026", "31", ["@2026-02"]),
        ("2026-02-31 or 2026-03-01", "2026-02-31 or", ["@2026-03-01"]),
    ],
)
def test_a_day_that_is_in_no_calendar_is_asked_for_by_its_words(query: str, rest: str, marks: list[str]) -> None:
    words, wanted = extract_days(query, TODAY)

    assert words.strip() == rest
    assert wanted == [frozenset([mark]) for mark in marks]
