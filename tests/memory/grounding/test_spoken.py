import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.memory.grounding.spoken import spoken


@pytest.mark.parametrize(
    ("text", "figures"),
    [
        ("one thousand two hundred and fifty dollars", "1250 dollars"),
        ("two million three hundred thousand and four", "2300004"),
        ("a hundred and five people, nineteen hundred", "a 105 people, 1900"),
        ("born in nineteen eighty-four", "born in 19 84"),
        ("at ten thirty, ten five", "at 10:30, 10 5"),
        ("thirty-eight point five, three point one four", "38.5, 3.14"),
        ("it costs two point five million", "it costs 2500000"),
        ("two and a half thousand, half a million", "2.5 thousand, 0.5 million"),
        ("three hours and a half, an hour and a half", "3.5 hours, 1.5 hour"),
        ("room two oh four, zip nine oh two one oh, oh two", "room 2 0 4, zip 9 0 2 1 0, oh 2"),
        ("two hours and a quarter, two and three quarters", "2.25 hours, 2.75"),
        ("one of the million", "1 of the million"),
        ("three dollars fifty", "3.50 dollars"),
        ("mil novecientos ochenta y cuatro", "1984"),
        ("ochocientos cincuenta euros, doce mil quinientos", "850 euros, 12500"),
        ("setenta y dos kilos y medio", "72.5 kilos"),
        ("oitocentos e cinquenta reais, cento e cinco", "850 reais, 105"),
        ("mille neuf cent quatre-vingt-dix-sept, soixante-quinze", "1997, 75"),
        ("un mètre soixante-quinze", "1.75 mètre"),
        ("neunzehnhundertvierundachtzig, zwölftausendfünfhundert", "1984, 12500"),
        ("hundertfünf leute, zweieinhalb wochen, im jahrhundert", "105 leute, 2.5 wochen, im jahrhundert"),
        ("eins komma fünf millionen", "1500000"),
        ("millenovecentottantaquattro, dodicimilacinquecento", "1984, 12500"),
        ("negentienhonderdvierentachtig, honderdvijf", "1984, 105"),
        ("в тысяча девятьсот восемьдесят четвёртом году", "в 1984 году"),
        ("двенадцать тысяч пятьсот рублей", "12500 рублей"),
        ("三点十五分，一个半小时", "3点15分，1.5个小时"),
        ("一米七五，便宜了三成", "1.75 米，便宜了30%"),
        ("两千八，三块五", "2800，3.5 块"),
        ("二割引き、一時間半", "20%引き、1.5時間"),
        ("팔십오만 원, 만이천 원, 백오 명", "850000 원, 12000 원, 105 명"),
        ("세 시 십오 분, 한 시간 반, 열흘", "3 시 15 분, 1.5 시간, 10일"),
        ("천구백구십팔년, 삼만 오천 원, 이십 퍼센트", "1998년, 35000 원, 20 퍼센트"),
        ("예순다섯이 되셨고, 열이 나요", "65이 되셨고, 열이 나요"),
        ("만나서 천천히, 이 사람, 백화점", "만나서 천천히, 이 사람, 백화점"),
        ("percent, innocent, familia, the descent of a cent", "percent, innocent, familia, the descent of a cent"),
    ],
)
def test_numbers_in_words_are_written_in_figures(text: str, figures: str) -> None:
    assert spoken(text).figures == figures


@pytest.mark.parametrize(
    ("text", "readings"),
    [
        ("nineteen eighty-four", {"19", "80", "4", "84", "1984", "19.84"}),
        ("one seventy-five", {"1", "70", "5", "75", "175", "1.75"}),
        ("two oh four", {"2", "0", "4", "204", "2.04"}),
        ("twelve fifty", {"12", "50", "1250", "12.50"}),
        ("two thirds", {"2", "3"}),
        ("anderthalb", {"1.5", "150", "90"}),
        ("nothing of it", set()),
    ],
)
def test_what_is_said_side_by_side_may_be_one_number(text: str, readings: set[str]) -> None:
    assert spoken(text).readings == readings


SAID = """
two oh four hundred thousand million point and a half five twenty e mil cento zweihundertfünf einhalb soixante quinze
三 百 万 半 个 米 七 成 2 1.5 백 오 만 천 원 세 시 반 열흘 двести полтора
"""


@given(
    st.lists(st.sampled_from(SAID.split())).map(" ".join)
    | st.text(alphabet="三百万半个米七成2.5백오만천원세시 반", max_size=16)
)
def test_every_text_can_be_written_in_figures(text: str) -> None:
    spoken(text)


@pytest.mark.parametrize(
    "text",
    [
        "five hundred " * 2_000,
        "hundred " * 5_000,
        "two million billion " * 2_000,
        "one point " + "one " * 5_000,
        "1" * 5_000 + " and a half",
        "1" * 5_000 + "个半",
        "9" * 5_000 + "万",
        "三" * 5_000,
        "백만" * 2_000 + " 원",
        "zweihundert" * 500,
    ],
)
def test_a_number_without_end_is_read_like_others(text: str) -> None:
    assert spoken(text).figures
