"""Tables of number words, in the languages of the months (kit/days.py) that are spoken most.

Words that are more common as another word, in whatever language, are left out: "on" is ten in Turkish, "due" two in
Italian, "once" eleven in Spanish. A ``_`` stands for a space.
"""

from typing import Final

# From 0 to 20: English, German, French, Spanish, Portuguese, Italian, Dutch; Russian with its cases; Turkish, Arabic,
# Hindi.
COUNTS: Final = """
zero null cero ноль sıfır صفر शून्य
one eins ein eine einem einen einer eines un une uno una uma een één один одна одно одного одной bir واحد واحدة एक
two zwei zwo deux dos dois duas twee два две двое двух двумя iki اثنان اثنين اثنتان اثنتين दो
three drei trois tres três tre drie три трое трёх трех üç ثلاث ثلاثة तीन
four vier quatre cuatro quatro quattro четыре четверо четырёх четырех dört أربع أربعة चार
five fünf cinq cinco cinque vijf пять пятеро пяти beş خمس خمسة पाँच पांच
six sechs seis zes шесть шестеро шести altı ست ستة छह छः
seven sieben sept siete sete sette zeven семь семеро семи yedi سبع سبعة सात
eight acht huit ocho oito otto восемь восьми sekiz ثمان ثماني ثمانية आठ
nine neun neuf nueve nove negen девять девяти dokuz تسع تسعة नौ
ten zehn dix diez dez dieci tien десять десяти عشر عشرة दस
eleven elf onze undici одиннадцать одиннадцати on_bir أحد_عشر إحدى_عشرة ग्यारह
twelve zwölf douze doce doze dodici twaalf двенадцать двенадцати on_iki اثنا_عشر اثنتا_عشرة बारह
thirteen dreizehn treize trece treze tredici dertien тринадцать тринадцати on_üç ثلاثة_عشر तेरह
fourteen vierzehn quatorze catorce quattordici veertien четырнадцать четырнадцати on_dört أربعة_عشر चौदह
fifteen fünfzehn quinze quince quindici vijftien пятнадцать пятнадцати on_beş خمسة_عشر पंद्रह पन्द्रह
sixteen sechzehn seize dieciséis dezesseis dezasseis sedici zestien шестнадцать шестнадцати on_altı ستة_عشر सोलह
seventeen siebzehn dix-sept diecisiete dezessete diciassette zeventien семнадцать семнадцати on_yedi سبعة_عشر सत्रह
eighteen achtzehn dix-huit dieciocho dezoito diciotto achttien восемнадцать восемнадцати on_sekiz ثمانية_عشر अठारह
nineteen neunzehn dix-neuf diecinueve dezenove diciannove negentien девятнадцать девятнадцати on_dokuz تسعة_عشر उन्नीस
twenty zwanzig vingt veinte vinte venti twintig двадцать двадцати yirmi عشرون عشرين बीस
"""
# From 30 to 90.
TENS: Final = """
thirty dreißig dreissig trente treinta trinta trenta dertig тридцать тридцати otuz ثلاثون ثلاثين तीस
forty vierzig quarante cuarenta quarenta quaranta veertig сорок сорока kırk أربعون أربعين चालीस
fifty fünfzig cinquante cincuenta cinquenta cinquanta vijftig пятьдесят пятидесяти elli خمسون خمسين पचास
sixty sechzig soixante sesenta sessenta sessanta zestig шестьдесят шестидесяти altmış ستون ستين साठ
seventy siebzig setenta settanta zeventig семьдесят семидесяти yetmiş سبعون سبعين सत्तर
eighty achtzig quatre-vingt quatre-vingts ochenta oitenta ottanta tachtig восемьдесят seksen ثمانون ثمانين अस्सी
ninety neunzig noventa novanta negentig девяносто doksan تسعون تسعين नब्बे
"""
# From 200 to 900, where they are words of their own: Spanish, Portuguese, Russian with its cases.
HUNDREDS: Final = """
doscientos doscientas duzentos duzentas двести двухсот
trescientos trescientas trezentos trezentas триста трёхсот трехсот
cuatrocientos cuatrocientas quatrocentos quatrocentas четыреста четырёхсот четырехсот
quinientos quinientas quinhentos quinhentas пятьсот пятисот
seiscientos seiscientas seiscentos seiscentas шестьсот шестисот
setecientos setecientas setecentos setecentas семьсот семисот
ochocientos ochocientas oitocentos oitocentas восемьсот восьмисот
novecientos novecientas novecentos novecentas девятьсот девятисот
"""
# From first to twelfth. Those of Russian and Arabic are hours, too.
ORDINALS: Final = """
first erste ersten erster erstes premier première primero primera primeiro primeira первый первая первого первой الأولى
second zweite zweiten zweiter zweites deuxième segundo segunda secondo второй вторая второго الثانية
third dritte dritten dritter drittes troisième tercero tercera terceiro terceira terzo третий третья третьего الثالثة
fourth vierte vierten vierter viertes quatrième четвёртый четвёртая четвёртого четвертого الرابعة
fifth fünfte fünften fünfter fünftes cinquième quinto quinta пятый пятая пятого الخامسة
sixth sechste sechsten sechster sechstes sixième sexto sexta шестой шестая шестого السادسة
seventh siebte siebten siebter siebtes septième séptimo sétimo седьмой седьмая седьмого السابعة
eighth achte achten achter achtes huitième octavo oitavo восьмой восьмая восьмого الثامنة
ninth neunte neunten neunter neuntes neuvième noveno nono девятый девятая девятого التاسعة
tenth zehnte zehnten zehnter zehntes dixième décimo десятый десятая десятого العاشرة
eleventh одиннадцатого الحادية_عشرة
twelfth двенадцатого الثانية_عشرة
"""
ORDINALS_OF_YEARS: Final = """
первом втором третьем четвёртом пятом шестом седьмом восьмом девятом десятом одиннадцатом двенадцатом
"""  # as a year ends in Russian
OTHERS: Final = {
    1: "once",
    2: "twice both couple",
    3: "thirds",
    12: "dozen dutzend douzaine docena dúzia дюжина düzine دزينة दर्जन",
    25: "पच्चीस",
    75: "पचहत्तर",
    100: "ciento cien cem сто",
}
# From 20 to 90.
DECADES: Final = "twenties thirties forties fifties sixties seventies eighties nineties"
# Parts of one, of a hundred, and of an hour.
PARTS: Final = {
    ("0.5", "50", "30"): "half halb halbe halben halber halbes hälfte demi demie moitié media medio mitad meia meio"
    " metade mezza mezzo metà helft пол половина половину половины полчаса yarım yarısı نصف आधा आधी 절반 반",
    ("0.25", "25", "15"): "quarter viertel quart cuarto quarto kwart четверть çeyrek ربع",
    ("1.5", "150", "90"): "anderthalb eineinhalb anderhalf полтора полторы डेढ़",
}
# One of these is in every word for a part.
STEMS_OF_PARTS: Final = (
    "half halb hälft helft demi moiti medi mei meta mitad mezz metà quart viertel cuarto kwart пол четверт yarı çeyrek"
    " نصف ربع आध डेढ़ 절반 반"
)
PARTS_UNSPACED: Final = {("0.5", "50", "30"): "半", ("0.25", "25", "15"): "一刻"}
# Behind a number, or behind what is counted by it: two and a half hours, deux heures et demie.
AND_A_HALF: Final = "and a half|y medi[ao]|et demie?|e mezz[ao]|e mei[ao]|с половиной|ونصف|و نصف"
AND_A_QUARTER: Final = "and a quarter|y cuarto|et quart|e un quarto"
AND_THREE_QUARTERS: Final = "(?:and )?3 quarters|(?:y )?3 cuartos|(?:et )?3 quarts|(?:e )?3 quarti"
HALF_OF: Final = "half an? |eine halbe |medio |meio |mezzo |un demi[- ]|пол"  # a million
# Units with their hundredths behind them: un mètre soixante-quinze, three dollars fifty.
WITH_HUNDREDTHS: Final = "米|メートル|미터|mètre|metro|metri|meter|块|塊|元|euro|dollar|pound|franc"
POINT: Final = "point|komma|comma|virgule|coma|virgola|vírgula|punto|ponto"
# German and Dutch say the ones before the tens, in one word: dreiundzwanzig, drieëntwintig.
ONES_BEFORE_TENS: Final = (
    (
        "und",
        "ein zwei drei vier fünf sechs sieben acht neun",
        "zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig",
    ),
    (
        "en",
        "een twee drie vier vijf zes zeven acht negen",
        "twintig dertig veertig vijftig zestig zeventig tachtig negentig",
    ),
)
# Italian says them behind the tens, without the last letter of these before a vowel: ventitré, ventotto.
TENS_BEFORE_ONES: Final = (
    "venti trenta quaranta cinquanta sessanta settanta ottanta novanta",
    "uno due tre quattro cinque sei sette otto nove",
)
# All three write hundreds and thousands in one word with what is before and behind them: zweihundertfünf.
HUNDRED_IN_WORD: Final = "hundert|honderd|cento|cent"
THOUSAND_IN_WORD: Final = "tausend|duizend|mila|mille"
JOINED_BY: Final = "and|und|et|y|e|en|и|ve|و"  # tens and ones, hundreds and tens

