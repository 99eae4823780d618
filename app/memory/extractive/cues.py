"""Cues for what a sentence does: decide, prefer, plan, report an error or an outcome, ask, or only keep the talk going.

Cues are surface words in English, Chinese, Japanese and Korean, and in ``european_cues`` of five other languages; for
decisions, wishes and corrections also some in Polish, Russian, Arabic and Hindi. In other languages the signals of
``scoring`` that need no vocabulary (numbers, names, novelty) still hold.
"""

import re
from dataclasses import dataclass

from app.kit.patterns import lazy_pattern
from app.memory.extractive import european, european_cues, european_lasting
from app.memory.model import Tag


@dataclass(frozen=True, slots=True)
class _Cue:
    """Words to find in lower-case text, as two patterns: ignoring case, or joining the two, costs twice as much.

    A match of ``english`` does not count if ``unless`` matches at the end of the words before it, nor one of
    ``european`` if ``undone`` does.
    """

    english: re.Pattern[str]
    other: re.Pattern[str]
    european: re.Pattern[str]
    unless: re.Pattern[str] | None = None
    undone: re.Pattern[str] | None = None

    def is_in(self, text: str) -> bool:
        lowered = text.lower()
        if _holds(self.english, lowered, self.unless) or self.other.search(lowered) is not None:
            return True
        told = european.said(text)
        return told != "" and _holds(self.european, told, self.undone)


def _holds(pattern: re.Pattern[str], text: str, unless: re.Pattern[str] | None) -> bool:
    if unless is None:
        return pattern.search(text) is not None
    starts = (found.start() for found in pattern.finditer(text))
    return any(not unless.search(text, max(0, start - BEFORE), start) for start in starts)


def _cue(
    english: str,
    other: str,
    also: re.Pattern[str],
    *,
    unless: re.Pattern[str] | None = None,
    undone: re.Pattern[str] | None = None,
) -> _Cue:
    return _Cue(lazy_pattern(rf"\b(?:{english})\b"), lazy_pattern(other), also, unless, undone)


# Quotations, quoted lines of a mail, and captions: their words say nothing of the sentence they stand in. The length is
# bounded: else the rest of the text would be searched for the end of each that has none.
_NOT_OWN = lazy_pattern(
    r'"[^"]{12,400}"|“[^“”]{12,400}”|„[^“”]{12,400}[“”]|«[^«»]{12,400}»|[「『][^「」『』]{6,400}[」』]'
    r"|^\[[^\[\]]*\]$|^> .*"
)

