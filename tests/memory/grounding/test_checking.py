from base64 import b64encode
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from app.memory.cited import Cited
from app.memory.grounding.checking import stands_on, unfounded
from app.memory.grounding.sources import Ground, Grounds, Source, item_source, message_source
from app.memory.model import Cite, Item
from app.memory.ranges import Ranges
from app.sessions.model import Kind, Message, Part, Role

SAID = datetime(2023, 5, 8, 23, 30, tzinfo=UTC)
SEOUL = ZoneInfo("Asia/Seoul")


def said(*parts: str | Part, seq: int = 1, name: str | None = None) -> Message:
    return Message(
        seq=seq,
        id="m",
        kind=Kind.USER,
        role=Role.USER,
        parts=tuple({"type": "text", "text": part} if isinstance(part, str) else part for part in parts),
        tokens=10,
        created_at=SAID,
        name=name,
    )


def is_grounded(line: str, sources: list[Source]) -> bool:
    return stands_on(line, [Ground(sources=sources)])


def holds(source: str, line: str) -> bool:
    return is_grounded(line, [message_source(said(source), ZoneInfo("UTC"))])


@pytest.mark.parametrize(
    ("source", "line", "expected"),
    [
        pytest.param("anything", "User likes tea.", True, id="words are not checked"),
        pytest.param("it cost 1000", "It cost 1,000.", True, id="a number in another form"),
        pytest.param("it cost 1000", "It cost 1,001.", False, id="another number"),
        pytest.param("I have two kids", "User has 2 kids.", True, id="a number in words"),
        pytest.param("twenty-five people, twelve hundred dollars", "25 people, $1,200.", True, id="spoken numbers"),
        pytest.param(
            '{"rate": 0.0312, "p95": 1534.2871}', "3.1% failed, p95 1.53 s.", True, id="measures told shorter"
        ),
        pytest.param('{"rate": 0.0312}', "3.3% failed.", False, id="another share"),
        pytest.param("see #31.2", "see #31", False, id="a name is not told shorter"),
        pytest.param("at ten thirty, or half past two", "At 10:30, or at 14:30.", True, id="times in words"),
        pytest.param("at ten thirty", "At 10:40.", False, id="another time than in words"),
        pytest.param("à quinze heures trente, oui", "À 15h30.", True, id="a time in words of French"),
        pytest.param("the third child", "User's 3rd child.", True, id="an ordinal in words"),
        pytest.param("some 10k users", "10,000 users.", True, id="a number with a scale written out"),
        pytest.param("I earn 50,000", "User earns 50k.", True, id="a number written with a scale"),
        pytest.param("some 10k users", "10,000,000 users.", False, id="another scale"),
        pytest.param("call +49 170 1234567", "Phone: +491701234567.", True, id="digits grouped otherwise"),
        pytest.param("call +49 170 1234567", "Phone: +491701234568.", False, id="another digit"),
        pytest.param("it runs on nextjs", "It runs on Next.js.", True, id="a name without its dot"),
        pytest.param("fix ui.js", "Fixed db.py", False, id="another file with a short name"),
        pytest.param("order 88412", "Order 8841.", False, id="a part of a number"),
        pytest.param("I said hello there", 'User said "Hello there".', True, id="a quote in another case"),
        pytest.param("I said hello there", 'User said "hello ... there".', True, id="a quote with an omission"),
        pytest.param("I said hello there", 'User said "hi there".', False, id="a made-up quote"),
        pytest.param("mail Ann@Example.com", "Mail ann@example.com.", True, id="an address"),
        pytest.param("mail ann@example.com", "Mail bob@example.com.", False, id="another address"),
        pytest.param("fix src/app/main.py", "Fixed src/app/main.py", True, id="a path"),
        pytest.param("fix src/app/main.py", "Fixed src/app/mail.py", False, id="another path"),
        pytest.param("rename get_user", "Renamed getUser.", False, id="another spelling of an identifier"),
        pytest.param("8841,1234.50,2026-07-14,open", "8841: $1,234.50, open.", True, id="a row of a table"),
        pytest.param("8841,1234.50,2026-07-14,open", "8841: $1,235.50, open.", False, id="a row, another number"),
        pytest.param('{"sizes":[10,20,300]}', "Sizes 10, 20 and 300.", True, id="a list"),
        pytest.param("it cost 1,000", "It cost 1.", False, id="a part of a grouped number"),
        pytest.param("class Clock: def _tick(self)", "Clock._tick is slow.", True, id="a member of a class"),
        pytest.param("class Clock: def _tick(self)", "Clock._tock is slow.", False, id="another member"),
        pytest.param("the users are in some json file", "Wrote users.json", False, id="a file is no member"),
        pytest.param("I am in seat 14C", "Seat 14D.", False, id="other letters behind a number"),
        pytest.param("seat 14 C, or row 14", "Seat 14C.", True, id="letters apart from their number"),
        pytest.param("it took 30min", "It took 30m.", True, id="a unit shortened"),
        pytest.param("a 2L bottle", "A bottle of 2 litres.", True, id="a unit written out"),
        pytest.param("gate B12", "Gate B1.", False, id="the beginning of a code"),
        pytest.param("edit /etc/hosts", "Edited /etc/host", False, id="the beginning of a path's last step"),
        pytest.param(
            "siehe docs/straße.pdf", "Read docs/straße.pdf", True, id="a path with a letter that is two without case"
        ),
        pytest.param("siehe docs/straße.pdf", "Read docs/stra.pdf", False, id="another path without that letter"),
        pytest.param("edit /etc/nginx/nginx.conf", "Looked in /etc/nginx", True, id="the folder of a path"),
        pytest.param("edit src/app.tsx", "Edited src/app.ts", False, id="the beginning of a file's ending"),
        pytest.param("mail joann@example.com", "Mail ann@example.com", False, id="the end of an address"),
        pytest.param("it was -5°C", "It was 5 °C.", False, id="degrees without their sign"),
        pytest.param("it was 5°C", "It was -5°C.", False, id="degrees with a sign that nobody said"),
        pytest.param("it was minus 5 degrees", "It was −5°C.", True, id="degrees with the word for their sign"),
        pytest.param("it fell by 5%", "-5%", True, id="the sign of a change"),
        pytest.param("1/2 cup of milk", "0.5 cups of milk.", True, id="a fraction as a decimal"),
        pytest.param("1½ cups", "1.5 cups.", True, id="a number and a fraction as a decimal"),
        pytest.param("0.75 cups", "¾ cups.", True, id="a decimal as a fraction"),
        pytest.param("1/2 cup", "0.25 cups.", False, id="another fraction"),
        pytest.param("DE89 3704 0044 0532 0130 00", "IBAN DE89370400440532013000.", True, id="an IBAN without blanks"),
        pytest.param("DE89370400440532013000", "IBAN DE89 3704 0044 0532 0130 00.", True, id="an IBAN in groups"),
        pytest.param("DE89 3704 0044 0532 0130 00", "IBAN DE89370400440532013001.", False, id="another IBAN"),
        pytest.param("A12 and A34", "Took A12/A34.", True, id="two codes at once"),
        pytest.param("A12 and A34", "Took A12/A35.", False, id="two codes, another one"),
        pytest.param(r"grep \"a.b\" it", 'Ran `grep "a.b"`.', True, id="escaped quotes"),
        pytest.param(r"grep \d+ it", r"Ran `grep \\d+`.", True, id="escaped once more, as JSON shows it"),
        pytest.param(r"see ag\_ui.py", "See ag_ui.py.", True, id="escaped in Markdown"),
        pytest.param(r"in C:\\new\\run.txt", r"In C:\new\run.txt.", True, id="a path in JSON"),
        pytest.param(r"in C:\new\run.txt", r"In C:\new\ran.txt.", False, id="another path"),
        pytest.param("서울에서 3개 샀어요", "사용자가 3개를 샀다.", True, id="a number in Korean"),
        pytest.param("서울에서 3개 샀어요", "사용자가 4개를 샀다.", False, id="another number in Korean"),
        pytest.param("我今年二十五岁", "用户25岁。", True, id="a number in Chinese"),
        pytest.param("我今年二十五岁", "用户26岁。", False, id="another number in Chinese"),
        pytest.param("家賃は八万円", "家賃は80,000円。", True, id="a number in Japanese"),
        pytest.param("the flight LH 123", "Flight LH123.", True, id="a code joined"),
        pytest.param("the flight LH 1234", "Flight LH123.", False, id="a part of a code"),
        pytest.param("see the 123", "Flight E123.", False, id="a code across words"),
        pytest.param("we run 2.13.1", "They run v2.13.1.", True, id="a version with its letter"),
        pytest.param("we run 2.13.1", "They run v2.14.1.", False, id="another version"),
        pytest.param("I work 9 to 5", "Works 9:00-17:00.", True, id="hours"),
        pytest.param("I work 9 to 5", "Works 9:00-18:00.", False, id="another hour"),
        pytest.param("我们下午三点半开会", "15:30开会。", True, id="a time in Chinese"),
        pytest.param("meet at 3:30pm", "Meeting at 15:30.", True, id="a time in another form"),
        pytest.param("meet at 3:30pm", "Meeting at 16:30.", False, id="another time"),
        pytest.param("hello", "Said at 23:30.", True, id="the time of the message"),
        pytest.param("es kostet 1.234,50 €", "Kostet 1234,50 €.", True, id="a number in German"),
        pytest.param("es kostet 1.234,50 €", "Kostet 1235,50 €.", False, id="another number in German"),
        pytest.param("Deckung 10 Mio. Euro", "Deckung 10.000.000 €.", True, id="a short scale in German"),
        pytest.param("Deckung 10 Mio. Euro", "Deckung 100.000.000 €.", False, id="another scale in German"),
        pytest.param("el precio: 1 847,60 €", "1847,60 €.", True, id="groups divided by spaces"),
        pytest.param("el precio: 1 847,60 €", "1 848,60 €.", False, id="another group"),
        pytest.param("报价38万6千", "报价38.6万元", True, id="a number in Chinese"),
        pytest.param("报价38万6千", "报价38.6亿元", False, id="another scale in Chinese"),
        pytest.param("报价35元", "报价35万元", False, id="a scale that nobody said"),
        pytest.param("최대 3천만 원", "최대 3,000만 원", True, id="a number in Korean with a scale"),
        pytest.param("двадцать три ученика", "23 ученика", True, id="a number in Russian words"),
        pytest.param("двадцать три ученика", "24 ученика", False, id="another number than in Russian words"),
        pytest.param("الميزانية ٤٫٥ مليون", "الميزانية 4.5 مليون", True, id="Arabic digits"),
        pytest.param("الميزانية ٤٫٥ مليون", "الميزانية 4.6 مليون", False, id="other Arabic digits"),
        pytest.param("96 metros cuadrados", "96 m².", True, id="a unit with a small figure"),
        pytest.param("95 € im Monat", "95 €/Monat.", True, id="a rate is no path"),
        pytest.param(
            "0341 / 55 87 12-30", "Tel. 0341/558712-30", True, id="a number for a telephone grouped otherwise"
        ),
        pytest.param("0341 / 55 87 12-30", "Tel. 0341/558713-30", False, id="a number for another telephone"),
        pytest.param("um halb vier", "Um 15:30 Uhr.", True, id="a time in German words"),
        pytest.param("um halb vier", "Um 16:30 Uhr.", False, id="another time than in German words"),
        pytest.param("下午3点", "15:00开会", True, id="a time in Chinese"),
        pytest.param("下午3点", "16:00开会", False, id="another time than in Chinese"),
        pytest.param("a las 15:30", "A las 15h30.", True, id="a time with an h"),
        pytest.param("a las 15:30", "A las 15h45.", False, id="another time with an h"),
        pytest.param("创办于昭和58年", "创办于1983年", True, id="a year of an era"),
        pytest.param("创办于昭和58年", "创办于1984年", False, id="another year of an era"),
        pytest.param("قال: «لن نبدأ»", "«لن نبدأ\u200f»", True, id="a quote with a mark of direction"),
        pytest.param("قال: «لن نبدأ»", "«سوف نبدأ»", False, id="a quote that nobody said"),
    ],
)
def test_what_a_line_claims_has_to_be_in_its_source(source: str, line: str, expected: bool) -> None:
    assert holds(source, line) is expected


