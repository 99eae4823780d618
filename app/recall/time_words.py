"""Words for relative times, in the languages that the search knows. Only words, no rules.

Lines of words are alternatives of a regular expression. Seasons are those of the northern hemisphere, whole months as
in meteorology, for speakers in the southern hemisphere too.
"""

from typing import Final

# One to twelve, in English, German, French, Spanish, Portuguese, Italian, Dutch; in Chinese, Japanese and Korean.
NUMBERS: Final = """
a an one ein eine einem einen einer un une una uno um uma een
two zwei deux dos dois duas due twee
three drei trois tres três tre drie
four vier quatre cuatro quatro quattro
five fünf cinq cinco cinque vijf
six sechs seis sei zes
seven sieben sept siete sete sette zeven
eight acht huit ocho oito otto
nine neun neuf nueve nove negen
ten zehn dix diez dez dieci tien
eleven elf onze once undici
twelve zwölf douze doce doze dodici twaalf
"""
UNSPACED_NUMBERS: Final = """
一 한
二 两 兩 두
三 세
四 네
五 다섯
六 여섯
七 일곱
八 여덟
九 아홉
十 열
"""
COUPLE: Final = r"(?:a )?couple(?: of)?|un par de|un paio di|пару"
FEW: Final = (
    r"(?:a )?few|several|some|ein paar|een paar|einigen?|mehreren?|wenigen?|quelques|un[oa]s(?: poc[oa]s)?"
    r"|algun[oa]s|varios|varias|alguns"
    r"|algumas|uns|umas|poucos|poucas|qualche|alcuni|alcune|poch[ie]|enkele|несколько"
)
UNSPACED_FEW: Final = "[几幾数數]个?|몇"

WEEKEND: Final = r"week-?ends?|wochenenden?|fi(?:m|n|ns|nes) de semana|fine settimana|weekeinde|выходны[ехм]"
UNITS: Final = {
    "minute": r"minut(?:e[ns]?|os?|i)|min",
    "hour": r"hours?|stunden?|heures?|horas?|or[ae]|uur|uren",
    "day": r"days?|tag(?:en?)?|jours?|d[ií]as?|giorn[oi]|dag(?:en)?|день|дн(?:я|ей)",
    "weekend": WEEKEND,
    "week": r"weeks?|wochen?|semaines?|semanas?|settiman[ae]|weken|недел(?:я|и|ю|е|ь)",
    "fortnight": r"fortnights?",
    "month": r"months?|monat(?:en?|s)?|mois|m[eê]s(?:es|[ei])?|maand(?:en)?|месяц(?:а|е|ев)?",
    "year": r"years?|jahr(?:en?|es)?|ans?|années?|a[nñ]os?|ann[oi]|jaar|jaren|год(?:а|у)?|лет",
}
UNSPACED_UNITS: Final = {
    "hour": "小时|小時|時間|시간",
    "day": "天|日|일",
    "weekend": "个?周末|週末|주말",
    "week": "周|週間?|星期|个星期|礼拜|주",
    "month": "个月|個月|[かヶヵカ]月|달|개월",
    "year": "年|년",
}
SEASONS: Final = {
    "spring": r"spring(?:time)?|frühlings?|frühjahrs?|printemps|primavera|voorjaar"
    r"|(?:(?<=vorige )|(?<=afgelopen )|(?<=in de ))lente|весн(?:а|ы|у|ой)",
    "summer": r"summer(?:time)?|sommers?|(?:(?<=['’])|(?<=cet )|(?<=en ))été|verano|verão"
    r"|(?:(?<=['’])|(?<=scorsa ))estate|estate(?= scorsa)|zomer|лет(?:о|а|ом)",
    "autumn": r"autumn|fall|herbst(?:es)?|automne|otoño|outono|autunno|herfst|najaar|осен(?:ь|и|ью)",
    "winter": r"winter(?:time)?|winters|hiver|invierno|inverno|зим(?:а|ы|у|ой)",
}
UNSPACED_SEASONS: Final = {
    "spring": "春[天季]?|봄",
    "summer": "夏[天季]?|여름",
    "autumn": "秋[天季]?|가을",
    "winter": "冬[天季]?|겨울",
}
# Full names of days, which are no other words. Portuguese ones would be mere ordinals without "-feira".
WEEKDAYS: Final = (
    r"monday|montag|lundi|lunes|lunedì|maandag|segunda-feira|понедельник",
    r"tuesday|dienstag|mardi|martes|martedì|dinsdag|terça-feira|вторник",
    r"wednesday|mittwoch|mercredi|miércoles|miercoles|mercoledì|woensdag|quarta-feira|сред[ау]",
    r"thursday|donnerstag|jeudi|jueves|giovedì|donderdag|quinta-feira|четверг",
    r"friday|freitag|vendredi|viernes|venerdì|vrijdag|sexta-feira|пятниц[ау]",
    r"saturday|samstag|sonnabend|samedi|sábado|sabado|sabato|zaterdag|суббот[ау]",
    r"sunday|sonntag|dimanche|domingo|domenica|zondag|воскресенье",
)
UNSPACED_WEEKDAYS: Final = ("一月월", "二火화", "三水수", "四木목", "五金금", "六土토", "日天日일")

