"""Phrases by which a user closes a topic or opens another (memory-rules.md 3.5): few, and matched whole.

A message closes a topic if it says nothing else: each of its clauses is a closing phrase or a courtesy. It opens one if
its first clause beside courtesies is an opening phrase. So "that's all, thanks" closes one, and neither "is that all?"
nor "I had bread, that's all" does. To miss the end of a topic is better than to take a sentence for one.
"""

import re
from collections.abc import Iterator
from typing import Final

from app.kit.patterns import lazy_pattern
from app.kit.words import any_of

CLOSING: Final = frozenset(
    {
        *("that's all", "that's all for now", "that's all for today", "that's it for now", "that's it for today"),
        *("that will be all", "that'll be all", "nothing else", "nothing else for now", "all done", "we're done here"),
        *("case closed", "topic closed", "task done", "task complete", "issue resolved", "you can close this"),
        *("eso es todo", "eso es todo por ahora", "eso es todo por hoy", "nada más", "tema cerrado"),
        *("das ist alles", "das wäre alles", "das war's", "das war es", "das war alles", "das war's für heute"),
        *("c'est tout", "c'est tout pour l'instant", "ce sera tout", "ce sera tout pour aujourd'hui"),
        *("è tutto", "è tutto per ora", "é tudo", "é tudo por agora", "isso é tudo", "é só isso"),
        *("это всё", "это все", "на этом всё", "на этом все", "пока всё", "пока все"),
        *(
            "그게 다예요",
            "그게 다야",
            "이게 다예요",
            "여기까지예요",
            "여기까지 할게요",
            "오늘은 여기까지",
            "이상입니다",
        ),
        *(
            "就这样",
            "就这些",
            "就这些了",
            "没别的了",
            "没有别的了",
            "今天就到这里",
            "先这样",
            "就這樣",
            "就這些",
            "今天就到這裡",
        ),
        *("bu kadar", "hepsi bu", "hepsi bu kadar", "şimdilik bu kadar", "هذا كل شيء", "هذا كل ما لدي", "बस इतना ही"),
        *("以上です", "それだけです", "それで全部です", "今日はここまで", "今日はここまでです", "もう大丈夫です"),
    }
)
OPENING: Final = frozenset(
    {
        *("new topic", "next topic", "another topic", "different topic", "new subject", "new task", "next task"),
        *("let's move on", "moving on", "let's change the subject", "let's change the topic", "changing the subject"),
        *("let's talk about something else", "let's switch topics", "switching topics", "on another note"),
        *("on a different note", "on an unrelated note", "unrelated question", "completely different question"),
        *("otro tema", "nuevo tema", "cambiando de tema", "cambiemos de tema", "pasemos a otro tema", "otra cosa"),
        *("neues thema", "anderes thema", "nächstes thema", "themenwechsel", "lass uns das thema wechseln"),
        *("nouveau sujet", "autre sujet", "changeons de sujet", "passons à autre chose", "sujet suivant"),
        *("nuovo argomento", "cambiamo argomento", "novo assunto", "mudando de assunto", "outro assunto"),
        *("новая тема", "другая тема", "следующая тема", "сменим тему", "давай сменим тему", "давайте сменим тему"),
        *("다른 주제", "새로운 주제", "다음 주제", "다른 이야기인데", "다른 얘긴데", "주제를 바꿔서", "화제를 바꿔서"),
        *("다음 주제로 넘어가자", "다음 주제로 넘어가죠", "다음으로 넘어가자", "다음으로 넘어가죠"),
        *(
            "换个话题",
            "换一个话题",
            "新话题",
            "下一个话题",
            "说点别的",
            "換個話題",
            "換一個話題",
            "新話題",
            "下一個話題",
        ),
        *("başka bir konu", "yeni konu", "konuyu değiştirelim", "موضوع آخر", "موضوع جديد", "दूसरी बात", "नया विषय"),
        *("話は変わりますが", "話は変わるけど", "話を変えますが", "別の話題", "別の話ですが", "次の話題", "新しい話題"),
    }
)
OPENING_WITH: Final = ("let's move on to ", "now let's move on to ", "moving on to ", "let's switch to a new topic")
COURTESIES: Final = frozenset(
    """ok|okay|alright|all right|right|good|great|perfect|excellent|cool|nice|fine|no|nope|yes|yeah|well|so|now|anyway
    thanks|thank you|thanks a lot|thank you very much|thank you so much|many thanks|thanks for your help|thx|cheers
    bye|goodbye|see you|have a nice day|gracias|muchas gracias|vale|bueno|bien|perfecto|no gracias|adiós
    danke|vielen dank|danke schön|gut|super|nein|nein danke|tschüss|merci|merci beaucoup|d'accord|très bien|non|bon
    grazie|grazie mille|va bene|obrigado|obrigada|muito obrigado|está bem|спасибо|большое спасибо|хорошо|ладно|нет
    teşekkürler|teşekkür ederim|tamam|sağ ol|شكرا|شكرا لك|شكرًا|حسنا|धन्यवाद|शुक्रिया|ठीक है
    네|예|아니요|좋아요|좋아|알겠어요|알겠습니다|감사합니다|고마워요|고마워|고맙습니다|그럼|자
    好|好的|好了|谢谢|谢谢你|多谢|不用了|没有|嗯|那|謝謝|謝謝你|沒有|はい|いいえ|わかりました|了解です
    ありがとう|ありがとうございます|ありがとうございました|では|じゃあ|さて|それでは""".replace("\n", "|")
    .replace("    ", "")
    .split("|")
)

