"""Detects text that gives the assistant orders, speaks for the user, or poses as a part of the prompt.

A user's message may do all of that; the text of a tool or a stranger may not. The patterns are few and match the
meaning, not a topic; text that they miss still cannot speak for the user (``app.memory.trust``).
"""

import re
from typing import Final

from app.kit.patterns import lazy_pattern
from app.memory.disguises import readings, unmarked

_INSTRUCTIONS: Final = (
    r"(?:instructions?|prompts?|rules?|guidelines?|directives?|orders|messages?|polic(?:y|ies)|restrictions?"
    r"|safety|context|everything|anything|all (?:that|of))"
)
_WILL: Final = (  # verbs of wanting and agreeing, after "the user"
    r"(?:prefer|want|wish|would like|like|love|hate|need|decid|ask|agree|authori[sz]|approv|confirm|consent"
    r"|request|instruct|sa(?:id|ys)|told|trust|grant|allow|demand|insist|order|chose|choose|has? (?:also |already "
    r"|explicitly )?\w+ed\b)"
)
_MODEL: Final = (  # forms of address
    r"(?:(?:all|any|the|every|to|this) )*"
    r"(?:ai|llms?|language models?|assistants?|chatbots?|ai agents?|agents?|observer|memory (?:agent|system|keeper))"
)
_ENGLISH: Final = (
    rf"\b(?:ignor|disregard|forget|overrid|bypass|discard|supersed)\w*\b.{{0,40}}\b{_INSTRUCTIONS}\b",
    r"\b(?:previous|prior|earlier|above|preceding|original) (?:instructions|prompts?|orders|directives|guidelines)\b",
    r"\bfrom (?:now|this point|here|today|this moment) (?:on|onwards?|forward)\b|\bgoing forward\b|\bhenceforth\b",
    (
        r"\b(?:all|any|every|in) (?:\w+ )?(?:future|later|subsequent|coming) (?:\w+ )?"
        r"(?:conversations?|sessions?|chats?|messages?|repl(?:y|ies)|responses?|answers?|turns?|requests?)\b"
    ),
    rf"\b(?:the|this|our|your|my|that) (?:end )?(?:user|customer|client|human)s? (?:\w+ ){{0,2}}{_WILL}",
    (
        r"\b(?:user|customer|client) (?:has |had )?(?:approved|agreed|consented|authori[sz]ed|confirmed|decided"
        r"|granted)\b"
    ),
    (
        r"\b(?:user|customer|human|owner|operator)(?:'s|s)?[ _](?:\w+[ _])?"
        r"(?:preferences?|decisions?|wish(?:es)?|consent|instructions?|request)\W{0,3}[:=]"
    ),
    (
        r"\b(?:remember|memori[sz]e|note|record|store|save|keep|add|write|commit|persist)\b.{0,60}"
        r"\b(?:(?:in|to|into) (?:\w+ ){0,2}(?:memory|memories|notes|log|profile)|permanently|forever|the user)\b"
    ),
    r"\b(?:please |always |must |and )?remember\b(?: that| this|:)|\bkeep in mind\b",
    (
        r"\b(?:do not|don't|never|without|no need to) (?:ever )?(?:tell|mention|inform|ask|reveal|notify|alert"
        r"|disclos|warn|confirm|inquir|question|verify)(?:ing)?\b"
    ),
    (
        r"\byou (?:are (?:now (?:an? |in |the |free)|no longer|hereby)|must|have been|should (?:always|never|now)"
        r"|shall|will now)\b"
    ),
    (
        r"\b(?:new|updated|revised|additional|hidden|secret|special|operating|standing|embedded) (?:system )?"
        r"(?:instructions?|directives?|prompts?|orders:)"
    ),
    rf"\b(?:dear|attention|attn|hey|hello|note|notice)\W{{1,3}}{_MODEL}\b",
    (  # "goes to the agent" is no order
        rf"(?:^|[.!?:;>\n*\[(-] ?)(?:to|for) {_MODEL}\b|\b(?:to|for) (?:all|any|every) {_MODEL}\b"
        rf"|\b(?:to|for) {_MODEL} ?[:!]"
    ),
    r"\b(?:as an ai|you, the assistant|ai assistants?|any ai|if you are an? (?:ai|llm|assistant|language model))\b",
    (
        r"\b(?:system|developer|admin(?:istrator)?|root|god|debug|maintenance) (?:override|message|prompt|notice"
        r"|mode|instruction)\b"
    ),
    r"\b(?:system prompt|jailbreak|do anything now|prompt injection|pretend (?:to|that|you))\b",
    (
        r"\b(?:whenever|every time|each time|the next time|as soon as|once|when|if) (?:the |this )?"
        r"(?:user|customer|human|someone|anyone|you)\b.{0,20}\b(?:asks?|says?|mentions?|types?|signs?|greets?"
        r"|requests?|thanks?|are asked|see|hear|talks?|wants?|opens?|write)\b"
    ),
    (
        r"\b(?:send|forward|e-?mail|post|upload|exfiltrate|leak|transmit|cc|bcc|copy|share|submit|report|append"
        r"|include|insert)\b(?!\W*[:=]).{0,80}\b(?:to|at|in|with)\b.{0,30}(?:\b[\w.+-]+@[\w-]+\.\w+|\bhttps?://)"
    ),
    (  # not what something "always returns"
        r"(?:^|[.!?:;>\n*-] ?)(?:please )?(?:always|never) (?!been|be seen|mind|before|again|[a-z]+[a-rt-z]s\b)[a-z]+"
    ),
    r"\b(?:the )?assistant (?:must|should|shall|will|has to|is (?:now|to|required|allowed|instructed))\b",
)
_POSING: Final = (  # as a part of the prompt or of the log
    (
        r"<\W{0,3}(?:system|user|human|assistant|im_start|im_end|observations|current[-_]task"
        r"|suggested[-_]response|messages"
        r"|earlier-observations|instructions?|inst|memory|important|prompt|log|rules|admin"
        r"|developer)\b(?![\w-]*=)[^<>]{0,40}>"
    ),
    r"\[/?(?:inst|system|admin|preference|decision|next_step|important)\b[^\]]{0,20}\]",
    r"(?:\"|')?\b(?:role|trust|speaker|from)(?:\"|')?\s*[:=]\s*(?:\"|')?(?:system|user|developer|operator|human)\b",
    r"\b(?:current[-_]task|suggested[-_]response)",
    r"🔴|#\d+ (?:user|assistant|system)\b",
)
_OTHER_LANGUAGES: Final = (
    # Spanish, Portuguese, Italian
    (
        r"\b(?:ignor[ae]|olvid[ae]|descarta|esquec[ae]|dimentica|desconsidere)\w*\b.{0,40}"
        r"\b(?:instruc|instruco|istruzion|reglas|regras|regole|todo|tudo|tutto|anterior|precedent)"
    ),
    (
        r"\b(?:a partir de (?:ahora|agora)|de ahora en adelante|en adelante|d'ora in (?:poi|avanti)"
        r"|de agora em diante)\b"
    ),
    (
        r"\b(?:el usuario|la usuaria|o usuario|l'utente|il cliente|el cliente|o cliente) (?:\w+ ){0,2}"
        r"(?:prefier|prefer|quier|quer|vuole|dese|decid|autori|acept|pid|pede|chied|desider)"
    ),
    r"\b(?:recuerda|recuerde|lembre(?:-se)?|ricord[ai])\b.{0,10}\b(?:que|de que|che)\b",
    (
        r"\b(?:no|nao|non) (?:le |se lo |lo )?(?:dig|informe|cuente|pregunte|avise|conte|diga|dire|chiedere"
        r"|preguntes)\w*\b"
    ),
    r"\b(?:siempre|nunca|sempre|mai) (?:envi|respond|us|recom|inclu|mand|invi|rispond)\w*",
    # German, French
    (
        r"\b(?:ignorier|vergiss|vergessen sie|missacht)\w*\b.{0,40}\b(?:anweisung|regeln|alles|vorherig|bisherig"
        r"|instruktion)"
    ),
    r"\b(?:ab (?:sofort|jetzt)|von (?:nun|jetzt) an|in zukunft|kunftig)\b",
    (
        r"\bder (?:be)?nutzer (?:\w+ ){0,3}(?:bevorzug|mocht|will|wunsch|entschied|erlaub|zugestimmt|gesagt"
        r"|verlang|bitte)"
    ),
    (
        r"\b(?:merke? dir|merken sie sich|denk(?:e|en sie)? daran|sage? (?:dem|der) (?:be)?nutzer nicht"
        r"|ohne (?:zu fragen|ruckfrage))\b"
    ),
    r"\b(?:ignore[zr]?|oublie[zr]?)\b.{0,40}\b(?:instruction|consigne|regle|tout|precedent)",
    r"\b(?:desormais|dorenavant|a partir de maintenant|a l'avenir)\b",
    r"l'utilisat(?:eur|rice) (?:\w+ ){0,2}(?:prefer|veut|souhait|decid|autoris|accept|demand)",
    (
        r"\b(?:souvien(?:s-toi|ez-vous)|rappel(?:le-toi|ez-vous)|retene?[zr]|n'oublie[zr]? pas|ne (?:dis|dites"
        r"|demande[zr]?) (?:rien|pas))\b"
    ),
    # Russian
    r"(?:игнорир|забудь|не обращай внимания).{0,40}(?:инструкц|указан|правил|все|предыдущ)",
    (
        r"отныне|с этого момента|впредь|теперь всегда|пользовател[ьюя] (?:\S+ ){0,2}(?:предпочита|хоч|реши|прос"
        r"|разреш|соглас)"
    ),
    r"запомни(?:те)?\b|не (?:говори|сообща|спрашива)",
    # Korean
    r"(?:이전|앞선|위의?|기존|모든)\s?(?:모든 )?(?:지시|명령|지침|규칙).{0,12}(?:무시|잊)|무시하(?:고|세요|라|십시오)",
    r"앞으로(?:는)?\s|지금부터|이제부터|항상 \S+.{0,30}(?:세요|십시오|하라|해라|해줘)",
    r"사용자(?:는|가|님은|께서|의) .{0,40}(?:원한|원합|선호|좋아|결정|동의|승인|요청|허락|싫어)",
    r"기억(?:해|하세요|하라|하십시오|해라)|(?:말|알리|묻|전하)지 (?:마|말)",
    # Chinese
    r"(?:忽略|无视|無視|忘记|忘記|忽视|不要理会).{0,12}(?:指令|指示|规则|規則|提示|之前|以上|所有|一切|先前)",
    r"从现在(?:开始|起)|從現在(?:開始|起)|今后|今後請|以后(?:都|请|总|每|所有)|以後(?:都|請|總)|务必|始终",
    r"(?:用户|用戶|使用者|客户).{0,8}(?:偏好|喜欢|喜歡|希望|想要|要求|决定|決定|同意|授权|授權|说过|批准)",
    r"请?(?:记住|記住|牢记|牢記)|(?:不要|别|不必|无需|無需)(?:告诉|告訴|询问|詢問|确认|確認|通知|提及)",
    # Japanese
    r"(?:以前|これまで|上記|前|すべて|全て)の(?:すべての|全ての)?(?:指示|命令|プロンプト|ルール|規則)|無視し(?:て|なさい|ろ)",
    r"今後は|これからは|以後は|今から|常に.{0,30}(?:ください|すること|しなさい)",
    r"ユーザーは?.{0,30}(?:好む|好み|希望|望んで|決め|決定|同意|許可|求め|承認)",
    r"覚えて(?:おいて|ください|おけ)|記憶して|(?:伝え|知らせ|言わ|尋ね|聞か)(?:ないで|ないこと|るな)",
)
_COMMAND: Final = lazy_pattern("|".join(map(unmarked, (*_ENGLISH, *_POSING, *_OTHER_LANGUAGES))))
_SPEAKER: Final = lazy_pattern(  # at the head of a line, as in a transcript
    r"(?:^|-> )[^\w\n]{0,20}(?:system|human|user|developer|operator)\s*(?:\([^)\n]{0,20}\))?:\s+\w+ \w+",
    re.IGNORECASE | re.MULTILINE,
)


def commands(text: str) -> bool:
    """Whether the text, in any of its readings, gives orders, speaks for the user or poses as the prompt."""
    return _COMMAND.search(readings(text)) is not None or _SPEAKER.search(text) is not None
