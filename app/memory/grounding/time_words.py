"""Tables of words for days as seen from the day of saying, and for the time of a day.

Lines of words stand for alternatives of a regular expression, in the languages of the months (kit/days.py) that are
spoken most.
"""

from typing import Final

# Words that place something in time from the day they are said on.
RELATIVE: Final = r"""
today|tonight|yesterday|tomorrow|ago|last|past|next|this|coming|since|recently|lately|later|soon|before|after|previous
(?:mon|tues|wednes|thurs|fri|satur|sun)days?|weekends?|weeks?|months?|years?|days|morning|evening
heute|gestern|morgen|vorgestern|übermorgen|letzte[nrsm]?|nächste[nrsm]?|kommende[nrsm]?|vergangene[nrsm]?|diese[nrsm]?
vor|seit|nach|später|früher|bald|neulich|kürzlich|zuletzt|wochenenden?|wochen?|monate?n?s?|jahre?n?s?|tagen?|tage
monatsende|jahresende|morgens|abends?|(?:mon|diens|donners|frei|sams|sonn)tags?|sonnabends?|mittwochs?
aujourd'hui|hier|demain|avant-hier|après-demain|prochaine?s?|derni(?:er|ère)s?|passée?s?|ce soir|ce matin|depuis|il y a
dans|d'ici|avant|après|bientôt|récemment|semaines?|mois|ans|années?|jours|week-end
(?:lun|mar|mercre|jeu|vendre|same)di|dimanche
hoy|ayer|anteayer|antier|anoche|mañana|pasad[oa]s?|próxim[oa]s?|últim[oa]s?|que viene|hace|dentro de|antes|después|desde
semanas?|mes(?:es)?|años?|días|lunes|martes|miércoles|jueves|viernes|sábado|domingo|pronto|luego
hoje|ontem|anteontem|amanhã|depois|daqui|que vem|há|atrás|ontem à noite|anos?|dias|fim d[eo] (?:mês|ano)|mês
(?:segunda|terça|quarta|quinta|sexta)(?:-feira)?|seguinte
oggi|ieri|domani|dopodomani|l'altro ieri|scors[oaie]|prossim[oaie]|ultim[oaie]|fa|fra|tra|dopo|prima|settiman[ae]
mes[ei]|ann[oi]|giorni|(?:lune|marte|mercole|giove|vener)dì|sabato|domenica|stasera|stamattina
vandaag|gisteren|morgen|eergisteren|overmorgen|vorige?|volgende?|komende?|afgelopen|geleden|sinds|daarna|weken
maand(?:en)?|jaar|jaren|dagen|(?:maan|dins|woens|donder|vrij|zater|zon)dag
сегодня|вчера|завтра|позавчера|послезавтра|прошл\w+|следующ\w+|будущ\w+|ближайш\w+|этот|эт[ауи]|этой|этом|этого|назад
через|спустя|после|перед|недавно|скоро|потом|раньше|недел\w+|месяц\w*|год\w?|лет|дн(?:я|ей)|день|вечером|утром
понедельник\w*|вторник\w*|сред[уыае]|четверг\w*|пятниц\w+|суббот\w+|воскресен\w+|выходны\w+
сьогодні|вчора|завтра|позавчора|післязавтра|минул\w+|наступн\w+|тому|тиж\w+|місяц\w+|рок\w*
dziś|dzisiaj|wczoraj|jutro|przedwczoraj|pojutrze|zeszł\w+|ostatni\w*|przyszł\w+|następn\w+|temu|za|tydzień|tygodni\w*
miesiąc\w*|miesięcy|rok|roku|lat|dni|poniedział\w+|wtor\w+|środ\w|czwart\w+|piąt\w+|sobot\w|niedziel\w
bugün|dün|yarın|evvelsi|önceki|geçen|gelecek|önümüzdeki|haftaya|bu|sonra|önce|beri|haft\w+|ay|aya|ayın|yıl|yıla|gün|ertesi
pazartesi|salı|çarşamba|perşembe|cuma|cumartesi|pazar|akşam|sabah
idag|igår|imorgon|förra|nästa|veck\w+|i ?dag|i ?går|i ?morgen|sidste|næste|siden|uger?
hari ini|kemarin|besok|lusa|minggu|bulan|tahun|lalu|depan|nanti
hôm nay|hôm qua|ngày mai|hôm kia|tuần|tháng|năm|trước|sau|tới
اليوم|أمس|امس|البارحة|غدا|غدًا|بعد|قبل|منذ|القادم\w*|المقبل\w*|الماضي\w*|الجاري|الأسبوع|أسبوع\w*|أسابيع|الشهر|شهر\w*|أشهر
السنة|سنة|سنوات|العام|عام|أعوام|أيام|يومين|الليلة|الأحد|الاثنين|الإثنين|الثلاثاء|الأربعاء|الخميس|الجمعة|السبت|نهاية
आज|कल|परसों|अगले|अगला|अगली|पिछले|पिछला|पिछली|आने|आनेवाले|गत|बाद|पहले|पूर्व|हफ़्ते|हफ्ते|हफ़्ता|हफ्ता|सप्ताह|महीने|महीना|माह
साल|वर्ष|दिन|दिनों|अंत|अब|इस|सोमवार|मंगलवार|बुधवार|गुरुवार|शुक्रवार|शनिवार|रविवार
היום|אתמול|מחר|שלשום|מחרתיים|שעבר\w*|הבא\w*|לפני|בעוד|שבוע\w*|חודש\w*|שנה|שנים|ימים
"""
RELATIVE_UNSPACED: Final = r"""
오늘|어제|어젯밤|그제|그저께|내일|모레|글피|지난|작년|재작년|올해|내년|다음|이번|전에|후에|뒤
말까지|말에|월말|연말|주말|주일|개월|달|[0-9] ?[주년일]
부터|동안|요일|하루|이틀|사흘|나흘|닷새|엿새|이레|여드레|아흐레|열흘|보름
今天|今日|昨天|昨日|昨晚|昨夜|前天|前日|明天|明日|明晚|后天|後天|大前天|今晚|今朝|今夜|今晩|[上下这這本]个?个?[月周週]|[上下這]個|上次|下次
[去今明后後前來来]年|[先今来再][週月]|来週|来月|再来週|一昨日|明後日|おととい|あさって|あした|きのう|きょう|月底|月末|月初|年底|年末|周末|週末|星期|礼拜|曜日?
前に|後に|後で|之前|之后|之後|以前|以后|以後|天后|天後|天内|天前|[周週月年]后|個月|个月|か月|ヶ月|間後|日後|年前|月前|最近|近日|初[一二三四五六七八九十]
"""

