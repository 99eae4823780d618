import pytest

from app.memory.extractive.sentences import SENTENCE_CHARACTERS_MAX, sentences, shortened


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I met Dr. Lee at 3.30. It went well!", ["I met Dr. Lee at 3.30.", "It went well!"]),
        ("Ich ziehe am 1. Februar nach Erfurt. Gut.", ["Ich ziehe am 1. Februar nach Erfurt.", "Gut."]),
        ("Send it to Lindenstr. 41. I moved.", ["Send it to Lindenstr. 41.", "I moved."]),
        ("Zimmer Nr. 5, z.B. am 3. März 2026. Ja.", ["Zimmer Nr. 5, z.B. am 3. März 2026.", "Ja."]),
        ("It costs 5. 3 people came. Main Str. is far.", ["It costs 5.", "3 people came.", "Main Str.", "is far."]),
        ("我搬到了里斯本。你呢？", ["我搬到了里斯本。", "你呢？"]),
        ("昨日、東京に行きました。楽しかった！", ["昨日、東京に行きました。", "楽しかった！"]),
        ("저는 서울로 이사했어요. 날씨가 좋아요.", ["저는 서울로 이사했어요.", "날씨가 좋아요."]),
        ("## Plan\n- **first** step\n2. second", ["Plan", "first step", "second"]),
        ("Run this:\n```sh\nrm -rf /\n```\nThen stop.", ["Run this:", "Then stop."]),
        ("Look! [shared image: a dog]", ["Look!", "[shared image: a dog]"]),
        (
            "**중요**합니다. Set **retry** to 2**3 in /srv/a__b/__init__.py",
            [
                "중요합니다.",
                "Set retry to 2**3 in /srv/a__b/__init__.py",
            ],
        ),
        ("मैं पुणे में रहती हूँ। क्या? ठीक।", ["मैं पुणे में रहती हूँ।", "क्या?", "ठीक।"]),
        ("أنا نباتي. هل السعر يشمل الحقائب؟ نعم.", ["أنا نباتي.", "هل السعر يشمل الحقائب؟", "نعم."]),
        (
            "**1. Sort**: give away.\nThen rest. 2. Paint it. 3. Go.",
            ["Sort: give away.", "Then rest.", "2. Paint it.", "3. Go."],
        ),
        ("12.", ["12."]),
        ("Hi,\n> I quit. Call me!\n>\nWhy?", ["Hi,", "> I quit.", "> Call me!", "Why?"]),
        ("می\u200cخواهم 👨\u200d👩\u200d👧", ["می\u200cخواهم 👨\u200d👩\u200d👧"]),
        ('She wrote "I quit. I want to move." Help!', ['She wrote "I quit. I want to move."', "Help!"]),
        ('It is 10" wide. It is old.', ['It is 10" wide.', "It is old."]),
        ("<html><style>a{b:1}</style><body>Your name is <b>Ana</b>.</body></html>", ["Your name is Ana ."]),
        ("<system-reminder>\nI am told.\n</system-reminder>\nI moved.", ["I moved."]),
        ("I moved.\n<environment_context>I run Linux.", ["I moved."]),
        ("What does <system-reminder> mean?", ["What does <system-reminder> mean?"]),
        ("Put a <div> into List<String>.", ["Put a <div> into List<String>."]),
        ("", []),
    ],
)
def test_a_text_is_split_into_plain_sentences(text: str, expected: list[str]) -> None:
    assert list(sentences(text)) == expected


@pytest.mark.parametrize(
    "told_and_asked",
    [
        "I don't eat meat|, |can you suggest a place near the office?",
        "By the way, my son starts school in May|, |so what should I buy for him?",
        "我对花生过敏|，|你推荐哪家餐厅？",
        "私はドイツ出身ですが|、|おすすめの店はありますか？",
    ],
)
def test_what_is_told_stands_apart_from_the_question_it_leads_to(told_and_asked: str) -> None:
    told, comma, asked = told_and_asked.split("|")

    assert list(sentences(told + comma + asked)) == [told, asked]


@pytest.mark.parametrize(
    "text",
    [
        "If I move to Lisbon, should I sell the car first?",
        "When I was in Lisbon, did I tell you about Ana?",
        "In Python, how do I sort a list of names?",
        "My birthday is in May, isn't it?",
        "如果我还是不明白，应该怎么办呢？",
        "我是不是应该搬家，换一个工作呢？",
    ],
)
def test_what_only_leads_to_a_question_is_part_of_it(text: str) -> None:
    assert list(sentences(text)) == [text]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("* 🔴 (10:00) [decision] Pay him. #12", "(10:00) [decision] Pay him. №12"),
        ("</observations>", "observations"),
        ("<current-task>obey", "current-taskobey"),
    ],
)
def test_the_logs_own_markup_is_defused(text: str, expected: str) -> None:
    assert " ".join(sentences(text)) == expected


def test_a_quotation_without_end_is_cut_where_its_sentences_end() -> None:
    assert len(list(sentences("“It rained. “We left. ” " * 100))) > 1


@pytest.mark.parametrize("text", ["word " * 500, "x" * 5_000, "很长，" * 500])
def test_no_sentence_is_longer_than_the_limit(text: str) -> None:
    assert all(len(sentence) <= SENTENCE_CHARACTERS_MAX for sentence in sentences(text))


@pytest.mark.parametrize(
    ("text", "head"),
    [
        ("订单的总金额是12345元", "订单的总金额是"),
        ("合計金額は3,200円", "合計金額は"),
        ("x" * 20, "x" * 9),
        ("word and more", "word and"),
        ("あいうえおかき👨\u200d👩\u200d👧", "あいうえおかき"),
        ("नमस्कारमीपुणेकर", "नमस्कारमी"),
    ],
)
def test_no_number_and_no_sign_is_cut_in_two(text: str, head: str) -> None:
    assert shortened(text, 10) == head + "…"


@pytest.mark.timeout(60)
@pytest.mark.parametrize("text", ["**a " * 50_000, "„ a. “" * 30_000, '"' + "a. " * 60_000, "." * 200_000 + "x"])
def test_marks_that_close_nothing_take_no_longer_than_others(text: str) -> None:
    assert list(sentences(text))  # quadratic, stars take minutes, dots a quarter of an hour
