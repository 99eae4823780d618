"""Times as people say them, in the languages that the search knows, on a Wednesday: each with what is meant."""

from datetime import UTC, datetime
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.recall.times import named_time

NOW = datetime(2026, 8, 12, 15, 30, tzinfo=UTC)

# From the first day to the one that is out again.
SAID: Final[dict[tuple[str, str], tuple[str, ...]]] = {
    ("2026-08-08", "2026-08-10"): (
        "What did we do last weekend?",
        "Was haben wir letztes Wochenende gemacht?",
        "Qu'avons-nous fait le week-end dernier ?",
        "¿Qué hicimos el fin de semana pasado?",
        "O que fizemos no fim de semana passado?",
        "Cosa abbiamo fatto lo scorso weekend?",
        "cosa ho detto il fine settimana scorso",
        "Wat deden we vorig weekend?",
        "上周末我们做了什么",
        "先週末に何をした",
        "지난 주말에 뭐 했지",
        "Where did I go this past weekend?",
        "в прошлые выходные",
        "What did my sister tell me last weekend about the trip?",
        "am letzten Wochenende",
        "el último fin de semana",
        "le dernier week-end",
        "nel fine settimana scorso",
        "上个周末",
        "지난주 주말",
        "先週の週末",
    ),
    ("2026-08-01", "2026-08-03"): ("where were we two weekends ago", "het voorlaatste weekend"),
    ("2026-08-11", "2026-08-12"): (
        "What did I eat last night?",
        "cosa ho mangiato ieri sera",
        "Was habe ich gestern Abend gegessen?",
        "Qu'ai-je mangé hier soir ?",
        "¿Qué cené anoche?",
        "o que jantei ontem à noite",
        "wat at ik gisteravond",
        "昨晚吃了什么",
        "昨夜何を食べた",
        "어젯밤에 뭐 먹었지",
        "What did I say yesterday morning?",
        "hier matin j'ai dit quoi",
        "Anna's message from yesterday evening",
        "昨日の夜",
        "어제 저녁에",
        "ayer por la noche",
    ),
    ("2026-08-12", "2026-08-13"): (
        "What did I ask this morning?",
        "Was habe ich heute Morgen gefragt?",
        "今朝何を聞いた",
    ),
    ("2026-08-10", "2026-08-11"): (
        "What did I buy the day before yesterday?",
        "Was habe ich vorgestern gekauft?",
        "Qu'ai-je acheté avant-hier ?",
        "¿Qué compré anteayer?",
        "o que comprei anteontem",
        "cosa ho comprato l'altro ieri",
        "wat kocht ik eergisteren",
        "позавчера",
        "前天买了什么",
        "그저께 뭐 샀지",
        "last Monday",
        "What was it the night before last?",
        "这周一",
        "this Monday",
    ),
    ("2026-08-09", "2026-08-11"): (
        "What did I say a couple of days ago?",
        "a couple days ago",
    ),
    ("2026-07-20", "2026-08-03"): (
        "hace un par de semanas fuimos al cine",
        "a couple of weeks ago",
        "un paio di settimane fa",
    ),
    ("2026-08-07", "2026-08-11"): (
        "Was sagte ich vor ein paar Tagen?",
        "il y a quelques jours",
        "a few days ago",
        "几天前说了什么",
        "数日前に何を話した",
        "며칠 전에 뭐라고 했지",
        "some days ago",
        "alcuni giorni fa",
        "enkele dagen geleden",
    ),
    ("2026-07-08", "2026-08-13"): ("in the last few weeks",),
    ("2026-06-01", "2026-09-01"): (
        "What did she do over the summer?",
        "cet été",
    ),
    ("2026-03-01", "2026-06-01"): (
        "what did I plant in the spring",
        "im Frühling",
        "la primavera pasada",
        "今年春天",
        "今年の春に",
        "올해 봄에",
        "from March through May",
        "von März bis Mai",
        "de março a maio",
        "3月から5月",
        "3월부터 5월까지",
    ),
    ("2025-06-01", "2025-09-01"): (
        "last summer",
        "Was war letzten Sommer?",
        "l'été dernier",
        "el verano pasado",
        "l'estate scorsa",
        "去年夏天去了哪里",
        "去年の夏どこへ行った",
        "작년 여름에 어디 갔지",
        "no verão passado",
        "o verão do ano passado",
        "vorige zomer",
        "прошлым летом",
    ),
    ("2025-12-01", "2026-03-01"): (
        "last winter",
        "прошлой зимой",
        "during the winter",
    ),
    ("2023-06-01", "2023-09-01"): (
        "in the summer of 2023",
        "between June 2023 and August 2023",
    ),
    ("2025-09-01", "2025-12-01"): (
        "last fall",
        "letzten Herbst",
        "back in the fall",
    ),
    ("2026-08-01", "2026-09-01"): (
        "What did I spend earlier this month?",
        "diesen Monat",
        "ce mois-ci",
        "este mes",
        "这个月花了多少",
        "今月いくら使った",
        "이번 달에 얼마 썼지",
        "questo mese",
        "deze maand",
    ),
    ("2026-08-10", "2026-08-17"): (
        "earlier this week",
        "今週何を話した",
        "Anfang dieser Woche",
        "本周说了什么",
    ),
    ("2026-01-01", "2027-01-01"): (
        "this year",
        "earlier this year",
        "今年",
    ),
    ("2025-07-28", "2025-08-28"): (
        "Where was I this time last year?",
        "去年这个时候",
        "去年の今頃",
        "작년 이맘때",
        "um diese Zeit letztes Jahr",
        "around this time last year",
        "à la même époque l'année dernière",
        "por estas fechas el año pasado",
    ),
    ("2026-05-01", "2026-08-01"): (
        "What happened between May and July?",
        "zwischen Mai und Juli",
        "entre mai et juillet",
        "entre mayo y julio",
        "tra maggio e luglio",
        "5月到7月",
        "5月から7月まで",
    ),
    ("2025-05-01", "2025-11-01"): ("between May and October",),
    ("2025-11-01", "2026-02-01"): ("from November to January",),
    ("2026-08-04", "2026-08-05"): (
        "What did I say on the 4th?",
        "am 4. August",
        "4号说了什么",
        "on Tuesday the 4th",
        "le mardi 4",
        "martedì 4",
        "on the 4th, who called?",
        "what did we decide on August 4th",
    ),
    ("2026-05-04", "2026-05-05"): (
        "Who came on Monday the 4th?",
        "Was war am Montag, dem 4.?",
        "¿qué dije el lunes 4?",
    ),
    ("2026-08-07", "2026-08-08"): (
        "What did I say on Friday?",
        "letzten Freitag",
        "vendredi dernier",
        "el viernes pasado",
        "venerdì scorso",
        "上周五",
        "先週の金曜日",
        "지난주 금요일",
        "on friday",
        "星期五",
        "금요일에",
    ),
    ("2026-07-27", "2026-08-03"): (
        "the week before last",
        "vorletzte Woche",
        "上上周",
        "先々週",
        "지지난주",
        "две недели назад",
        "a fortnight ago",
    ),
    ("2026-07-01", "2026-08-01"): (
        "上个月",
        "先月",
        "지난달",
        "el mes pasado",
    ),
    ("2026-08-03", "2026-08-10"): (
        "上周",
        "先週",
        "на прошлой неделе",
    ),
    ("2025-01-01", "2026-01-01"): (
        "去年",
        "im letzten Jahr",
    ),
    ("2026-02-01", "2026-03-01"): (
        "half a year ago",
        "半年前",
    ),
    ("2026-05-01", "2026-08-13"): ("since May",),
    ("2026-07-06", "2026-08-03"): (
        "vor einigen Wochen",
        "数週間前",
    ),
    ("2026-03-01", "2026-07-01"): (
        "hace unos meses",
        "几个月前",
        "몇 달 전에",
        "several months ago",
    ),
    ("2024-06-01", "2024-09-01"): (
        "in summer 2024",
        "前年の夏",
        "What did we do in the summer before last?",
        "im vorletzten Sommer",
        "el verano antepasado",
    ),
    ("2026-07-31", "2026-08-01"): (
        "the Friday before last",
        "vorletzten Freitag",
    ),
    ("2026-05-01", "2026-06-01"): (
        "en mayo",
        "in may",
    ),
    ("2023-05-03", "2023-05-04"): ("3. Mai 2023",),
    ("2026-06-01", "2026-07-01"): (
        "the month before last",
        "vorletzten Monat",
    ),
    ("2024-01-01", "2025-01-01"): ("재작년",),
    ("2026-07-13", "2026-08-13"): ("over the past month",),
    ("2026-08-07", "2026-08-13"): (
        "in den letzten Tagen",
        "these past few days",
        "ces derniers jours",
        "最近几天",
    ),
}
UNSAID: Final = (
    "我住在夏威夷",
    "네트워크 연결이 필요한 일부 서비스",
    "私は日曜学校で教えています",
    "我们下周二搬家",
    "次の火曜日に引っ越します",
    "다음 주 금요일에 뭐 해",
    "私は毎年夏に食べます",
    "매년 여름에 가는 곳",
    "later that week",
    "en lunes",
    "hot spring water",
    "Was the 7th better?",
    "on the 4th floor",
    "on the 4th attempt it worked",
    "Which summer dress did I buy?",
    "for a couple of weeks",
    "weekend plans",
    "the last chapter",
    "a few days of rest",
    "Spring Boot version",
    "the night shift",
    "号4",
    "4号线怎么走",
    "the winter coat",
    "what is this",
    "this weekend",
    "this autumn",
    "this winter",
    "last name",
    "夏目漱石",
    "秋葉原で何を買った",
    "春節",
    "冬瓜",
    "여름옷",
    "the Summer Palace",
    "between you and me",
    "ein paar Tage Urlaub",
    "last but not least",
    "may we summer there",
    "real estate last chapter",
    "j'ai été passé à tabac",
    "in Spring Boot",
    "周一起吃饭",
    "每周五做什么",
    "the best summer of my life",
    "Wie heißt der vierte?",
    "wo ist Zimmer 4.",
    "first thing on Monday mornings is coffee",
    "spring rolls",
    "two couples",
    "some weeks are hard",
    "la última lente",
    "in the springs",
    "may day",
    "I like autumn",
    "what is a weekend",
    "mars bars",
)


