import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.memory.grounding.numbers import NUMBER, forms, is_shortened, numerals


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1,000 or 1000.0 or 1000", {"1000"}),
        ("1.000", {"1", "1000"}),
        ("1.234,50", {"1234.5"}),
        ("3.50 and 3,5", {"3.5"}),
        ("08", {"8"}),
        ("000", {"0"}),
        ("1.2.3", {"1.2.3"}),
        ("-12%", {"12"}),
        ("$5,200.40", {"5200.4"}),
        ("Two dogs, twice", {"2"}),
        ("三人と十匹", {"3", "10"}),
        ("二十五岁", {"2", "10", "5", "25"}),
        ("三千五百元", {"3", "5", "3500"}),
        ("三千五", {"3", "5", "3005", "3500"}),
        ("一百零五", {"1", "0", "5", "105"}),
        ("二〇二六年", {"2", "0", "6", "2026"}),
        ("两只猫", {"2"}),
        ("八万円", {"8", "80000"}),
        ("1億2000万", {"120000000"}),
        ("3.5万", {"35000"}),
        ("고양이 두 마리, 스물다섯 살, 스무 명", {"2", "25", "20"}),
        ("두부, 세상, 여러 번", set()),
        ("3천만 원", {"30000000"}),
        ("zwei Katzen, trois ans, doce meses", {"2", "3", "12"}),
        ("half of them", {"0.5", "50", "30"}),
        ("two and a half", {"2", "2.5", "150", "0.5", "50", "30"}),
        ("two thirds", {"2", "3"}),
        ("born in '89, in the 90s", {"89", "1989", "2089", "90", "1990", "2090"}),
        ("개 3마리", {"3"}),
        ("twenty-five", {"20", "5", "25"}),
        ("two million three hundred thousand and four", {"2", "3", "4", "2300004"}),
        ("10k, or 1.5 Million", {"10", "10000", "1.5", "1500000", "1000000"}),
        ("someone", set()),
    ],
)
def test_numbers_are_compared_in_one_form(text: str, expected: set[str]) -> None:
    assert numerals(text) & expected == expected
    assert len(numerals(text) - expected) <= ("1.234" in text)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1 234,50 €", "1234.5"),
        ("back in ninety-eight", "1998"),
        ("an hour and a half", "90"),
        ("一个半小时", "90"),
        ("至少半个小时", "30"),
        ("la mitad, media hora", "50"),
        ("anderthalb Stunden", "90"),
        ("98年", "1998"),
        ("1\u202f234,50 €", "1234.5"),
        ("CHF 3'890.–", "3890"),
        ("12,5 %", "12.5"),
        ("1,2 Mio. Euro", "1200000"),
        ("R$ 1,3 milhão", "1300000"),
        ("около 460 тыс. рублей", "460000"),
        ("3 mil millones", "3000000000"),
        ("11,25,000", "1125000"),
        ("11.25 लाख", "1125000"),
        ("٤٫٥ مليون", "4500000"),
        ("२,५००", "2500"),
        ("38万6千", "386000"),
        ("三十五万", "350000"),
        ("两万五", "25000"),
        ("一百二十", "120"),
        ("二〇二六", "2026"),
        ("3千万円", "30000000"),
        ("2,800만 원", "28000000"),
        ("3만 5천 원", "35000"),
        ("dreiundzwanzig", "23"),
        ("dieciocho", "18"),
        ("trinta e cinco", "35"),
        ("quatre-vingt-dix-sept", "97"),
        ("двадцать три ученика", "23"),
        ("двое", "2"),
        ("otuz beş", "35"),
        ("ثلاثة أيام", "3"),
        ("दस दिन", "10"),
        ("일곱 명", "7"),
        ("스물세 살", "23"),
        ("열흘 동안", "10"),
    ],
)
def test_numbers_are_read_as_people_of_many_languages_write_and_say_them(text: str, number: str) -> None:
    assert number in numerals(text)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("35万", "35"),
        ("two people on the bin", "1000"),
        ("it is due on Friday", "2"),
        ("한국에서", "1"),
        ("네, 좋아요", "4"),
        ("I like it", "1"),
    ],
)
def test_other_words_and_other_scales_are_no_numbers(text: str, number: str) -> None:
    assert number not in numerals(text)


def test_a_number_of_several_has_no_form() -> None:
    assert forms("0341/558712") == set()
    assert forms("3 400") == {"3400"}


@pytest.mark.parametrize(
    ("number", "longer", "expected"),
    [
        pytest.param("1,534.29", "1534.2871", True, id="rounded"),
        pytest.param("3.14", "3.149", True, id="cut off"),
        pytest.param("3.15", "3.14159", False, id="rounded otherwise"),
        pytest.param("72", "71.6", True, id="rounded to a whole number"),
        pytest.param("12,300", "12345", False, id="of two whole numbers each is its own"),
        pytest.param("7", "7.4", False, id="a single digit is of too many"),
        pytest.param("0.9", "0.8731", False, id="a single digit behind the point"),
        pytest.param("1.2M", "1234567", True, id="in millions"),
        pytest.param("1,23 Mio", "1234567", True, id="in millions of German"),
        pytest.param("1.3 million", "1234567", False, id="in other millions"),
        pytest.param("12k", "12345", True, id="in thousands"),
        pytest.param("13k", "12345", False, id="in other thousands"),
        pytest.param("3.1", "0.0312", True, id="a share as a percentage"),
        pytest.param("87", "0.8731", True, id="a share as a whole percentage"),
        pytest.param("88", "0.8731", False, id="another percentage"),
        pytest.param("50", "5000", False, id="a whole number is no hundredth"),
        pytest.param("120.50", "12050", True, id="cents"),
        pytest.param("120.51", "12050", False, id="other cents"),
        pytest.param("1,299", "129900", True, id="cents of a whole price"),
        pytest.param("1,299", "129950", False, id="cents of another price"),
        pytest.param("1.53", "1534.29", True, id="milliseconds as seconds"),
        pytest.param("153", "0.1534", True, id="seconds as milliseconds"),
        pytest.param("1" * 50, "1" * 60 + ".5", False, id="no measure"),
    ],
)
def test_a_number_may_be_told_in_fewer_digits(number: str, longer: str, expected: bool) -> None:
    assert is_shortened(number, {longer, "text"}) is expected


@given(st.text(alphabet="0123 .,'万億千百十三两만천억,.k#MiolakhलाखБ", max_size=16))
def test_every_text_can_be_searched_for_numbers(text: str) -> None:
    numerals(text)
    for number in NUMBER.findall(text):
        forms(number)
        is_shortened(number, numerals(text))
