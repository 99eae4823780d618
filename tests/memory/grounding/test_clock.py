import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.memory.grounding.clock import clock_times


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("às 15h30", "15:30"),
        ("à 9 h 15", "09:15"),
        ("à 9 heures 15, si possible", "09:15"),
        ("saat 16.30'da", "16:30"),
        ("übermorgen um halb vier", "15:30"),
        ("um Viertel nach zwei", "14:15"),
        ("gegen 16 Uhr", "16:00"),
        ("half past three", "15:30"),
        ("quarter to four", "15:45"),
        ("a las 11 de la mañana", "11:00"),
        ("antes de las nueve y media", "09:30"),
        ("a las cinco menos cuarto", "16:45"),
        ("a las 5:30 de la tarde", "17:30"),
        ("até o meio-dia", "12:00"),
        ("в половине шестого", "17:30"),
        ("до 10 часов вечера", "22:00"),
        ("saat 9'dan önce", "09:00"),
        ("الساعة ٣ عصرًا", "15:00"),
        ("بعد السابعة مساءً", "19:00"),
        ("सुबह 10 बजे", "10:00"),
        ("रात साढ़े नौ बजे", "21:30"),
        ("下午3点", "15:00"),
        ("下午三点半", "15:30"),
        ("午後2時半", "14:30"),
        ("오후 3시 30분", "15:30"),
        ("저녁 7시 반", "19:30"),
    ],
)
def test_times_are_read_as_people_of_many_languages_write_and_say_them(text: str, time: str) -> None:
    assert time in clock_times(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("at 3:30 pm", {"15:30", "03:30"}),
        ("at 3pm", {"15:00", "03:00"}),
        ("at 12 a.m.", {"00:00", "12:00"}),
        ("at 15:30:20", {"15:30"}),
        ("at 25:30 or 15:99", set()),
        ("12时，15:30", {"15:30", "12:00", "00:00"}),
        ("at half past six", {"06:30", "18:30"}),
        ("a quarter to one", {"00:45", "12:45"}),
        ("at seven", {"07:00", "19:00"}),
        ("um 19 Uhr 30", {"19:30"}),
        ("à 19h30", {"19:30"}),
        ("seven o'clock", {"07:00", "19:00"}),
        ("from 9 to 5", {"09:00", "21:00", "05:00", "17:00"}),
        ("at noon or midnight", {"12:00", "00:00"}),
        ("下午三点半", {"03:30", "15:30"}),
        ("午後3時15分", {"03:15", "15:15"}),
        ("오후 세 시", {"03:00", "15:00"}),
        ("3시간, 3時間, 3小时", set()),
        ("in 5 amazing days", set()),
    ],
)
def test_times_of_day_are_found(text: str, expected: set[str]) -> None:
    assert clock_times(text) == expected


@pytest.mark.parametrize(
    "text", ["three kids", "3小时", "3時間", "3시간", "1.5 litres", "3 Euro", "in 3 weeks", "25 Uhr"]
)
def test_other_numbers_are_no_times(text: str) -> None:
    assert clock_times(text) == frozenset()


@given(st.text(alphabet="0123:.h點時시半 halbUuhrम", max_size=14))
def test_every_text_can_be_searched_for_times(text: str) -> None:
    assert all(0 <= int(time[:2]) < 24 and 0 <= int(time[3:]) < 60 for time in clock_times(text))