@pytest.mark.parametrize(("query", "days"), [(query, days) for days, queries in SAID.items() for query in queries])
def test_a_time_is_read_as_a_person_would_mean_it(query: str, days: tuple[str, str]) -> None:
    span = named_time(query, NOW).span
    assert span is not None
    assert (f"{span.since:%Y-%m-%d}", f"{span.until:%Y-%m-%d}") == days


# Times of several parts, each narrowing or moving the other.
TOGETHER: Final[dict[tuple[str, str], tuple[str, ...]]] = {
    ("2025-07-04", "2025-07-05"): (
        "What did I do on 4 July last year?",
        "July 4 last year",
        "on the 4th of July of last year",
        "last year, on July 4",
        "am 4. Juli letzten Jahres",
        "el 4 de julio del año pasado",
        "去年7月4日",
        "昨年の7月4日",
        "작년 7월 4일",
    ),
    ("2025-05-01", "2025-06-01"): (
        "What did we plant in May last year?",
        "last year in May",
        "May of last year",
        "im Mai letzten Jahres",
        "letztes Jahr im Mai",
        "en mai de l'année dernière",
        "en mayo del año pasado",
        "em maio do ano passado",
        "a maggio dell'anno scorso",
        "wat deed ik vorig jaar in mei",
        "去年五月",
    ),
    ("2025-01-01", "2026-01-01"): ("What may last year have brought?", "last year may have been better"),
    ("2024-05-01", "2024-06-01"): (
        "in May two years ago",
        "two years ago in May",
        "vor zwei Jahren im Mai",
        "two years and three months ago",
        "vor zwei Jahren und drei Monaten",
        "il y a deux ans et trois mois",
        "hace dos años y tres meses",
    ),
    ("2026-07-04", "2026-07-05"): ("July 4 this year",),
    ("2025-05-01", "2025-11-01"): ("from May to October last year",),
    ("2026-08-07", "2026-08-13"): (
        "What have I eaten since last Friday?",
        "was habe ich seit letztem Freitag gesagt",
        "上周五以来",
    ),
    ("2024-07-04", "2024-07-05"): ("was habe ich am 4. Juli 2024 gesagt",),
    ("2024-08-01", "2026-08-13"): ("What changed since 2024-08-01?", "since August 2024", "seit dem 1. August 2024"),
    ("2023-01-01", "2026-08-13"): ("Where did I live since 2023?", "depuis 2023", "2023年以来", "2023년부터"),
    ("2025-05-01", "2026-08-13"): ("since May last year",),
    ("2026-03-01", "2026-08-13"): ("since the spring",),
    ("2023-05-03", "2023-06-06"): ("desde el 3 de mayo de 2023 hasta el 5 de junio de 2023",),
    ("2025-08-12", "2025-08-13"): (
        "What did we talk about a year ago today?",
        "today a year ago",
        "heute vor einem Jahr",
        "il y a un an aujourd'hui",
        "hoy hace un año",
        "vandaag een jaar geleden",
        "1年前の今日",
    ),
    ("2026-08-05", "2026-08-06"): ("a week ago today",),
    ("2026-06-22", "2026-06-29"): ("one month and two weeks ago, roughly",),
    ("1990-01-01", "2000-01-01"): (
        "Which music in the 90s?",
        "the 1990s",
        "in the nineties",
        "in den 90er Jahren",
        "dans les années 90",
        "en los años 90",
        "negli anni '90",
        "in de jaren 90",
        "90年代の音楽",
        "1990년대",
    ),
    ("1980-01-01", "2000-01-01"): ("in the 1980s and 1990s",),
    ("2020-01-01", "2030-01-01"): ("the 20s",),
    ("2025-10-25", "2025-11-01"): (
        "the last week of October",
        "die letzte Woche im Oktober",
        "la dernière semaine d'octobre",
        "la última semana de octubre",
        "de laatste week van oktober",
    ),
    ("2024-10-25", "2024-11-01"): ("the last week of October 2024", "last week of October two years ago "),
    ("2025-10-01", "2025-10-08"): ("the first week of October",),
    ("2025-10-25", "2025-10-27"): ("the last weekend of October",),
    ("2025-10-04", "2025-10-06"): ("the first weekend of October",),
    ("2026-05-30", "2026-06-01"): ("the last weekend of May",),
}