SCALES: Final = {
    100: "hundred hundert cent cents cientos cento honderd yüz सौ مئة مائة",
    1_000: "k thousand tausend tsd mille mil mila duizend tusen тыс тысяча тысячи тысяч тысячу bin ألف الف آلاف"
    " हज़ार हजार tys ribu nghìn",
    100_000: "lakh lakhs lac lacs लाख",
    1_000_000: "m million millions millionen mio mill millón millones milhão milhões milione milioni miljoen mln"
    " миллион миллиона миллионов млн milyon مليون ملايين juta triệu",
    10_000_000: "crore crores करोड़",
    1_000_000_000: "billion billions bn mrd milliarde milliarden milliard milliards miliardo miliardi miljard bilhão"
    " bilhões миллиард миллиарда миллиардов млрд milyar مليار अरब",
}
# Scales that are numbers by themselves. The others need one before them: a cent, a mil, ich bin, a lakh.
SCALES_ALONE: Final = "hundred thousand million billion hundert tausend mille тысяча тысячу миллион ألف हज़ार"

SIGNS: Final = dict(zip("〇零一二三四五六七八九两兩壱弐参", (0, *range(10), 2, 2, 1, 2, 3), strict=True))
UNITS: Final = {"十": 10, "百": 100, "千": 1_000, "십": 10, "백": 100, "천": 1_000}
MYRIADS: Final = dict.fromkeys("万萬만", 10**4) | dict.fromkeys("億亿억", 10**8) | dict.fromkeys("兆조", 10**12)