@pytest.mark.parametrize(
    ("source", "line", "expected"),
    [
        pytest.param("on May 20, 2023", "On 2023-05-20.", True, id="the same date in another form"),
        pytest.param("on May 20", "On May 20, 2023.", True, id="the year of the message added"),
        pytest.param("on May 20", "On May 20, 2021.", False, id="a far year added"),
        pytest.param("on May 20, 2023", "On May 20.", True, id="the year left out"),
        pytest.param("in May 2023", "In May 2023.", True, id="a month"),
        pytest.param("in June 2023", "On June 5, 2023.", False, id="a day added to a month"),
        pytest.param("in September", "In Sep 2023.", True, id="a month alone"),
        pytest.param("in September", "In Sep 2021.", False, id="a month alone, in a far year"),
        pytest.param("in September", "On Sep 4, 2023.", False, id="a day added to a month alone"),
        pytest.param("on the 14th", "On May 14, 2023.", True, id="a day without its month"),
        pytest.param("on the 14th", "On May 15, 2023.", False, id="another day than the one without its month"),
        pytest.param("on the 14th", "On Jul 14, 2023.", False, id="a day without its month, not the nearest"),
        pytest.param("14日に会う", "2023年5月14日に会う。", True, id="14日"),
        pytest.param("born 3/14", "Born on March 14.", True, id="in figures"),
        pytest.param("born 14.3.1985", "Born on March 14, 1985.", True, id="in figures, the day first"),
        pytest.param("born 14.3.1985", "Born on March 14, 1986.", False, id="in figures, another year"),
        pytest.param("this weekend", "On May 13-14, 2023.", True, id="a range of days"),
        pytest.param("hello", "On May 8-9, 2023.", False, id="a range of days that goes too far"),
        pytest.param("hello", "On May 8, 2023.", True, id="the day of the message"),
        pytest.param("hello", "On May 7, 2023.", False, id="another day, nothing relative said"),
        pytest.param("I went yesterday", "Went on May 7, 2023.", True, id="yesterday"),
        pytest.param("ich war gestern da", "War am 7. Mai 2023 da.", True, id="gestern"),
        pytest.param("昨日行きました", "2023年5月7日に行った。", True, id="昨日"),
        pytest.param("어제 갔어요", "2023년 5월 7일에 갔다.", True, id="어제"),
        pytest.param("昨天去了", "2023年5月7日去了。", True, id="昨天"),
        pytest.param("ich war gestern da", "War am 07.05.2023 da.", True, id="gestern, in figures"),
        pytest.param("ich war gestern da", "War am 07.05.2021 da.", False, id="far away, in figures"),
        pytest.param("this weekend", "On May 13/14, 2023.", True, id="two days"),
        pytest.param("I went yesterday", "Went yesterday (May 7, 2023).", True, id="yesterday explained"),
        pytest.param("I went yesterday", "Went yesterday (May 6, 2023).", False, id="yesterday, a day off"),
        pytest.param("I went last Friday", "Went last Friday (May 5, 2023).", True, id="a weekday explained"),
        pytest.param("I went last Friday", "Went last Friday (May 4, 2023).", False, id="a weekday, a day off"),
        pytest.param("I go on Friday", "Goes on Friday, May 12.", True, id="a weekday, without a year"),
        pytest.param("on Friday, May 11", "On Friday, May 11.", True, id="a weekday as it was said"),
        pytest.param("exam soon", "Exam the day after tomorrow (May 10, 2023).", True, id="the day after tomorrow"),
        pytest.param(
            "exam soon", "Exam the day after tomorrow (May 9, 2023).", False, id="the day after tomorrow, a day off"
        ),
        pytest.param("I left the day before yesterday", "Left on May 6, 2023.", True, id="the day before yesterday"),
        pytest.param("in a week, next week", "Party a week from today (May 15, 2023).", True, id="counted from today"),
        pytest.param("on the twelfth of June", "On Jun 12, 2023.", True, id="a date in words"),
        pytest.param("am dritten Juni", "Am 3. Juni 2023.", True, id="a date in words of German"),
        pytest.param("二〇二七年三月七号", "2027年3月7日。", True, id="a date in signs"),
        pytest.param("明天去", "明天（5月9日）去。", True, id="明天 explained"),
        pytest.param("明天去", "明天（5月10日）去。", False, id="明天, a day off"),
        pytest.param("大后天去", "大后天（5月11日）去。", True, id="大后天 explained"),
        pytest.param("来週の金曜日に", "来週の金曜日（5月19日）に。", True, id="金曜日 explained"),
        pytest.param("来週の金曜日に", "来週の金曜日（5月20日）に。", False, id="金曜日, a day off"),
        pytest.param("모레 갑니다", "모레(5월 10일) 간다.", True, id="모레 explained"),
        pytest.param("모레 갑니다", "모레(5월 11일) 간다.", False, id="모레, a day off"),
        pytest.param("anteayer", "Anteayer (6 de mayo).", True, id="anteayer explained"),
        pytest.param("anteayer", "Anteayer (7 de mayo).", False, id="anteayer, a day off"),
        pytest.param("nächsten Freitag", "Nächsten Freitag (12. Mai 2023).", True, id="Freitag explained"),
        pytest.param("nächsten Freitag", "Nächsten Freitag (13. Mai 2023).", False, id="Freitag, a day off"),
        pytest.param("nos vemos anoche", "El 7 de mayo de 2023.", True, id="anoche"),
        pytest.param("я приеду послезавтра", "Приедет 10 мая 2023 г.", True, id="послезавтра"),
        pytest.param("я приеду", "Приедет 10 мая 2023 г.", False, id="in Russian, nothing relative said"),
        pytest.param("yarın geliyorum", "9 Mayıs 2023'te gelecek.", True, id="yarın"),
        pytest.param("كان أمس", "كان ٧ مايو ٢٠٢٣", True, id="أمس"),
        pytest.param("अगले शुक्रवार", "12 मई 2023 को", True, id="अगले"),
        pytest.param("来週の金曜日", "5月12日", True, id="来週"),
        pytest.param("다음 주 금요일", "5월 12일", True, id="다음 주"),
        pytest.param("am Dienstag in zwei Wochen", "Am 23.05.2023.", True, id="a computed date in figures"),
        pytest.param("ab dem 12.9.", "Ab dem 12.09.2023.", True, id="a date in figures, with its year"),
        pytest.param("ab dem 12.9.", "Ab dem 13.09.2023.", False, id="another date in figures"),
        pytest.param("le 3 octobre, retour le 24", "Retour le 24 octobre 2023.", True, id="of the month named before"),
        pytest.param("le 3 octobre, retour le 24", "Retour le 25 octobre 2023.", False, id="another day of that month"),
        pytest.param("next week for sure", "It costs 12.5 euros.", False, id="an amount is no date"),
        pytest.param("I went last May", "Went in May 2022.", True, id="within 366 days of the message"),
        pytest.param("I went last week", "Went on May 6, 2022.", False, id="367 days before the message"),
        pytest.param("I went last week", "Went on May 7, 2022.", True, id="366 days before the message"),
        pytest.param("hello", "On Feb 29.", False, id="a day that most years lack"),
        pytest.param("I moved last year", "User moved in 2022.", True, id="last year"),
        pytest.param("I moved 10 years ago", "User moved in 2013.", True, id="years ago"),
        pytest.param("I moved 10 years ago", "User moved in 2014.", False, id="another year"),
        pytest.param("I moved", "User moved in 2023.", True, id="the year of the message"),
    ],
)
def test_dates_are_said_or_follow_from_the_day_of_the_message(source: str, line: str, expected: bool) -> None:
    assert holds(source, line) is expected


