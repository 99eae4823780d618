"""Queries of a Korean, Chinese or Japanese reader, also mixed with Latin words: each finds what it is about.

Written by hand on real dialogues; those are read where they are (README, Tests), and only their turns are named here.
"""

import json
from datetime import datetime
from functools import cache
from pathlib import Path
from uuid import UUID

import pytest

from app.recall.candidates import indexed_of
from app.recall.indexing import Entry, Last, entries
from app.recall.model import Indexed, Scope
from app.recall.ranking import ranked
from app.recall.tokens import query_terms
from app.sessions.model import Kind, Message, Role

SESSION = UUID(int=1)
TOP = 10

# File, the turns of it that are searched, the query, and the turn that answers it.
ZH, ZH_LONG = ("zh_memorybank", "memorybank-zh-张曼婷"), ("zh_xpersona_long60", "xpersona-zh-long")
JA_LONG, KO_LONG = ("ja_xpersona_long60", "xpersona-ja-long"), ("ko_xpersona_long60", "xpersona-ko-long")
KO = ("ko_hgtods_manual", "hgtods-manual")
QUERIES = [
    (ZH, "清蒸鲈鱼怎么做", "19"),
    (ZH, "AI伴侣 鲈鱼", "19"),
    (ZH, "绿禾公园的景色", "13"),
    (ZH, "出租车司机这部电影", "31"),
    (ZH, "乔治·奥威尔", "46"),
    (ZH, "小说1984", "46"),
    (ZH, "辣子鸡", "25"),
    (ZH, "钢琴演奏的书籍", "4"),
    (ZH, "博物馆的展览", "52"),
    (ZH, "文化遗产", "55"),
    (ZH, "文艺复兴的艺术风格", "67"),
    (ZH, "职业规划", "79"),
    (ZH, "演讲失误", "73"),
    (ZH, "画画水平", "61"),
    (ZH_LONG, "印度", "94"),
    (ZH_LONG, "摇滚和爵士乐", "218"),
    (ZH_LONG, "手机坏了", "342"),
    (ZH_LONG, "漂白头发", "373"),
    (ZH_LONG, "喝酒吸毒", "435"),
    (ZH_LONG, "教历史", "528"),
    (ZH_LONG, "加拿大", "652"),
    (ZH_LONG, "小丑鱼", "745"),
    (ZH_LONG, "三胞胎", "900"),
    (ZH_LONG, "5只猫", "869"),
    (ZH_LONG, "住在云里", "32"),
    (ZH_LONG, "星期日教书", "63"),
    (ZH_LONG, "乐观主义", "497"),
    (ZH_LONG, "烹饪节目", "683"),
    (ZH_LONG, "喜欢橘子", "249"),
    (JA_LONG, "三つ子", "900"),
    (JA_LONG, "カクレクマノミ", "745"),
    (JA_LONG, "5匹の猫", "869"),
    (JA_LONG, "インドの家族", "94"),
    (JA_LONG, "ライトジャズの録音", "218"),
    (JA_LONG, "携帯電話が壊れた", "342"),
    (JA_LONG, "髪のブリーチ", "373"),
    (JA_LONG, "歴史を教える", "528"),
    (JA_LONG, "カナダ", "652"),
    (JA_LONG, "日曜学校", "63"),
    (JA_LONG, "雲の中", "32"),
    (JA_LONG, "楽観主義", "497"),
    (JA_LONG, "料理番組", "683"),
    (JA_LONG, "平均給与", "311"),
    (JA_LONG, "湿度", "156"),
    (JA_LONG, "オールA", "807"),
    (JA_LONG, "二度目のチャンス", "559"),
    (KO_LONG, "머리 염색", "31"),
    (KO_LONG, "초등학교", "91"),
    (KO_LONG, "영화 클루리스", "121"),
    (KO_LONG, "보험", "151"),
    (KO_LONG, "여가시간의 도박", "241"),
    (KO_LONG, "동창회", "391"),
    (KO_LONG, "해군 입대", "781"),
    (KO_LONG, "바이올린", "721"),
    (KO_LONG, "수영과 이모", "811"),
    (KO_LONG, "부모님의 농장", "871"),
    (KO_LONG, "베이크 세일", "571"),
    (KO_LONG, "인간의 본성", "601"),
    (KO_LONG, "0.5마일", "481"),
    (KO_LONG, "놀이터", "841"),
    (KO_LONG, "행진곡", "631"),
    (KO, "S펜 글랜스", "drQT8dAqTXR3edEYtxWM9V:3"),
    (KO, "Samsung DeX 키보드 커버", "fkQEUGWabbtcFHaLMTANuC:10"),
    (KO, "실물 Apple Card", "6VZV9wn6Wpngz3CJ84VqHP:10"),
    (KO, "AirPlay로 사진 스트리밍 중단", "hAqB7ZZZSmcTSGuZP7AoHU:12"),
    (KO, "PIN 여러 번 잘못", "fF9FhTrzMQihkgB2WPyKt5:10"),
    (KO, "A/S 연락처 웹사이트", "AJgjQWb2LYucZitEdAqh6h:9"),
    (KO, "Smart Things 자세한 방법", "FQSxyvxzRXwrmMVXj468Jb:11"),
    (KO, "iPhone 지우기와 데이터 삭제", "MBpozH5uT2KhPXG7GBD87r:5"),
    (KO, "키 조합 Fn", "fkQEUGWabbtcFHaLMTANuC:10"),
]