CHARS_MAX: Final = 200  # of a message that closes a topic, and of the head of one that opens another
_COURTEOUS: Final = lazy_pattern(any_of(COURTESIES))
# A quick test for every append: how all messages begin that open or close a topic, and hardly any other. Compiled at
# import, as the first append needs it.
_TURNING: Final = re.compile(
    rf"(?:{any_of(COURTESIES)}(?!\w)|\W)*+{any_of(CLOSING | OPENING | frozenset(OPENING_WITH))}"
)
_BLANKS: Final = lazy_pattern(r"[ \t]+")
_CLAUSE: Final = lazy_pattern(r"[^.,;:!?\n…。、，；：！？—–،؛؟।]+[.,;:!?\n…。、，；：！？—–،؛؟।]?")


def turns(text: str) -> bool:
    """Whether a user's message closes a topic or opens another."""
    if _TURNING.match(_plain(text[:CHARS_MAX])) is None:
        return False
    return opens(text) or closes(text)


def closes(text: str) -> bool:
    """Whether a user's message closes a topic and says nothing else."""
    if len(text) > CHARS_MAX:
        return False
    said = [clause for clause in _clauses(text) if not _is_courteous(clause)]
    return bool(said) and all(clause in CLOSING for clause in said)


def opens(text: str) -> bool:
    """Whether a user's message begins by opening another topic."""
    first = next((clause for clause in _clauses(text[:CHARS_MAX]) if not _is_courteous(clause)), "")
    return first in OPENING or first.startswith(OPENING_WITH)


def _is_courteous(clause: str) -> bool:
    """One courtesy or several: "ok thanks"."""
    return _COURTEOUS.match(clause) is not None and not _COURTEOUS.sub("", clause).strip()


def _clauses(text: str) -> Iterator[str]:
    """The clauses in lower case and without punctuation; a question keeps its mark, so that it matches no phrase."""
    for found in _CLAUSE.finditer(_plain(text)):
        clause = found[0].strip().rstrip(".,;:!…。、，；：！—–،؛।").rstrip()
        if clause:
            yield clause.replace("？", "?").replace("؟", "?")


def _plain(text: str) -> str:
    text = text.casefold().replace("’", "'")
    return _BLANKS.sub(" ", text) if "  " in text or "\t" in text else text