# Lookbehinds from behind a word of so many letters: few sentences have the word, so that they are rarely tried.
_NOT_BEFORE = "".join(rf"(?<!{no} \w{{{n}}})" for n in (4, 6, 7) for no in ("n['’]t", "not", "never", "yet"))
_DECISION = _cue(
    # What must not stand before a word is checked behind it: few sentences have the word.
    r"(?:decided|agreed(?= (?:to|on|that)\b)|(?:made|took)(?= (?:my|our|the|a) (?:final )?decision\b))"
    rf"{_NOT_BEFORE}|(?:my|our|final) decision (?:is|was)|decision:|we agreed|chose|settled on"
    r"|going with(?<!keep going with)(?<!keeps going with)"
    r"|go with(?<!to go with)|(?:gonna|going to|want to|like to) go with|let's use|opted|made up my mind"
    # Consent, which settles an offer made in earlier words.
    r"|please (?:\w+ )?(?:proceed|go ahead|cancel|book|use|change|upgrade|downgrade|update|remove|add|charge)"
    r"|go ahead (?:and|with)|proceed with|i confirm"
    r"|let's (?:just )?(?:proceed|cancel|book|go ahead|move on|stick with)",
    r"결정했|(?<!설)(?<!규)(?<!수)(?<!측)(?<!지)정했|하기로|고르기로|(?<!的)(?<!来)(?<!來)(?<![没不未])(?<!没有)决定(?!的|权|性|因素)|(?<!の)決定|选定"
    r"|決め(?!てい?(?:ません|ない|なかった)|られ)|(?:する|[くぐすつぬぶむるう])ことにし(?:ました|た(?![らい]))"
    r"|\b(?:postanowi\w+|zdecydowa\w+|решил[аи]?)\b|قررنا|قررت|तय किया|फैसला किया",
    european_cues.DECISION,
    undone=european_cues.UNDONE,
)
# Between a person and what they like: "I got stuff like this" and "I feel like it" tell no taste.
_ADVERB = (
    r"(?: (?:really|also|do|did|does|still|just|always|never|even|quite|often|both|all|only|actually|used to|would"
    r"|too|rather|\w+ly))"
)
_PREFERENCE = _cue(
    rf"(?:i|we){_ADVERB}{{0,2}} (?:like|love|enjoy|prefer|hate|dislike|want)"
    rf"|i(?:'m| am)(?:{_ADVERB}| very| so| totally| not)? (?:into|a (?:\w+ )?fan|fond)|prefer|favou?rites?|can't stand"
    r"|allergic|i'd rather|i(?:'d| would)(?: \w+)? (?:like|love)|passionate about"
    r"|from now on|a rule|(?:^|please )(?:always|never)"
    r"(?! (?:had|been|here|saw|thought|knew|seen|got|did|felt|heard|met|were|was|mind|give up|\w+ed|\w+ing)\b)"
    r"|(?:^|(?:please|but|and) )(?:don't|do not)"
    r"(?! (?:worry|forget|mind|hesitate|give up|be|know|think|get|let|you|we|i|miss|feel|have)\b)",
    r"좋아|싫어|선호|즐겨|喜欢|喜歡|偏好|讨厌|討厭|最爱|最愛|好き|嫌い|好む|大好"
    r"|\b(?:wolę|предпочитаю|nie lubię|не люблю|uczulon[ya]|аллергия)\b|أفضّل|أفضل أن|لا أحب|حساسية|पसंद|एलर्जी",
    european_cues.PREFERENCE,
)
_NEXT_STEP = _cue(
    r"i'll(?! (?:always|never))|i will(?! (?:always|never))|we'll|we will"
    r"|(?:am|are|i'm|we're) (?:going to|gonna|about to)|plan(?:s|ning)? (?:to|on)"
    r"|next steps?"
    r"|(?:need|have|needs) to|todo|to-do|hop(?:e|ing) to|deadline|due (?:on|by)|remind me|scheduled"
    r"|next (?:week|month|year)"
    r"|tomorrow|looking forward to|working on|want(?:s|ing)? to",
    r"예정|계획|할 거|하려고|내일|다음 ?주|(?<![不没沒])(?:打算|计划|計劃|准备|準備)|将要|明天|下周|予定"
    r"|つもり|計画|明日|来週|するつもり",
    european_cues.NEXT_STEP,
)
_ISSUE = _cue(
    r"(?<!\bno )(?<!\b0 )(?<!\bwithout )(?:errors?|exceptions?|failures?|bugs?|problems?|timeouts?)"
    r"|traceback|fail(?:s|ed|ing)?|broken|crash(?:es|ed|ing)?|unable to|denied"
    r"|does(?:n't| not) work|timed out|stuck|blocked|invalid|not found|regression",
    r"오류|에러|실패|문제가|错误|錯誤|失败|失敗|异常|異常|报错|故障|エラー|不具合|問題が"
    r"|error\b(?<=\werror)|exception\b(?<=\wexception)",
    european_cues.ISSUE,
    undone=european_cues.UNDONE,
)
# Words before a cue, in its clause, by which it is not done, may be, or is to be.
_UNDONE = lazy_pattern(
    r"(?:n['’]t|\b(?:not|never|cannot|none|nobody|to be"
    r"|(?:can|could|may|might|must|should|would|will)(?: \w+)? (?:be|have)"
    r"|to get|to have|trying|yet to|once|until|unless|if|whether|when (?:you|it)|after you))\b[^,.;!?]{0,30}$"
)
BEFORE = 60  # characters before a cue that are searched
_OUTCOME = _cue(
    r"finished|completed|done|fixed(?<!\bmy fixed)(?<!\bno fixed)(?<!\ba fixed)(?<!\bthe fixed)"
    r"(?! (?:prices?|expenses|costs?|rates?|income|home|assets?|schedule))|resolved|solved|succeeded|successfully"
    r"|merged|deployed|released|shipped|published|confirmed|booked|cancell?ed|refunded"
    r"|passed(?! (?:away|down|on\b|out))|won(?!['’]t)|got the job|graduated|got accepted"
    r"|(?:been|was|were|is|are|it|they|offer) accepted|accepted (?:the|my|our|an?|their)|launched|created|updated",
    r"완료|성공|끝냈|마쳤|해결|해냈|完成了|成功了|已(?:经|經)?(?:完成|解决|解決|成功)|解决了|解決(?:了|し)|搞定|通过了"
    r"|終わっ(?!てい?(?:ません|ない))|終えた|できました|終了",
    european_cues.OUTCOME,
    unless=_UNDONE,
    undone=european_cues.UNDONE,
)
_DEED = (
    r"(?:finished|completed|done|fixed|booked|cancell?ed|refunded|confirmed|merged|deployed|created|updated|resolved"
    r"|solved|processed)"
)
_OWN_DEED = _cue(
    rf"(?:has|have)(?: (?:now|also|already|all|just|successfully))* been (?:now |successfully |fully )?{_DEED}"
    rf"|(?:is|are|was|were) (?:now |already |successfully |fully )(?:been )?{_DEED}"
    rf"|your [^.]{{0,60}}\b(?:is|are|was|were) {_DEED}"
    rf"|(?:i|we)(?:['’]ve| have)?(?: now| just| also| successfully| already)* {_DEED}"
    r"|(?:(?:i|we)(?:['’]ve| have)?|been|is|are|was|were) successfully \w+"
    r"|(?:(?:been|was|were) \w+|completed|finished|ran) successfully(?!\s(?!and\b)\w)",
    rf"^\W*(?:all |now )?{_DEED}\b(?![^.!?]{{0,40}}:)"
    r"|(?:已(?:经|經)?|帮您|幫您).{0,8}(?:完成|解决|取消|预订|預訂)|完了しました|(?:완료|처리)(?:됐|되었|했|하였)",
    european_cues.OWN_DEED,
    unless=_UNDONE,
    undone=european_cues.UNDONE,
)
_TAGS = (
    (Tag.DECISION, _DECISION),
    (Tag.ISSUE, _ISSUE),
    (Tag.NEXT_STEP, _NEXT_STEP),  # before outcome: "it will be merged" is not done
    (Tag.OUTCOME, _OUTCOME),
    (Tag.PREFERENCE, _PREFERENCE),
)