DUTCH_MONTHS: Final = {"januari": 1, "februari": 2, "maart": 3, "mei": 5, "juni": 6, "juli": 7} | {
    "augustus": 8,
    "oktober": 10,
}

LAST: Final = (
    r"(?:this past|last|past|previous)|derni[eè]re?|letzte[nrsm]?|vergangene[nrsm]?|vorige[nrsm]?|vorig|afgelopen"
    r"|(?:l[ao] )?scors[oa]|[úu]ltim[oa]|прошл(?:ый|ая|ое|ой|ую|ые|ого|ом|ым)"
)
ROLLING: Final = r"the last|(?:the |this )?past|[úu]ltim[oa]|afgelopen"
LAST_BEHIND: Final = r"derni[eè]re?|pass[ée]e?|pas+ad[oa]|scors[oa]"
THE_LAST: Final = r"last|past|previous|letzten|vergangenen|afgelopen|[úu]ltim[oaie]s?|derniers|dernières"
BEFORE_LAST: Final = r"vorletzte[nrs]?|vorvorige[nrs]?|avant-dernière|avant-dernier|eerverleden|voorvorige|voorlaatste"
BEFORE_LAST_BEHIND: Final = r"before last|antepasad[oa]|avant-dernière|avant-dernier|retrasad[oa]"
EVERY: Final = "every|each|jeden?|jede[nrsm]|chaque|tous les|cada|todos los|todas as|ogni|elke|кажд(?:ый|ую|ое)"
THE_LAST_FEW: Final = (
    r"last|past|recent|letzten|vergangenen|derniers|dernières|[úu]ltim[oa]s|ultim[ie]|afgelopen|последние"
)
PLURALS: Final = {
    "day": r"days|tagen?|jours|d[ií]as|giorni|dagen|дни",
    "week": r"weeks|wochen|semaines|semanas|settimane|weken|недели",
    "month": r"months|monaten?|mois|meses|mesi|maanden|месяцы",
}
THIS: Final = r"this|diese[nrsm]?|ce|cet|cette|est[ea]|quest[oa]|deze|dit|эт(?:от|а|о|ой|у|ом)"
AGO_BEFORE: Final = "vor|il y a|hace|há"
AGO_BEHIND: Final = "ago|fa|atr[áa]s|geleden|назад"
TODAY: Final = r"today|heute|aujourd['’]hui|hoy|hoje|oggi|vandaag|сегодня"
UNSPACED_TODAY: Final = "今天|今日|오늘"
IN: Final = (
    r"(?:in|over|during|throughout|since|back in|early in|late in) the|in|im|während des|au|en|pendant l['’]"
    r"|durant l['’]|nell['’]|d['’]"
    r"|in de|durante (?:el|la|o|a)|el|no|na|nel|nella|in"
)
OF_LAST_YEAR: Final = r"(?:of )?last year|letztes jahr|letzten jahres|de l'année dernière|del año pasado|do ano passado"
IN_MONTH: Final = r"in|im|en|em|a|ad|during|last|letzten|letzter"
SINCE: Final = "since|seit|depuis|desde|sinds|ab"
SINCE_BEHIND: Final = "以来|以來|以降|から|부터|이후"
# PART_OF stands between "last" or "first" with a week or weekend, and its month.
FIRST: Final = r"first|erste[nr]?|premi[eè]re?|primer[oa]?|primeir[oa]|prim[oa]|eerste"
PART_OF: Final = r" (?:of|in|im|des|de|di|van|do) (?:the )?| d['’]"
DECADES: Final = {
    word: 20 + 10 * count
    for count, word in enumerate(
        ("twenties", "thirties", "forties", "fifties", "sixties", "seventies", "eighties", "nineties")
    )
}
DECADE_BEHIND: Final = "années|años|anos|anni|jaren"
BETWEEN: Final = "between|from|zwischen|von|entre|de|desde|tra|fra|da|dal|tussen|van"
TO: Final = "to|until|till|through|bis|à|jusqu'en|hasta|até|fino a|tot"
AND: Final = "and|und|et|y|a|e|en"
THIS_TIME_LAST_YEAR: Final = (
    r"(?:this|about this|the same|same) time (?:of )?last year"
    r"|(?:um )?diese zeit (?:im )?(?:letzte[ns]|vorige[ns]) jahre?s?"
    r"|(?:cette|la même) époque,? (?:de )?l'année dernière|est[ae]s? (?:época|fechas|altura)s? del? año pasado"
    r"|estas fechas,? el año pasado|esta altura (?:no|do) ano passado"
    r"|questo periodo,? l'anno scorso|deze tijd vorig jaar"
)
UNSPACED_THIS_TIME_LAST_YEAR: Final = (
    "去年的?(?:这个|這個|这|這)(?:时候|時候)|[去昨]年の(?:今頃|今ごろ|いまごろ)|작년 ?(?:이맘때|이 ?때|이 ?무렵)"
)
HALF_A_YEAR_AGO: Final = (
    "half a year ago|vor einem halben jahr|il y a six mois|hace medio año|há meio ano|mezz'anno fa"
    "|een half jaar geleden"
    "|полгода назад"
)
UNSPACED_HALF_A_YEAR_AGO: Final = "半年[之以]?前|반년 ?전"
UNSPACED_FEW_DAYS_AGO: Final = "[几幾数數]天[之以]?前|前[几幾]天|数日前|며칠 ?전"
UNSPACED_YEARS_BEFORE: Final = {2: "前年|一昨年|おととし|재작년", 1: "去年|昨年|작년|지난해", 0: "今年|올해"}