def test_the_first_moment_of_all_is_told_nowhere_in_the_west() -> None:
    assert is_grounded("Never expires.", [message_source(said("0001-01-01T00:00:00Z"), ZoneInfo("America/Lima"))])
    assert not is_grounded("At 19:00.", [message_source(said("0001-01-01T00:00:00Z"), ZoneInfo("America/Lima"))])


def test_the_day_of_a_message_is_that_of_the_sessions_time_zone() -> None:
    assert is_grounded("On May 9, 2023 at 08:30.", [message_source(said("hello"), SEOUL)])


@pytest.mark.parametrize(
    ("told", "line", "expected"),
    [
        ('{"departs": "2023-06-14T23:30:00Z"}', "Departs on Jun 14, 2023 at 23:30.", True),
        ('{"departs": "2023-06-14T23:30:00Z"}', "Departs on Jun 15, 2023 at 08:30.", True),
        ('{"departs": "2023-06-14T23:30:00+02:00"}', "Departs on Jun 15, 2023 at 06:30.", True),
        ('{"departs": "2023-06-14T23:30:00Z"}', "Departs on Jun 15, 2023 at 07:30.", False),
        ('{"departs": "2023-06-14T23:30:00"}', "Departs on Jun 15, 2023.", False),
        ('{"created": 1686785400}', "Created on Jun 14, 2023 at 23:30.", True),
        ('{"created": 1686785400123}', "Created on Jun 15, 2023 at 08:30.", True),
        ('{"created": 1686785400123}', "Created on Jun 16, 2023.", False),
        ('{"departs": "2023-06-31T23:30:00Z"}', "Departs on Jul 1, 2023.", False),
        ('{"departs": "0001-01-01T00:00:00Z"}', "Departs.", True),
    ],
)
def test_a_moment_that_a_machine_tells_may_be_told_as_people_there_say_it(told: str, line: str, expected: bool) -> None:
    assert is_grounded(line, [message_source(said(told), SEOUL)]) is expected


