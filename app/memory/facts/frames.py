"""Patterns for how people say where they live and work, their age and their name, in languages other than English.

For slots.py. Each is of the speaker or of "the user", and of the present: "yo vivo en Madrid", not "mi hermana vive" or
"vivía". In scripts with capitals it ends in the first letter of the name that it leads to.
"""

from typing import Final

from app.memory.trust import USERS

_U: Final = rf"\b(?i:{'|'.join(USERS.split())})\b"
NAME: Final = r"[A-ZÀ-ÖØ-ÞА-ЯЁ]"
# German nouns have capitals that name nothing: in Scheidung, für Geld.
_NAME_DE: Final = (
    r"(?!(?:Frieden|Ruhe|Harmonie|Angst|Sorge|Armut|Not|Trennung|Scheidung|Beziehung|Partnerschaft|Miete|Untermiete|Eigentum"
    r"|WG|Wohngemeinschaft|Gemeinschaft|Zeiten|Gefahr|Erwartung|Nacht|Tag|Tage|Bedarf|Regen|Kälte|Geld|Freunde|Kunden)\b)"
    + NAME
)
_STREETS: Final = "Rua|Avenida|Bairro|Praça|Largo"
_I_DE: Final = "[Ww]ohne(?: ich)?|[Ii]ch lebe|[Ll]ebe ich|[Ww]ir (?:wohn|leb)en|(?:[Ww]ohn|[Ll]eb)en wir"
_I_FR: Final = (
    r"[Jj](?:['’]habite|e vis|e réside|['’]ai (?:dé|em)ménagé)|[Nn]ous (?:habitons|vivons|avons (?:dé|em)ménagé)"
)
_UP_TO: Final = r"(?: \w+){0,2}?"
_I_ZH: Final = (
    "(?:^|[，。；！ ])(?:我们?|我們|本人|用户|用戶|使用者)家?(?:现在|現在|目前|已经|已經|刚刚?|剛剛?"
    "|最近|今年|去年|上个?[月周]|上個?[月週]|就|也)*"
)
_I_JA: Final = "^(?:(?:私|僕|俺|わたし|ぼく|うち|ユーザー)(?:たち)?(?:は|も|が)、?)?(?:今は?|現在は?|最近)?、?"
_I_KO: Final = (
    r"^(?:(?:저|나|우리|사용자)(?:는|도|가)? )?(?:지금|현재|최근에|이제|올해)? ?(?:(?!\S+(?:은|는|가) )\S+ ){0,3}?"
)