@pytest.mark.parametrize(("query", "days"), [(query, days) for days, queries in TOGETHER.items() for query in queries])
def test_a_time_of_several_parts_is_what_they_mean_together(query: str, days: tuple[str, str]) -> None:
    span = named_time(query, NOW).span
    assert span is not None
    assert (f"{span.since:%Y-%m-%d}", f"{span.until:%Y-%m-%d}") == days


@pytest.mark.parametrize("query", ["What did I want in my 20s?", "he is in his nineties", "it was in the low 20s"])
def test_somebodys_age_is_no_decade(query: str) -> None:
    assert named_time(query, NOW).span is None


def test_a_month_of_last_year_is_no_word_of_the_query_and_a_day_is_the_date_that_it_is() -> None:
    assert named_time("the dentist in May last year", NOW).text.split() == ["the", "dentist", "in"]
    assert named_time("the dentist on July 4 last year", NOW).text == "the dentist on July 4 2025"


@pytest.mark.parametrize("query", UNSAID)
def test_what_has_the_words_of_a_time_and_names_none_is_not_taken_for_one(query: str) -> None:
    assert named_time(query, NOW).span is None


@pytest.mark.parametrize(
    ("query", "now", "days"),
    [
        ("What did I do last weekend?", "2026-08-15", ("2026-08-08", "2026-08-10")),  # a Saturday
        ("What do I do this weekend?", "2026-08-15", ("2026-08-15", "2026-08-17")),
        ("What did we do last winter?", "2026-01-10", ("2024-12-01", "2025-03-01")),
        ("What did we do this winter?", "2026-01-10", ("2025-12-01", "2026-03-01")),
        ("What did we do this spring?", "2026-08-12", ("2026-03-01", "2026-06-01")),
        ("What did we do over the winter?", "2026-12-24", ("2026-12-01", "2027-03-01")),
        ("the spring before: last spring", "2026-04-10", ("2025-03-01", "2025-06-01")),
        ("last Sunday", "2026-08-16", ("2026-08-09", "2026-08-10")),  # a Sunday
        ("What did I say on the 31st?", "2026-07-30", ("2026-05-31", "2026-06-01")),
        ("What did I say on the 31st?", "2026-01-30", ("2025-12-31", "2026-01-01")),
        ("What did I say in January?", "2026-01-30", ("2026-01-01", "2026-02-01")),
        ("between November and January", "2026-02-01", ("2025-11-01", "2026-02-01")),
        ("this time last year", "2024-02-29", ("2023-02-13", "2023-03-16")),
    ],
)
def test_what_is_not_over_is_not_the_last_one(query: str, now: str, days: tuple[str, str]) -> None:
    span = named_time(query, datetime.fromisoformat(f"{now}T12:00Z")).span
    assert span is not None
    assert (f"{span.since:%Y-%m-%d}", f"{span.until:%Y-%m-%d}") == days