_FIRST_PERSON = _cue(
    r"i|i'm|i've|i'd|i'll|me|my|mine|myself|we|we're|we've|our|us",
    r"^(?:나|저|내|제|우리)|(?:나는|저는|내가|제가|우리)|我|咱|私|僕|俺",
    european_cues.FIRST_PERSON,
)
_QUESTION = lazy_pattern(r"[?？؟][\"'”’」』）)\]]*$|(?:까|니|나요|가요|어때|ですか|ますか|吗|呢)[.。]?$")
# Questions typed without a mark; with another mark it is no question: "What matters to me is my family."
_UNMARKED_QUESTION = lazy_pattern(
    r"(?:(?:and|but|so|ok|okay|hey|hi|also),? )?"
    r"(?:(?:how|what|why|where|who|when|which)(?:'s)? (?:can|could|do|does|did|is|are|was|were|should|would|will|to"
    r"|many|much|long|often|about|if|(?:kind|sort|type)s? of)|(?:is|are|was|were) (?:it|there|this|that|these|they)"
    r"|(?:do|does|did) (?:you|it|they|we|i)|(?:am|was|can|could|may|shall|should|will|would) (?:i|we))\b.*[^.!]",
    re.IGNORECASE,
)
_REQUEST = _cue(
    r"(?:can|could|would|will) you|please|pls|help me|i (?:need|want|would like)|i'd like|show me|tell me|give me"
    r"|write|create|make|find|fix|explain|how (?:do|can|should) i|what should i|recommend|suggest",
    r"주세요|줘|알려|해 ?줄|부탁|请|請|帮我|幫我|给我|告诉我|ください|お願い|教えて|してほしい",
    european_cues.REQUEST,
)
_PLEASANTRY = lazy_pattern(
    r"^(?:(?:oh|wow|yeah|yes|yep|no|ok|okay|sure|well|so|aww?|haha|lol|hey|hi|hello|thanks?|thank you|cool|nice|great"
    r"|awesome|amazing|congrats|congratulations|bye|good (?:morning|night|evening|to (?:see|hear))|no problem"
    r"|you're welcome|have a (?:good|great|nice)|sounds (?:good|great|fun|awesome|amazing)|take care|see you"
    r"|talk (?:to you )?soon"
    r"|안녕|고마워|감사|네|응|그래|좋아요|你好|您好|谢谢|謝謝|好的|嗯|是的|再见|こんにちは|ありがとう|はい|そうです"
    r"|おはよう|こんばんは|なるほど)(?:\b|(?=[,!.！。，、])|$))",
    re.IGNORECASE,
)
_CORRECTION = _cue(
    r"i meant|(?:i|we) (?:didn't|did not) (?:say|mean)|just kidding|(?<!from )scratch (?:that|what)"
    r"|(?:^|please )forget (?:the|that|it|about|what)|(?<!to )make (?:that|it) \d[\d:.,]*"
    r"|(?:my mistake|i misspoke|i was wrong|typo|correction)"
    r"|(?:^|wait,? )no\b(?=[,.! –—-]+(?:"
    r"i(?! (?:haven't|didn't|don't|have not|think (?:that (?:covers|is)|that's|i've got)))"
    r"|(?:it|that)\b(?!(?:'s| is| was)? (?:all|it|fine|ok|okay|good|great|perfect|enough)\b"
    r"| (?:helps|covers|works|clears|answers)\b)|the|not(?! really)"
    r"|we|we're|make|sorry|he|she|they|this|there|a|\d+)\b)"
    r"|^actually,? (?:no|not|forget|it|it's|that's|the|let's|make|don't|i (?:need|meant|want)"
    r"|i'd (?:rather|prefer|like))"
    r"|^that's not|sorry, (?:not|i|it|the|that|\d)"
    r"|(?<=, )not (?!(?:just|only|all|really|having)\b)(?:\w+ ){0,3}\w+(?=[.!]?$)",
    r"^(?:nie|нет|नहीं|لا|아니|いや|不对|不對|不是)[,،、，]"
    r"|chodziło mi|pomylił|имела? в виду|ошибся|ошиблась|قصدي|أقصد"
    r"|मेरा मतलब|아니라|말고|更正|说错|說錯|我是说|我是說|ではなく|じゃなくて|間違え",
    european_cues.CORRECTION,
)
_ADMISSION = _cue(
    r"my mistake|i misspoke|i was wrong|correction|i apologi[sz]e|(?:^|i'm |am )sorry|you(?:'re| are) right",
    r"对不起|抱歉|更正|죄송|申し訳|すみません|失礼しました",
    european_cues.ADMISSION,
)
_SECOND_PERSON = _cue(
    r"you|your|you're|you've|you'll|yours", r"너는|네가|당신|你|您|あなた", european_cues.SECOND_PERSON
)
_OPINION = lazy_pattern(
    r"^(?:that(?:'s| is| sounds| must)|it(?:'s| is| sounds| must)|this is|sounds|what an?|how \w+!|so (?:glad"
    r"|happy|proud)"
    r"|i(?:'m| am) (?:so |really |very )?(?:glad|happy|proud|sorry) (?:for|to hear|you|of)|glad|good luck|keep"
    r"|if you (?:need|have)|feel free|let me know)\b",
    re.IGNORECASE,
)