# Days by their distance from the day of saying. Words that mean a part of a day too are left out: mañana.
DAYS_AWAY: Final = {
    -3: "大前天",
    -2: "day_before_yesterday vorgestern avant-hier anteayer antier anteontem l'altro_ieri altroieri eergisteren"
    " позавчера 前天 一昨日 おととい 그저께",
    -1: "yesterday gestern hier ayer ontem ieri gisteren вчера 昨天 昨日 어제",
    0: "today tonight heute aujourd'hui hoy hoje oggi vandaag сегодня 今天 今日 오늘",
    1: "tomorrow demain amanhã domani завтра 明天 明日 내일",
    2: "day_after_tomorrow übermorgen après-demain pasado_mañana depois_de_amanhã dopodomani overmorgen"
    " послезавтра 后天 後天 明後日 あさって 모레",
    3: "大后天 大後天 글피",
}
# From Monday to Sunday.
WEEKDAYS: Final = """
monday montag lundi lunes segunda-feira lunedì maandag понедельник 星期一 周一 週一 月曜日 月曜 월요일
tuesday dienstag mardi martes terça-feira martedì dinsdag вторник 星期二 周二 週二 火曜日 火曜 화요일
wednesday mittwoch mercredi miércoles quarta-feira mercoledì woensdag среда среду 星期三 周三 週三 水曜日 水曜 수요일
thursday donnerstag jeudi jueves quinta-feira giovedì donderdag четверг 星期四 周四 週四 木曜日 木曜 목요일
friday freitag vendredi viernes sexta-feira venerdì vrijdag пятница пятницу 星期五 周五 週五 金曜日 金曜 금요일
saturday samstag samedi sábado sabato zaterdag суббота субботу 星期六 周六 週六 土曜日 土曜 토요일
sunday sonntag dimanche domingo domenica zondag воскресенье 星期日 星期天 周日 週日 礼拜天 日曜日 日曜 일요일
"""
NOT_FROM_TODAY: Final = "from|before|after|since"  # a week from today

