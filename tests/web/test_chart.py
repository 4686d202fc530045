"""The past of entities as a chart draws it: one axis of times, gaps, states of two words, and sparks."""

from __future__ import annotations

from web.entities.chart import JUST_BEFORE_S, LINES_LIMIT, SPARK_SLICES, PastOf, past_chart, spark_points


def past(name: str, unit: str, *states: tuple[float, str | None]) -> PastOf:
    return PastOf(name, unit, [{"time": time, "state": state} for time, state in states])


def test_a_value_holds_until_the_next_and_what_is_no_number_leaves_a_gap() -> None:
    power = past("Power", "W", (-50, "4"), (40, "8"), (60, "unavailable"), (80, "6"))

    chart = past_chart([power], 0, 100)

    assert chart is not None
    (line,) = chart.series
    assert chart.times == [0, 40, 60 - JUST_BEFORE_S, 60, 80, 100]
    assert (line.values, line.unit, line.words) == ([4.0, 8.0, 8.0, None, 6.0, 6.0], "W", [])


def test_several_lines_share_one_axis() -> None:
    pasts = [past("In", "°C", (0, "20"), (50, "21")), past("Damp", "%", (10, "50"))]

    chart = past_chart(pasts, 0, 100)

    assert chart is not None
    assert chart.times == [0, 10, 50, 100]
    assert [each.values for each in chart.series] == [[20.0, 20.0, 21.0, 21.0], [None, 50.0, 50.0, 50.0]]


def test_what_is_on_or_off_is_drawn_with_its_words() -> None:
    chart = past_chart([past("Lamp", "", (0, "off"), (50, "on"))], 0, 100)

    assert chart is not None
    assert (chart.series[0].values, chart.series[0].words) == ([0.0, 1.0, 1.0], ["off", "on"])


def test_no_more_lines_are_drawn_than_can_be_told_apart_and_words_are_none() -> None:
    many = [past(str(each), "", (0, str(each))) for each in range(9)]
    chart = past_chart(many, 0, 10)

    assert chart is not None
    assert len(chart.series) == LINES_LIMIT
    assert past_chart([past("Mode", "", (0, "eco"))], 0, 10) is None


def test_a_spark_is_between_nought_and_one_for_each_slice() -> None:
    points = past("Power", "W", (0, "2"), (50, "6"), (75, None)).points

    drawn = spark_points(points, 0, 100)

    assert len(drawn) == SPARK_SLICES
    assert (drawn[0], drawn[SPARK_SLICES // 2 + 1], drawn[-1]) == (0.0, 1.0, None)
    assert spark_points([], 0, 100) == []