# Sino-Korean numerals as Chinese signs, and the words that they count.
SINO_KOREAN: Final = dict(zip("영공일이삼사오육칠팔구십백천만억", "〇〇一二三四五六七八九十百千万億", strict=True))
SINO_KOREAN_COUNTED: Final = (
    "원|명|년|월|일|분|초|퍼센트|프로|번|층|호|킬로|미터|센티|도|인|회"
    "|권|장|세|주|차|대|점|배|평|개월|달러|유로|엔|밀리|그램|리터|만|억"
)
# Native Korean numerals: the tens, the ones, and the words that they count; and days, which have words of their own.
_TENS: Final = "열 스물 스무 서른 마흔 쉰 예순 일흔 여든 아흔"
KOREAN_TENS: Final = dict(zip(_TENS.split(), (10, 20, *range(20, 100, 10)), strict=True))
_ONES: Final = "하나 한 두 세 네 다섯 여섯 일곱 여덟 아홉"
KOREAN_ONES: Final = dict(zip(_ONES.split(), (1, *range(1, 10)), strict=True))
KOREAN_COUNTED: Final = (
    "명|개|시|달|번|살|마리|대|잔|권|장|분|곳|가지|주|배|병|채|사람|차례|끼|군데|팀|곡|편|쌍|벌|켤레|그루|송이|판|테이블|해"
    "|자리|줄|통|알"
)
_DAYS: Final = "하루 이틀 사흘 나흘 닷새 엿새 이레 여드레 아흐레 열흘 보름"
KOREAN_DAYS: Final = dict(zip(_DAYS.split(), (*range(1, 11), 15), strict=True))
