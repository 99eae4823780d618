"""Tells whether a query only asks what was said or done at the time it names: "What did I tell you last May?". Pure.

The words of such a query are not searched for: they are elsewhere in a long session too. The words here are of the
languages in which times are known (time_words.py); stop words are those of the search.
"""

from typing import Final

import regex

from app.recall.languages import ENGLISH, language_of, stop_words

# Words of saying, doing, happening and asking, in every form; "do" is a stop word too, but counts as one of these.
_TOLD_WORDS: Final = """
say said saying says tell told telling mention mentioned mentioning talk talked talking speak spoke spoken chat
chatted chatting discuss discussed discussing conversation conversations message messages write wrote written happen
happens happened happening ask asked asking do did doing done
gesagt sagte sagten sage sagen erzählt erzählte erzählten erwähnt erwähnte geredet redeten gesprochen sprachen
besprochen geschrieben schrieb gemacht machte machten getan tat taten passiert passierte geschehen geschah gefragt
dit dis disais disait raconté racontais parlé parlions discuté mentionné écrit fait faisais passé demandé
dije dijo dijiste dijimos dicho conté contaste contó hablé hablamos hablado hablaste mencioné mencionaste escribí
hice hiciste hizo hicimos hecho pasó ocurrió sucedió pregunté
disse disseste dissemos dito contei contou falei falamos falou falaste mencionei escrevi fiz fez fizemos feito
aconteceu passou perguntei
detto dissi raccontato parlato menzionato discusso scritto fatto successo accaduto chiesto
gezegd zei zeiden verteld vertelde gepraat praatten gesproken besproken genoemd geschreven gedaan deed deden gebeurd
gebeurde gevraagd
говорил говорила говорили сказал сказала сказали рассказал рассказала рассказывал рассказывала обсуждали упомянул
упомянула писал писала делал делала делали сделал сделала сделали произошло происходило случилось спросил спросила
뭐라고 말했지 말했어 말했나 말했나요 말했는지 말했습니까 이야기했지 이야기했어 이야기했나 얘기했지 얘기했어 얘기했나
했지 했어 했나 했나요 했는지 했습니까 있었지 있었어 있었나
"""
# Other words of such queries. Russian and Korean have no stop words here; the short French and Italian words are what
# an apostrophe cuts off.
_OTHER_WORDS: Final = """
remind remember recall know please anything everything something thing things stuff exactly
qu j l d s t c n m dell nell est
что я мы ты вы о об в во на и мне нам тебе он она они со с у было был была были это тогда
뭐 뭘 무엇을 무엇 무슨 말 말을 이야기 이야기를 얘기 얘기를 하고 일이 일 우리 우리가 우린 내가 나는 난 나 제가 저는
네가 기억나 기억해 알려줘 대해 대해서 에 에는 의 부터 그때
"""
_TOLD: Final = frozenset(_TOLD_WORDS.split())
_OTHERS: Final = frozenset(_OTHER_WORDS.split())
_TOLD_UNSPACED: Final = (
    "[说說讲講聊谈談提]到?[过過了]?|告[诉訴]|[做干幹]了?|[发發]生了?"
    "|[話言](?:し|っ|い)?(?:てい)?(?:た|ました)|話をした|し(?:た|ました|ていた)|あった|ありました|起(?:きた|こった)"
)
_OTHERS_UNSPACED: Final = (
    "[我你您他她]们?|[我你他她]們|咱[们們]|什[么麼]|甚麼|啥|[的了过過在和跟吗嗎呢有些哪都]|事情?|那[时時天]|[请請][问問]?|[记記]得"
    "|(?:私|僕|俺|わたし|ぼく)(?:たち|達)?|何(?:か|に)?|[はがもをとにのでか]|について|っけ|です|でした|こと|どんな"
)
_RUN: Final = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}ー]+")
_RUN_ASKED: Final = regex.compile(rf"(?:(?P<told>{_TOLD_UNSPACED})|{_OTHERS_UNSPACED})*+")
_WORD: Final = regex.compile(r"\w+(?:['’]\w+)*")


def asks_what_was_said(text: str, *, told: bool) -> bool:
    """Whether ``text``, a query without its time, only asks what was said; ``told``: with a word of saying or doing."""
    runs = [_RUN_ASKED.fullmatch(run[0]) for run in _RUN.finditer(text)]
    words = [word[0].casefold().replace("’", "'") for word in _WORD.finditer(_RUN.sub(" ", text))]
    tells = not _TOLD.isdisjoint(words)
    known = stop_words(language_of(words, telling=1 if tells else 2) or ENGLISH) | _OTHERS | _TOLD
    if not all(runs) or not all(word in known or known.issuperset(word.split("'")) for word in words):
        return False
    return not told or tells or any(run["told"] for run in runs if run)
