"""Single dates against Python's own calendar."""

import datetime

import pytest

from glassleaf.tables import dates
from glassleaf.tables.dates import DatePart

START = datetime.datetime(1970, 1, 1)


@pytest.mark.parametrize("year", [1583, 1969, 1970, 2000, 2024, 2100, 2149])
def test_parts_are_those_of_the_calendar(year):
    stamp = datetime.datetime(year, 1, 1)
    while stamp.year == year:
        days = dates.days_in(stamp, "when", zoned=False)
        assert days == pytest.approx((stamp - START) / datetime.timedelta(days=1), abs=1e-9)
        found = [dates.part_of(days, part) for part in dates.PARTS[1:]]
        assert found == [f"{stamp:%b}", f"{stamp:%a}", stamp.hour]
        stamp += datetime.timedelta(days=3, hours=7)


@pytest.mark.parametrize("text", ["2016-03-01", "2016-03-01 00:00", "20160301T000000"])
def test_texts_are_read_as_iso_has_them(text):
    assert dates.days_in(text, "when", zoned=False) == 16861.0
    assert dates.date_text(16861.0) == "2016-03-01"


@pytest.mark.parametrize("text", ["2016-03-01T05:00Z", "2016-03-01 06:00+01:00",
                                  "2016-03-01T00:00:00-05:00"])  # fmt: skip
def test_a_time_zone_leads_to_utc(text):
    assert dates.days_in(text, "when", zoned=True) * 24 == pytest.approx(16861 * 24 + 5, abs=1e-7)
    with pytest.raises(ValueError, match="'when' held dates or stamps without one"):
        dates.days_in(text, "when", zoned=False)


@pytest.mark.parametrize("value", ["1.3.2016", "2016", "2016-02-30", "2016-W10-1", 16861, "soon"])
def test_what_is_no_date_is_an_error(value):
    with pytest.raises(ValueError, match=r"'when' holds dates.*2016-03-01"):
        dates.days_in(value, "when", zoned=False)


def test_borders_tell_the_values_on_their_sides_apart():
    for unit, width in dates.UNITS.items():
        for tick in (-1, 0, 1, 5):
            day = 16861 + tick * width / dates.MILLISECONDS
            after = 16861 + (tick + 1) * width / dates.MILLISECONDS
            for border in (day, (day + after) / 2):
                said = dates.days_in(dates.border_text(border, unit), "", zoned=False)
                meant = after if unit == "day" else day
                assert said == pytest.approx(meant, abs=1e-9)


def test_a_cell_without_a_time_of_day_is_the_whole_day():
    date = DatePart("when", "days", unit="day")
    assert dates.date_value("2016-03-01T23:59", date) == 16861.0
    assert dates.date_value(None, date) is None