@cache
def _indexed(path: Path, conversation: str) -> tuple[list[str], list[Entry]]:
    """The turns of a file that belong to a conversation, and what the index holds of them."""
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    said = [line for line in lines if line["conversation"].startswith(conversation)]
    messages = [_message(seq, line) for seq, line in enumerate(said, start=1)]
    return [line["turn_id"] for line in said], list(entries(messages, Last()))


def _message(seq: int, line: dict[str, str]) -> Message:
    return Message(
        seq=seq,
        id=line["turn_id"],
        kind=Kind.USER,
        role=Role(line["role"]),
        parts=({"type": "text", "text": line["content"]},),
        tokens=0,
        created_at=datetime.fromisoformat(line["created_at"]),
    )


def _found(query: str, held: list[Entry]) -> list[int]:
    words = query_terms(query)
    rows: list[Indexed] = [indexed_of(SESSION, entry, words) for entry in held]
    scope = Scope(
        messages=len(rows),
        length=sum(row.length for row in rows),
        segments=rows[-1].segment,
        having=[sum(word in row.counts for row in rows) for word in range(len(words))],
    )
    return [one.place[1] for one in ranked(words, rows, scope)[:TOP]]


@pytest.mark.parametrize(("where", "query", "turn"), QUERIES, ids=[query for _, query, _ in QUERIES])
def test_a_reader_finds_what_was_said(shared_data: Path, where: tuple[str, str], query: str, turn: str) -> None:
    file, conversation = where
    turns, held = _indexed(shared_data / "multilingual" / f"{file}.jsonl", conversation)
    separator = "-" if where is KO else ":"
    assert f"{conversation}{separator}{turn}" in [turns[seq - 1] for seq in _found(query, held)]


# Most pairs of a sentence are not of what it asks for.
SENTENCES = {
    "ja": [
        "{}について何と言いましたか",
        "{}のことを覚えていますか",
        "どうして{}なのでしょうか",
        "{}はどこでどうなりましたか",
    ],
    "ko": ["{}에 대해 뭐라고 했지?", "{}에 대해서 기억나?", "왜 {}라고 말했습니까?"],
    "zh": ["关于{}他说了什么", "{}是怎么回事？"],
}


@pytest.mark.parametrize(("where", "query", "turn"), QUERIES, ids=[query for _, query, _ in QUERIES])
def test_a_reader_who_asks_in_a_sentence_finds_it_too(
    shared_data: Path, where: tuple[str, str], query: str, turn: str
) -> None:
    file, conversation = where
    turns, held = _indexed(shared_data / "multilingual" / f"{file}.jsonl", conversation)
    separator = "-" if where is KO else ":"
    seq = turns.index(f"{conversation}{separator}{turn}") + 1
    missed = [sentence for sentence in SENTENCES[file[:2]] if seq not in _found(sentence.format(query), held)]
    assert not missed