@pytest.mark.parametrize(
    ("query", "days"),
    [
        ("What did Maria do last weekend before April 10, 2023?", ("2023-04-08", "2023-04-11")),
        ("What was it last week, as mentioned on November 6, 2023?", ("2023-10-30", "2023-11-07")),
        ("shown on the Sunday before October 25, 2022", ("2022-10-23", "2022-10-26")),
        ("Who came on Monday, 4 May 2026?", ("2026-05-04", "2026-05-05")),
        ("Was it before August 11, 2023?", ("2023-08-11", "2023-08-12")),
    ],
)
def test_a_time_beside_a_date_is_seen_from_that_date(query: str, days: tuple[str, str]) -> None:
    span = named_time(query, NOW).span
    assert span is not None
    assert (f"{span.since:%Y-%m-%d}", f"{span.until:%Y-%m-%d}") == days


def test_a_season_stays_a_word_of_the_query_and_a_weekend_does_not() -> None:
    assert named_time("the trip last summer", NOW).text == "the trip last summer"
    assert named_time("the trip last weekend", NOW).text.split() == ["the", "trip"]


@pytest.mark.parametrize("query", ["last winter", "last weekend", "last Monday", "on the 4th", "a few days ago"])
def test_before_the_year_one_there_is_no_time(query: str) -> None:
    assert named_time(query, datetime(1, 1, 1, tzinfo=UTC)).span is None


_WORDS = sorted({word for queries in SAID.values() for query in queries for word in query.split()})


@given(st.lists(st.sampled_from([*_WORDS, "0", "31", "13月", "9999", "0001"]), max_size=12).map(" ".join))
@settings(max_examples=50)
def test_whatever_is_named_begins_before_it_ends(query: str) -> None:
    span = named_time(query, NOW).span
    assert span is None or (span.since is not None and span.until is not None and span.since < span.until)