@pytest.mark.parametrize(
    "part",
    [
        {"type": "tool_call", "id": "c", "name": "f", "arguments": {"path": "src/app/main.py", "n": [8841]}},
        {"type": "tool_call", "id": "c", "name": "f", "arguments": 'not JSON: "src/app/main.py", 8841'},
        {"type": "tool_result", "tool_call_id": "c", "output": [{"type": "text", "text": "8841 in src/app/main.py"}]},
        {"type": "file", "url": "https://example.com/src/app/main.py", "name": "8841"},
        {"type": "file", "content": [{"type": "text", "text": "8841 in src/app/main.py"}]},
        {"type": "file", "media_type": "text/plain", "data": b64encode(b"8841 in src/app/main.py").decode()},
        {"type": "text", "text": "data:text/plain;base64,YWJj is 8841 in src/app/main.py"},
        {
            "type": "tool_result",
            "tool_call_id": "c",
            "output": [{"type": "file", "url": f"data:text/a;base64,{b64encode(b'8841 in src/app/main.py').decode()}"}],
        },
        {
            "type": "tool_result",
            "tool_call_id": "c",
            "output": {"type": "file", "data": "8841 in src/app/main.py"},
        },
        {
            "type": "tool_result",
            "tool_call_id": "c",
            "output": [{"type": "audio", "data": {"8841": "src/app/main.py"}}],
        },
        {
            "type": "tool_result",
            "tool_call_id": "c",
            "output": [{"type": "image", "data": "aGk=", "content": "8841 in src/app/main.py"}],
        },
    ],
)
def test_calls_results_and_files_are_sources_too(part: Part) -> None:
    assert is_grounded("8841 in src/app/main.py", [message_source(said(part), SEOUL)])


