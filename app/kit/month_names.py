"""The names of months in the languages of most conversations, as texts of twelve lines, from January on.

Chinese, Japanese, Korean and Vietnamese write a month as its number. A ``_`` stands for a space.
"""

from typing import Final

# English, German, French, Spanish, Portuguese, Italian.
NAMES: Final = """
jan january januar janvier enero janeiro gennaio
feb february februar février febrero fevereiro febbraio
mar march märz mars marzo março
apr april avril abril aprile
may mai mayo maio maggio
jun june juni juin junio junho giugno
jul july juli juillet julio julho luglio
aug august août agosto
sep sept september septembre septiembre setembro settembre
oct october oktober octobre octubre outubro ottobre
nov november novembre noviembre novembro
dec december dezember décembre diciembre dezembro dicembre
"""
# Names that follow the day: short forms of the languages above, and Dutch, Swedish, Danish, Norwegian, Finnish, Polish,
# Czech, Romanian, Hungarian, Turkish, Indonesian.
NAMES_BEHIND: Final = """
ene janv gen januari januar tammikuu tammikuuta styczeń stycznia leden ledna ianuarie január ocak
fev févr febr februari helmikuu helmikuuta luty lutego únor února februarie február şubat
mär maart mrt marts maaliskuu maaliskuuta marzec marca březen března martie március mart maret
abr avr huhtikuu huhtikuuta kwiecień kwietnia duben dubna aprilie április nisan
mag mei maj toukokuu toukokuuta maja květen května május mayıs
giu kesäkuu kesäkuuta czerwiec czerwca červen června iunie június haziran
juil lug heinäkuu heinäkuuta lipiec lipca červenec července iulie július temmuz
ago augustus augusti elokuu elokuuta sierpień sierpnia srpen srpna augusztus ağustos agustus
syyskuu syyskuuta wrzesień września září septembrie szeptember eylül
okt ott lokakuu lokakuuta październik października říjen října octombrie október ekim
marraskuu marraskuuta listopad listopada listopadu noiembrie kasım
dic dez déc desember joulukuu joulukuuta grudzień grudnia prosinec prosince decembrie aralık
"""
# Russian, Ukrainian, Greek.
NAMES_BEHIND_EASTERN: Final = """
янв январь января январе січень січня ιανουάριος ιανουαρίου
фев февр февраль февраля феврале лютий лютого φεβρουάριος φεβρουαρίου
мар март марта марте березень березня μάρτιος μαρτίου
апр апрель апреля апреле квітень квітня απρίλιος απριλίου
май мая мае травень травня μάιος μαΐου
июн июнь июня июне червень червня ιούνιος ιουνίου
июл июль июля июле липень липня ιούλιος ιουλίου
авг август августа августе серпень серпня αύγουστος αυγούστου
сен сент сентябрь сентября сентябре вересень вересня σεπτέμβριος σεπτεμβρίου
окт октябрь октября октябре жовтень жовтня οκτώβριος οκτωβρίου
ноя нояб ноябрь ноября ноябре листопад листопада νοέμβριος νοεμβρίου
дек декабрь декабря декабре грудень грудня δεκέμβριος δεκεμβρίου
"""
# Arabic, Hebrew, Hindi.
NAMES_BEHIND_SOUTHERN: Final = """
يناير كانون_الثاني جانفي ינואר בינואר जनवरी
فبراير شباط فيفري פברואר בפברואר फ़रवरी फरवरी
مارس آذار מרץ במרץ मार्च
أبريل ابريل إبريل نيسان أفريل אפריל באפריל अप्रैल
مايو أيار ماي מאי במאי मई
يونيو يونية حزيران جوان יוני ביוני जून
يوليو يوليه تموز جويلية יולי ביולי जुलाई
أغسطس اغسطس آب أوت אוגוסט באוגוסט अगस्त
سبتمبر أيلول ספטמבר בספטמבר सितंबर सितम्बर
أكتوبر اكتوبر تشرين_الأول אוקטובר באוקטובר अक्टूबर अक्तूबर
نوفمبر تشرين_الثاني נובמבר בנובמבר नवंबर नवम्बर
ديسمبر كانون_الأول דצמבר בדצמבר दिसंबर दिसम्बर
"""