# Words of the clock. An hour stands between or beside them.
HOUR: Final = r"uhr|o'clock|heures?|h|horas?|hs|ore|uur|часов|часа|час|ч\.|saat|बजे|giờ|godzin[ay]"
HOUR_UNSPACED: Final = "[点點時时](?!間|间)|시(?!간|절|작|도)"
AT: Final = (
    "at|at about|at around|um|gegen|ab|bis|a las?|às|as|à|alle|all'|ore|om|kl\\.?|klo|klockan"
    "|в|к|с|до|после|o|о|saat|الساعة|pukul|jam|lúc"
    "|before|after|until|till|nach|vor|antes de las?|después de las?|antes das|depois das|desde las?|بعد|قبل|حتى"
)
UNTIL: Final = "to|till|until|bis"  # between two hours
HALF_TO: Final = "halb|halv|в половине|половин[ауе]|wpół do|пів на"
HALF_PAST: Final = "half past|half after|half"
HALF_BEHIND: Final = "y media|e meia|e mezz[ao]|et demie?|buçuk|ونصف|والنصف|و النصف|с половиной|半|반"
HALF_BEFORE: Final = "साढ़े|साढे"
QUARTER_PAST: Final = "viertel nach|(?:a )?quarter (?:past|after)|kwart over|सवा|четверть после"
QUARTER_BEHIND: Final = "y cuarto|e um quarto|e un quarto|et quart|والربع|وربع|一刻|çeyrek geçe"
QUARTER_TO: Final = (
    "viertel vor|dreiviertel|(?:a )?quarter (?:to|before|till|of)|kwart voor|पौने|без четверти|um quarto para as"
)
QUARTER_TO_BEHIND: Final = "menos cuarto|moins le quart|meno un quarto|إلا ربعا|إلا ربعًا|çeyrek kala"
NOON: Final = (
    "noon|midday|mittags?|mediodía|meio-dia|midi|mezzogiorno|полдень|полудня|полудень|öğlen|öğle|ظهرا|ظهرًا|الظهر|दोपहर"
)
NOON_UNSPACED: Final = "中午|正午|정오"
MIDNIGHT: Final = (
    "midnight|mitternacht|medianoche|meia-noite|minuit|mezzanotte|полночь|полуночи|gece yarısı|منتصف الليل|आधी रात"
)
MIDNIGHT_UNSPACED: Final = "零点|零時|자정"
# Words for the time after noon: with one of them three may be fifteen.
LATE: Final = (
    "afternoon|evening|tonight|night|nachmittags?|abends?|nachts?|de la tarde|tarde|noche|da tarde|da noite|noite"
    "|après-midi|soir|nuit|pomeriggio|sera|notte|middags?|avonds?|дня|вечера|вечером|ночи|öğleden sonra|akşam|gece"
    "|مساء|مساءً|عصرا|عصرًا|ظهرا|ظهرًا|ليلا|दोपहर|शाम|रात"
)
LATE_UNSPACED: Final = "下午|晚上|晚|傍晚|午後|夕方|夜|오후|저녁|밤"