DAYS_BEFORE: Final = {
    2: r"the day before yesterday|the night before last|vorgestern|avant-hier|anteayer|antes de ayer|antier|anteontem"
    r"|l'altro ieri|ieri l'altro|avantieri|eergisteren|позавчера",
    1: r"last night|gestern abend|gestern morgen|anoche|ayer por la (?:mañana|tarde|noche)|gisteravond"
    r"|gisteren(?:ochtend"
    r"|middag|avond)|ieri (?:sera|mattina|notte)|hier (?:soir|matin)|ontem (?:à|de) (?:noite|tarde|manhã)",
    0: r"heute (?:morgen|früh|mittag|abend|nacht|vormittag|nachmittag)|this (?:morning|afternoon|evening)(?! \w+ of)"
    r"|ce (?:matin|soir)|stamattina|stasera|stamani|vanochtend|vanmorgen|vanmiddag|vanavond"
    r"|esta (?:mañana|tarde|noche)|esta (?:manhã|noite)|hoje (?:de manhã|à (?:tarde|noite))"
    r"|hoy por la (?:mañana|tarde)",
}
UNSPACED_DAYS_BEFORE: Final = {
    3: "大前天|一昨々日|さきおととい|그끄저께",
    2: "一昨日|おととい|前天|그저께|그제|엊그제",
    1: "昨[晚晩夜]|昨天(?:晚上|早上)|ゆうべ|어젯밤|어제 ?(?:저녁|밤|아침)",
    0: "今[朝早晚晩夜]|今天(?:早上|晚上)|오늘 ?(?:아침|저녁|밤)",
}