HOME: Final = "|".join(
    (
        rf"\b[Vv]iv(?:o|imos){_UP_TO} en (?:la (?:C/|[Cc]alle) [^.;:!?]{{1,40}}? en )?{NAME}",
        rf"\b[Mm]e (?:he mudado|mudé) a {NAME}",
        rf"\b[Nn]os (?:hemos mudado|mudamos) a {NAME}",
        rf"{_U}{_UP_TO} (?:vive|reside){_UP_TO} en {NAME}|{_U}{_UP_TO} se (?:ha mudado|mudó) a {NAME}",
        rf"\b(?:[Mm]or|[Vv]iv|[Rr]esid)(?:o|amos|imos){_UP_TO} (?:em|n[oa](?! (?:{_STREETS}))) {NAME}",
        rf"\b(?:[Mm]e mudei|[Mm]udei-me|[Nn]os mudamos) para (?:[oa] )?{NAME}",
        rf"{_U}{_UP_TO} (?:mora|vive|reside){_UP_TO} em {NAME}",
        rf"{_U}{_UP_TO} (?:se mudou|mudou-se) para (?:[oa] )?{NAME}",
        rf"\b(?:[Aa]bit|[Vv]iv|[Rr]isied)o{_UP_TO} (?:ad?|in) {NAME}|\b[Mm]i sono trasferit[oa] (?:ad?|in) {NAME}",
        rf"{_U}{_UP_TO} (?:abita|vive|risiede){_UP_TO} (?:ad?|in) {NAME}",
        rf"{_U}{_UP_TO} si è trasferit[oa] (?:ad?|in) {NAME}",
        rf"\b(?:{_I_FR}){_UP_TO} (?:à|en|au|aux) {NAME}",
        rf"{_U}{_UP_TO} (?:habite|vit|réside|a déménagé|a emménagé){_UP_TO} (?:à|en|au|aux) {NAME}",
        rf"\b[Ww]ohne(?: ich)? nicht(?: mehr)? in [^.;:!?]{{1,40}}?, sondern{_UP_TO} in {_NAME_DE}",
        rf"\b(?:{_I_DE}){_UP_TO} in {_NAME_DE}",
        rf"\b(?:[Ii]ch bin|[Bb]in ich|[Ww]ir sind|[Ss]ind wir){_UP_TO} nach {NAME}(?=[\w-]* (?:um)?gezogen)",
        rf"{_U} (?:wohnt|lebt){_UP_TO} in {_NAME_DE}|{_U} ist{_UP_TO} nach {NAME}(?=[\w-]* (?:um)?gezogen)",
        rf"\b[Ii]k (?:woon|leef){_UP_TO} in {NAME}|\b[Ii]k ben{_UP_TO} verhuisd naar {NAME}",
        rf"{_U} (?:woont|leeft){_UP_TO} in {NAME}|{_U} is{_UP_TO} verhuisd naar {NAME}",
        rf"(?:\b[Ii]k ben|{_U} is){_UP_TO} naar {NAME}(?=[\w-]* verhuisd)",
        rf"\b(?:[Жж]иву|[Пп]ереехала?){_UP_TO} (?:во?|на) {NAME}",
        rf"{_U}{_UP_TO} (?:жив[её]т|переехала?){_UP_TO} (?:во?|на) {NAME}",
        rf"{_I_ZH}(?:住在|定居在?|居住在|搬到|搬去|搬来|搬來|移居)了?(?!一起|一块|一塊)(?!.{{0,12}}(?:时候|時候|那时|那時))",
        rf"{_I_JA}(?!どこ|ここ|そこ|新しい)[^はがも。]{{1,20}}[にへ](?:住んでい?(?:る|ます)|(?:引っ越し|引越し|移住し|転居し)(?:まし)?た(?!い|ら|り|こと))",
        rf"{_I_KO}\S+(?:에|에서) (?:살아요|살고 있|삽니다|산다|거주)",
        rf"{_I_KO}\S+(?:로|으로) (?:이사|이주)(?:했|왔|갔|하였)",
    )
)
_EMPLOYER_ZH: Final = "(?:公司|集团|集團|银行|銀行|医院|醫院|学校|學校|大学|大學|工厂|工廠|酒店)"
# Only what cannot be a place: somebody who works in Madrid, 在北京工作, may work at Acme too.
WORKPLACE: Final = "|".join(
    (
        rf"\b[Tt]rabajo para {NAME}|{_U}{_UP_TO} trabaja para {NAME}",
        rf"\b[Tt]rabalho para (?:[ao] )?{NAME}|{_U}{_UP_TO} trabalha para (?:[ao] )?{NAME}",
        rf"\b[Ll]avoro (?:per|presso) {NAME}|{_U}{_UP_TO} lavora (?:per|presso) {NAME}",
        rf"\b[Jj]e travaille{_UP_TO} (?:chez|pour) {NAME}|{_U}{_UP_TO} travaille{_UP_TO} (?:chez|pour) {NAME}",
        rf"\b(?:[Ii]ch arbeite|[Aa]rbeite ich){_UP_TO} (?:bei|für) {_NAME_DE}",
        rf"{_U} arbeitet{_UP_TO} (?:bei|für) {_NAME_DE}",
        rf"\b[Ii]k werk{_UP_TO} (?:bij|voor) {NAME}|{_U} werkt{_UP_TO} (?:bij|voor) {NAME}",
        rf"{_I_ZH}在(?!找|同一|一家|当前)[^，。在？]{{1,16}}{_EMPLOYER_ZH}(?:工作|上班|任职|任職)(?!过|過|时|時|的)",
        rf"{_I_ZH}(?:就职于|就職於|供职于|任职于|任職於)",
        rf"{_I_JA}[^はがも。]{{1,20}}に勤めてい?(?:る|ます)",
        rf"{_I_KO}(?!\S*(?:학교|스쿨|대학|학원|교회))\S+에 (?:다녀요|다니고 있|다닌다)",
    )
)
AGE: Final = "|".join(
    (
        rf"\b[Tt]engo \d{{1,3}} años|{_U} tiene \d{{1,3}} años|\b[Tt]enho \d{{1,3}} anos|{_U} tem \d{{1,3}} anos",
        rf"\b[Hh]o \d{{1,3}} anni|{_U} ha \d{{1,3}} anni|\b[Jj]['’]ai \d{{1,3}} ans\b|{_U} a \d{{1,3}} ans\b",
        rf"(?:\b[Ii]ch bin|{_U} ist) \d{{1,3}}(?: Jahre alt|[.!]?$)|(?:\b[Ii]k ben|{_U} is) \d{{1,3}}(?: jaar|[.!]?$)",
        r"\b[Мм]не (?:уже )?\d{1,3} (?:лет|год)|[Пп]ользовател\w+ \d{1,3} (?:лет|год)",
        rf"{_I_ZH}\d{{1,3}}[岁歲](?!开始|開始|时|時|那|的|之|以)",
        rf"{_I_JA}\d{{1,3}}[歳才](?:です|だ|になりました|になった|$|。)",
        r"^(?:(?:저|나|사용자)(?:는|도)? )?(?:올해 |이제 )?\d{1,3}[살세](?:이에요|예요|입니다|이다|[이가] (?:됐|되었))",
    )
)
CALLED: Final = "|".join(
    (
        rf"\b[Mm]e llamo {NAME}|{_U} se llama {NAME}",
        rf"\b(?:[Mm]e chamo|[Cc]hamo-me) {NAME}|{_U} (?:se chama|chama-se) {NAME}",
        rf"\b[Mm]i chiamo {NAME}|{_U} si chiama {NAME}|\b[Jj]e m['’]appelle {NAME}|{_U} s['’]appelle {NAME}",
        rf"(?:\b[Ii]ch heiße|{_U} heißt|\b[Ii]k heet|{_U} heet) {NAME}",
        rf"\b[Мм]еня зовут {NAME}|[Пп]ользовател\w+ зовут {NAME}",
        r"(?:^|[，。])(?:我|用户|用戶)叫(?![了他她你它来來])[^\s，。]{2,4}(?:[，。！]|$)|(?:^|[，。])(?:我|用户|用戶)的名字(?:是|叫)",
        "^(?:(?:私|僕|ユーザー)の)?名前は|^(?:(?:私|僕)は)?[^はが。]{1,12}と(?:いい|言い|申し)ます",
        r"^(?:제|내|사용자의?) 이름은|^(?:(?:저|나)는 )?\S{1,8}(?:이?라고) (?:해요|합니다|한다)",
    )
)
