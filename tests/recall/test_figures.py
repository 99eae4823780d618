import pytest

from app.recall.figures import CHARACTERS_MAX, Figure, tells, wanted_figure


@pytest.mark.parametrize(
    ("query", "figure"),
    [
        ("How many plants did I buy?", Figure.NUMBER),
        ("how old is my cat", Figure.NUMBER),
        ("Wie viele Pflanzen habe ich gekauft?", Figure.NUMBER),
        ("Combien de plantes ai-je achetées ?", Figure.NUMBER),
        ("¿Cuántas plantas compré?", Figure.NUMBER),
        ("我买了多少盆花?", Figure.NUMBER),
        ("猫は何歳ですか", Figure.NUMBER),
        ("고양이는 몇 살이야?", Figure.NUMBER),
        ("When did Ana move?", Figure.TIME),
        ("Wann ist Ana umgezogen?", Figure.TIME),
        ("Quand Ana a-t-elle déménagé ?", Figure.TIME),
        ("她什么时候搬家的", Figure.TIME),
        ("いつ引っ越しましたか", Figure.TIME),
        ("언제 이사했어?", Figure.TIME),
        ("What did I eat when in Lisbon?", None),
        ("Dis-moi où je vais quand il pleut", None),
        ("几乎没有人知道", None),
        ("How is my sister?", None),
        ("", None),
    ],
)
def test_a_question_tells_whether_a_number_or_a_time_answers_it(query: str, figure: Figure | None) -> None:
    assert wanted_figure(query) is figure


@pytest.mark.parametrize(
    ("text", "number", "time"),
    [
        ("I bought three plants", True, True),
        ("It was 25 km", True, True),
        ("Es waren zwölf", True, True),
        ("三盆花", True, True),
        ("Ana moved last week", False, True),
        ("Ana moved in October", False, True),
        ("Sie zog letzte Woche um", False, True),
        ("她上个月搬家了", False, True),
        ("先週引っ越しました", False, True),
        ("지난주에 이사했어", False, True),
        ("Ana moved, and may move again", False, False),
        ("", False, False),
    ],
)
def test_a_text_tells_a_number_or_a_time(text: str, number: bool, time: bool) -> None:
    assert (tells(text, Figure.NUMBER), tells(text, Figure.TIME)) == (number, time)


def test_a_number_far_into_a_long_text_is_not_looked_for() -> None:
    assert not tells("word " * (CHARACTERS_MAX // 5) + "3", Figure.NUMBER)