def test_bytes_are_no_source() -> None:
    picture = {"type": "image", "data": b64encode(b"a picture").decode() + "/8841"}
    linked = {"type": "image", "url": f"data:image/png;base64,{picture['data']}"}

    for one in (picture, linked):
        assert not is_grounded("8841", [message_source(said({"type": "tool_result", "output": [one]}), SEOUL)])


def test_what_was_so_before_may_be_said_in_any_source() -> None:
    said_now, said_before = (
        message_source(said(text, seq=seq), SEOUL) for seq, text in ((2, "make it 5"), (1, "it is 8"))
    )
    now, before = (Ground(sources=[source]) for source in (said_now, said_before))

    for line in ("It is 5 (before: 8).", "Es sind 5 (vorher: 8).", "现在是5（之前8）", "الآن 5 (قبل: 8)"):
        assert stands_on(line, [now], anywhere=before)
        assert not stands_on(line, [now])
        assert not stands_on(line.replace("8", "9"), [now], anywhere=before)
    assert not stands_on("It is 8.", [now], anywhere=before)


def test_reasoning_is_no_source() -> None:
    thought: Part = {"type": "reasoning", "text": "maybe 8841"}

    assert not is_grounded("It is 8841.", [message_source(said(thought), SEOUL)])


def test_a_reference_to_a_source_message_is_no_number() -> None:
    source = message_source(said("hello", seq=12), SEOUL)

    assert is_grounded("As said (see #12).", [source])
    assert not is_grounded("As said (see #13).", [source])