def tag_of(sentence: str) -> Tag:
    """The first tag whose cue is in its own words; a question, or a sentence without a cue, is a fact."""
    if is_question(sentence):
        return Tag.FACT
    own = own_words(sentence)
    return next((tag for tag, cue in _TAGS if cue.is_in(own)), Tag.FACT)


def own_words(sentence: str) -> str:
    """The sentence without its quotations, longer titles included; a caption is all quotation."""
    return _NOT_OWN.sub(" ", sentence)


def is_first_person(sentence: str) -> bool:
    return _FIRST_PERSON.is_in(own_words(sentence))


def is_correction(sentence: str) -> bool:
    """Whether it takes back what was said before."""
    return not is_question(sentence) and _CORRECTION.is_in(own_words(sentence))


def is_admission(sentence: str) -> bool:
    """Whether the speaker admits to have been wrong."""
    return _ADMISSION.is_in(own_words(sentence))


def is_own_deed(sentence: str) -> bool:
    """Whether it tells that something was done, not how things are done: for an assistant, which mostly explains."""
    return _OWN_DEED.is_in(own_words(sentence))


def is_second_person(sentence: str) -> bool:
    return _SECOND_PERSON.is_in(sentence)


def is_question(sentence: str) -> bool:
    if _QUESTION.search(sentence) is not None or _UNMARKED_QUESTION.fullmatch(sentence) is not None:
        return True
    return european.has(sentence, european_cues.UNMARKED_QUESTION)


def is_request(sentence: str) -> bool:
    return _REQUEST.is_in(sentence)


def is_pleasantry(sentence: str) -> bool:
    return _PLEASANTRY.match(sentence) is not None and not _asserts(sentence)


def is_reaction(sentence: str) -> bool:
    """Whether it is about the other or their words, and asserts nothing of the speaker."""
    if _OPINION.match(sentence) is not None:
        return True
    if is_second_person(sentence) and not is_first_person(sentence):
        return not european.has(sentence, european_cues.RULE)
    return european.has(sentence, european_cues.REACTION) and not _asserts(sentence)


def _asserts(sentence: str) -> bool:
    """Whether it tells something, as it may behind a greeting: "Hola, me llamo Ana", "No como carne"."""
    telling = (european_lasting.PROFILE, european_cues.PREFERENCE, european_cues.DECISION)
    return any(european.has(sentence, cue) for cue in telling)


def is_error(text: str) -> bool:
    return _ISSUE.is_in(text)
