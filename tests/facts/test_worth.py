"""What a fact is worth, and when a plan is over, told from their words."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.facts.model import Category
from app.facts.worth import CATEGORY_POINTS, EVEN_WORDS, LEAST_POINTS, passes_at, worth

SMALLINT_MAX = 2**15 - 1


@pytest.mark.parametrize(
    ("more", "less"),
    [
        ("I moved to Lisbon in 2019.", "I moved to Lisbon a while ago."),
        ("We had dinner with Maria and Tom.", "We had dinner with some people."),
        ("My sister keeps bees.", "My neighbour keeps bees."),
        ("Is allergic to peanuts.", "Is tired of peanuts."),
        ("I sold the boat.", "I'm thinking about a boat."),
        ("I like sailing with my uncle.", "I'd like sailing with my uncle."),
        ("User finished the course in Porto.", "User wants the course in Porto."),
        ("I keep bees on the roof.", "I keep."),
        ("I keep bees on the roof.", "I keep bees on the roof, " + "and hens behind the house, " * 9),
        ("Ich wohne in einem Dorf.", "Ich koche in einem Topf."),
        ("Soy alérgica a los frutos secos.", "Soy aficionada a los frutos secos."),
        ("Mon mari aime le café.", "Mon voisin aime le café."),
        ("Moro perto do rio.", "Corro perto do rio."),
        ("Mia moglie ama il tè.", "Il vicino ama il tè."),
        ("我的妻子喜欢花。", "我喜欢花和咖啡。"),
        ("娘はピアノを弾きます。", "よくピアノを弾きます。"),
        ("우리 강아지는 산책을 좋아해요.", "저는 산책을 좋아해요."),
    ],
)
def test_what_is_specific_lasting_and_done_is_worth_more(more: str, less: str) -> None:
    assert worth(more, Category.INSIGHT) > worth(less, Category.INSIGHT)


def test_who_somebody_is_is_worth_more_than_what_they_mean_to_do() -> None:
    assert sorted(Category, key=lambda category: -worth("Keeps bees on the roof.", category)) == [
        *(Category.PROFILE, Category.DECISION, Category.PREFERENCE, Category.INSIGHT, Category.COMMITMENT),
    ]
    assert sorted(CATEGORY_POINTS) == sorted(Category)
    lasting, dated = "I'm allergic to peanuts.", "I went to the market yesterday (7 May 2023)."
    assert worth(lasting, Category.PREFERENCE) >= worth(dated, Category.INSIGHT)


@given(st.text(max_size=300), st.sampled_from(Category))
def test_any_text_is_worth_something_that_the_column_holds(text: str, category: Category) -> None:
    assert LEAST_POINTS <= worth(text, category) <= SMALLINT_MAX


@given(st.sampled_from(["Maria", "External source", "J. R. O'Hara"]), st.sampled_from(Category))
def test_who_says_it_adds_nothing(speaker: str, category: Category) -> None:
    text = "The bees are mine since 2019."
    assert worth(f"{speaker}: {text}", category) == worth(text, category)


@pytest.mark.parametrize("words", [EVEN_WORDS.start - 1, EVEN_WORDS.stop])
def test_too_few_and_too_many_words_cost_a_point(words: int) -> None:
    def of(count: int) -> int:
        return worth(" ".join(f"{letter}oom" for letter in "bcdfghjklmnpqrstvwxz"[:count]), Category.PROFILE)

    assert of(words) == of(EVEN_WORDS.start) - 1 == of(EVEN_WORDS.stop - 1) - 1


@pytest.mark.parametrize(
    ("text", "over"),
    [
        ("Flies to Oslo on 7 May 2023.", datetime(2023, 5, 14, tzinfo=UTC)),
        ("Flies on 7 May 2023 and is back on June 2, 2023.", datetime(2023, 6, 9, tzinfo=UTC)),
        ("Going camping next month (Jun 2023).", datetime(2023, 7, 9, tzinfo=UTC)),
        ("京都に2023年5月7日に行く予定です。", datetime(2023, 5, 14, tzinfo=UTC)),
        ("Flies to Oslo on 7 May.", None),
        ("Means to learn Norwegian.", None),
        ("Ends on December 31, 9999.", None),
    ],
)
def test_a_plan_is_over_a_week_after_the_last_day_it_names(text: str, over: datetime | None) -> None:
    assert passes_at(text, Category.COMMITMENT) == over
    assert passes_at(text, Category.INSIGHT) is None


@given(st.text(max_size=60), st.sampled_from(Category))
def test_of_no_text_it_cannot_be_told_when_it_is_over(text: str, category: Category) -> None:
    assert passes_at(text, category) is None or category is Category.COMMITMENT