def test_claims_may_come_from_several_sources() -> None:
    sources = [message_source(said(text), SEOUL) for text in ("it was 5", "and 6")]

    assert is_grounded("It was 5 and 6.", sources)
    assert list(unfounded("It was 5 and 7.", [Ground(sources=sources)])) == ["7"]


def test_a_line_being_condensed_is_a_source_with_its_day_and_time() -> None:
    source = item_source(Item(text="User moved yesterday.", day="May 8, 2023", time="10:00"))

    assert is_grounded("User moved on May 7, 2023, noted at 10:00.", [source])


def test_nothing_can_be_computed_from_a_line_without_a_day() -> None:
    source = item_source(Item(text="User moved last year.", day="then"))

    assert not is_grounded("User moved in May 2022.", [source])
    assert not is_grounded("User moved in 2022.", [source])


@pytest.mark.parametrize(
    ("line", "cites", "expected"),
    [
        ("Melanie went camping.", [1], False),
        ("Melanie's family went camping.", [1], False),
        ("Caroline went camping.", [1], True),
        ("Caroline went camping.", [1, 2], False),
        ("Caroline went camping.", [3], True),
        ("Caroline sings.", [4], False),
        ("Caroline went camping.", [], False),
        ("Camping was fun for Caroline.", [1], False),
        ("Search found a tent.", [1], False),
    ],
)
def test_who_is_only_spoken_to_says_nothing_of_it(line: str, cites: list[int], expected: bool) -> None:
    said_by = [
        (1, "Melanie", "We went camping, Caro! It was fun."),
        (2, "Caroline", "Hey Mel! So did we."),
        (3, "Melanie", "Thanks, Caroline!"),
        (4, "Melanie", "I heard that Caroline sings."),
    ]
    tool = replace(said("tents", seq=5, name="search"), role=Role.TOOL)
    messages = [*(said(text, seq=seq, name=name) for seq, name, text in said_by), tool]
    grounds = Grounds([message_source(message, SEOUL) for message in messages])

    assert grounds.misattributed(line, [Cite(seq, seq) for seq in cites]) is expected


def test_where_one_alone_has_a_name_a_line_may_begin_with_it() -> None:
    grounds = Grounds([message_source(said("hello", name="Ana"), SEOUL), message_source(said("hi", seq=2), SEOUL)])

    assert not grounds.misattributed("Ana was greeted.", [Cite(2, 2)])


json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@example(text="@ß", value=None)
@given(st.text(), json_values)
def test_every_text_is_grounded_in_itself_and_nothing_raises(text: str, value: Any) -> None:
    part: Part = {"type": "tool_result", "tool_call_id": "c", "output": value}

    assert is_grounded(text, [message_source(said(text, part), SEOUL)])


SPANS = st.tuples(st.integers(1, 12), st.integers(0, 4)).map(lambda span: (span[0], span[0] + span[1]))


@given(st.lists(st.lists(SPANS, max_size=3).map(tuple), max_size=8), SPANS)
def test_a_citation_names_all_that_it_touches_in_whatever_order_they_stand(
    seqs: list[Ranges], cite: tuple[int, int]
) -> None:
    touched = [at for at, each in enumerate(seqs) if any(first <= cite[1] and cite[0] <= last for first, last in each)]

    assert Cited(seqs, list).of([Cite(*cite)]) == [touched or list(range(len(seqs)))]
