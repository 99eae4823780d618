"""The words of ``cues`` and ``lasting`` in German, Spanish, French, Portuguese and Italian, a line for each. Pure.

Only patterns. They are searched in what ``european`` returns, which is nothing for text of another language: most words
here are cheap to look for, but not in each sentence, and some of them are English words too.
"""

import re
from functools import lru_cache
from typing import Final

from app.kit.patterns import lazy_pattern

CHARACTERS_MAX: Final = 1_000  # of a text that is looked at: no sentence is longer
TEXTS_KEPT: Final = 64  # each cue looks at the same sentence
# Words of these languages that a sentence of them hardly does without, and some that make one by themselves.
_GERMAN_WORDS: Final = (
    "ich mich mir mein meine meinen meinem meiner wir uns unser unsere und oder der das ist sind nicht kein keine"
    " keinen ein eine einen einem einer bitte wohne heiße arbeite jetzt ab mit auf für nie niemals immer nein"
    " danke vielen guten schönes nehmen haben habe entschieden beschlossen nach bei zum zur im vom aus seit auch"
    " noch wenn wie wird wurde"
)
_ROMANCE_WORDS: Final = (
    "de del el en la los las le les lo il gli un una um uma mi mis que qu con para por di della alla des du au"
    " dans chez sur como soy somos tenemos quiero queremos estoy tengo vivo vivimos trabajo prefiero preferimos"
    " odio detesto muy pero hemos vegano vegana nunca siempre gracias hola j je l ai moi mon nous notre est pas"
    " jamais toujours suis vous merci bonjour avec ne desde na em com eu sou moro temos tenho trabalho quero gosto"
    " adoro prefiro meu minha meus minhas não sempre obrigado obrigada nós decidimos estou nasci io sono ho abito"
    " lavoro voglio mangio preferisco mio mia miei che non puoi abbiamo ciao grazie chiamo mai adesso ora dopo"
    " niente"
)
_ENGLISH_WORDS: Final = (
    "the and of is are with that this these you your it its to for from have been were would can could should my not be"
    " at by but they their what when which how there we our his her she if than more about"
)
_GERMAN: Final = frozenset(_GERMAN_WORDS.split())
_WORDS: Final = _GERMAN | frozenset(_ROMANCE_WORDS.split())
_ENGLISH: Final = frozenset(_ENGLISH_WORDS.split())
_LETTERS: Final = lazy_pattern("[à-öø-ÿœÀ-ÖØ-Þ¿¡]")


@lru_cache(maxsize=TEXTS_KEPT)
def european(text: str) -> str:
    """The text with plain apostrophes where it has more words of these languages than of English, else ""."""
    if len(text) > CHARACTERS_MAX:
        return ""
    words = text.lower().replace("'", " ").split()
    if _WORDS.isdisjoint(words) and (text.isascii() or not _LETTERS.search(text)):
        return ""
    ours = sum(word in _WORDS for word in words)
    return text.replace("’", "'") if max(1, ours) > sum(word in _ENGLISH for word in words) else ""


def is_german(text: str) -> bool:
    """Its nouns have capitals, so that these tell no names."""
    return not _GERMAN.isdisjoint(text.lower().split())


def _any(*rows: str) -> re.Pattern[str]:
    return lazy_pattern(rf"\b(?:{'|'.join(rows)})\b", re.IGNORECASE)


def _first(*rows: str) -> re.Pattern[str]:
    return lazy_pattern(rf"^\W*(?:{'|'.join(rows)})\b", re.IGNORECASE)


# What denies, doubts or supposes what stands behind it in its clause.
UNDONE: Final = lazy_pattern(
    r"\b(?:nicht|nichts?|nie|niemals|kein\w*|ohne|ob|wenn|falls|bevor|bis|noch zu|muss|müssen|soll\w*|kann|können"
    r"|no|nunca|jamás|todavía|aún|sin|si|antes de|hasta que|hay que|puede|pueden|podría|debe|quizás?"
    r"|ne|n'\w+|pas|jamais|sans|avant|peut|peuvent|pourrait|doit|doivent|à"
    r"|não|nem|sem|se|caso|ainda|pode|podem|deve|talvez"
    r"|non|mai|senza|prima di|può|possono|deve|forse)\b[^,.;:!?]{0,30}$",
    re.IGNORECASE,
)
DECISION: Final = _any(
    r"entschieden|beschlossen|vereinbart|ausgemacht|geeinigt|(?:ich|wir) entscheide\w* (?:mich|uns)|wir (?:nehmen"
    r"|bleiben bei"
    r"|setzen auf|verwenden|nutzen|gehen mit)|ich nehme d(?:en|as|ie)|(?:die|unsere|meine) entscheidung (?:ist|fiel"
    r"|steht)"
    r"|ich bestätige|bitte (?:stornier\w+|buch\w+|storno)",
    r"decid[ií]|decidimos|decidido|acordamos|acordado|opt(?:é|amos|ado) por|eleg(?:í|imos|ido)|(?:nos quedamos"
    r"|me quedo|vamos)"
    r" con|(?:mi|nuestra|la) decisión (?:final )?es|adelante con",
    r"(?:j'ai|nous avons|on a) (?:finalement |enfin )?(?:décidé|choisi|opté|convenu)|(?:on|nous) (?:part\w*"
    r"|rest\w*) sur"
    r"|(?:on|je) prend(?:s|ra)?|c'est décidé|(?:ma|notre|la) décision est|je confirme",
    r"escolh(?:i|emos|ido)|optei|optámos|optamos|combin(?:ei|ámos|amos|ado)|(?:ficamos|fico|vamos) com|ficou decidido"
    r"|(?:minha|nossa|a) decisão é",
    r"deciso|scelto|optato|concordato|stabilito|(?:andiamo|restiamo|resto|vado) con|(?:la|mia|nostra) decisione è"
    r"|confermo|prendiamo|usiamo|scegliamo",
)
# Rules and dates that hold whoever they are said of.
RULE: Final = lazy_pattern(
    r"\b(?:ab (?:jetzt|sofort|heute)|von (?:nun|jetzt) an|künftig|in zukunft|abgabetermin|deadline|frist"
    r"|a partir de (?:ahora|hoy|este momento)|desde ahora|(?:de ahora )?en adelante|fecha límite|plazo"
    r"|dorénavant|désormais|à partir (?:de maintenant|d'aujourd'hui)|à l'avenir|date limite|échéance"
    r"|a partir de (?:agora|hoje)|de agora em diante|daqui (?:para a frente|em diante|pra frente)|doravante|prazo"
    r"|d'ora in (?:poi|avanti)|da (?:ora|oggi|adesso) in (?:poi|avanti)|scadenza)\b"
    r"|^\W*(?:bitte |por favor,? |s'il (?:te|vous) plaît,? |per favore,? )?(?:"
    r"(?:immer|nie|niemals|nur noch|siempre|nunca|jamás|toujours|jamais|sempre|mai)\b"
    r"|(?!(?:das|es|er|sie|wir|ich|hier|da|du|noch|fast|so|war|bin|ist)\b)[a-zäöüß]+ (?:mir |mich |uns )?(?:immer"
    r"|nie|niemals|stets)\b"
    r"|kein\w* (?!ahnung|sorge|problem|frage|angst|lust|zeit|idee|stress|eile|wunder)\w"
    r"|no (?!(?:tienes|sabes|eres|puedes|quieres|debes|crees|vas|estás|necesitas|gracias|más|mis|las?)\b)"
    r"(?:me |nos |lo |la )?[a-záéíóú]{2,}(?:es|as)\b"
    r"|[a-záéíóú]{4,} (?:me |nos )?siempre (?=en|con|de|por|los?|las?|el)"
    r"|ne (?:me |nous |m')?\w{3,} (?:jamais|pas|plus)\b|n'\w{3,} (?:jamais|pas|plus)\b"
    r"|(?!(?:je|tu|il|elle|on|nous|vous|ils|elles|ça|pas|c'est|est)\b)\w{3,}(?:-moi|-nous)? (?:toujours|jamais) "
    r"|não (?!(?:tens|podes|sabes|precisas|deves|queres|achas|mas|mais|as)\b)(?:me |nos )?[a-zçáéíóú]{2,}(?:es|as)\b"
    r"|(?!(?:eu|ele|ela|quase|nem|foi|está|é)\b)[a-zç]{4,}(?:-me)? sempre (?=em|com|de|por|os?|as?)"
    r"|non [a-z]{2,}(?:are|ere|ire|armi|ermi|irmi) |[a-z]{3,}(?:i|a)(?:mi)? sempre (?=in|con|di|per|il|la|le))",
    re.IGNORECASE,
)
_LIKES: Final = _any(
    r"bevorzug\w+|ich (?:mag|liebe|hasse)|mag ich|am liebsten|(?:ich|wir) \w+ (?:\w+ ){0,4}?(?:gern|gerne|lieber"
    r"|ungern)"
    r"|lieblings\w+|\w*allergi(?:sch|e|en|ker|kerin)|unverträglichkeit|vertrage? (?:ich )?kein\w*|nicht ausstehen"
    r"|kann ich nicht leiden",
    r"prefiero|preferimos|preferiría|me (?:gustan?|encantan?|apasionan?)|no (?:soporto|aguanto)|odio|detesto"
    r"|favorit[oa]s?"
    r"|alérgic[oa]s?|alergias?|intoleran(?:te|cia)s?",
    r"je (?:préfère|préférerais|déteste|hais|n'aime|ne supporte)|j'(?:aime(?!rais)|adore)|nous (?:préférons|aimons)"
    r"|préférée?s?"
    r"|allergi(?:ques?|es?)|intoléran(?:te?|ce)s?",
    r"prefiro|gosto|gostamos|adoro|detesto|odeio|não suporto|preferid[oa]s?|alergi(?:a|as)",
    r"preferisco|preferiamo|mi (?:piace|piacciono)|non sopporto|preferit[oaie]|allergi(?:c[oahie]+|a|e)"
    r"|intolleran(?:te|za|ti)",
)
PREFERENCE: Final = lazy_pattern(rf"{RULE.pattern}|{_LIKES.pattern}", re.IGNORECASE)
NEXT_STEP: Final = _any(
    r"(?:ich|wir) (?:werden?|planen?|will|wollen|muss|müssen|möchten?|soll(?:en)?|haben? vor)|(?:werde|will|muss"
    r"|möchte) ich|habe ich vor"
    r"|(?<!guten )(?<!am )(?<!jeden )(?<!diesen )morgen(?! früh)|nächste[nrsm]? (?:woche|monats?|jahr|schritte?"
    r"|montag|dienstag"
    r"|mittwoch|donnerstag|freitag|samstag|sonntag)|bis (?:montag|dienstag|mittwoch|donnerstag|freitag|samstag"
    r"|sonntag|zum \d+)"
    r"|fällig|geplant|erinnere mich|abgabetermin|deadline",
    r"voy a|vamos a|(?:tengo|tenemos) que|pienso|planeo|quiero|queremos|debo|(?<!la )(?<!esta )(?<!buena )mañana"
    r"|próxim[oa]s? (?:semana|mes|año|pasos?|lunes|martes|miércoles|jueves|viernes)|fecha límite|semana que viene"
    r"|recuérdame|[a-z]{2,}(?:ar|er|ir)é",
    r"je (?:vais|dois|veux|compte|prévois)|(?:nous allons|on va|nous devons|nous voulons)|demain|(?:semaine"
    r"|année) prochaine|mois prochain"
    r"|prochaines? étapes?|date limite|échéance|rappelle-moi|j'ai (?:prévu|l'intention)|je [a-zé]+rai",
    r"(?:vou|vamos) \w+r|(?:tenho|temos) (?:de|que)|preciso de|quero|queremos|pretendo|planej?o|amanhã"
    r"|próxim[oa]s? (?:semana|mês|ano"
    r"|passos?|segunda|terça|quarta|quinta|sexta)|semana que vem|lembra-me|me lembre|[a-z]{2,}(?:ar|er|ir)ei",
    r"devo|dobbiamo|voglio|vogliamo|ho intenzione|conto di|penso di|sto per|domani|(?:settimana|anno|mese) prossim[oa]"
    r"|prossim[oaie] (?:settimana|anno|mese|passo|passi)|ricordami|[a-z]{2,}rò|[a-z]{3,}eremo|entro (?:il|l'|lunedì"
    r"|martedì|mercoledì"
    r"|giovedì|venerdì)",
)
ISSUE: Final = _any(
    r"fehler(?:meldung)?|problem(?:e|en)?|störung|ausfall|kaputt|abgestürzt|fehlgeschlagen|funktionier\w+ nicht"
    r"|geht nicht",
    r"errores|fall(?:o|os|a|ó)|problemas?|avería|no funciona\w*|caíd[oa]",
    r"erreurs?|échec|échoué|pannes?|problèmes?|ne (?:marche|fonctionne)\w* (?:pas|plus)",
    r"erros?|falh(?:a|as|ou)|não funciona\w*|avaria",
    r"errori?|guasti?|problemi|fallit[oa]|non funziona\w*|rott[oa]",
)
_DEEDS: Final = (
    (
        r"fertig|erledigt|abgeschlossen|gelöst|behoben|repariert|gebucht|storniert|bestätigt|veröffentlicht|bestanden"
        r"|gewonnen"
        r"|erstellt|aktualisiert|geschafft|erstattet"
    ),
    (
        r"termin(?:é|amos|ad[oa]s?)|resuelt[oa]|solucionad[oa]|arregl(?:é|ad[oa])|reserv(?:é|ad[oa])|cancel(?:é|ad[oa])"
        r"|confirmad[oa]"
        r"|publicad[oa]|aprobado|gan(?:é|amos|ado)|completad[oa]|actualizad[oa]"
    ),
    (
        r"terminée?|résolue?|réparée?|corrigée?|réservée?|annulée?|confirmée?|publiée?|réussi|gagné|remboursée?"
        r"|mise? à jour"
    ),
    (
        r"terminei|conclu(?:í|ímos|íd[oa])|resolvi(?:d[oa])?|corrigi(?:d[oa])?|reserv(?:ei|ad[oa])|cancel(?:ei|ad[oa])"
        r"|ganhei|publiquei"
        r"|atualizad[oa]"
    ),
    (
        r"finit[oa]|terminat[oa]|completat[oa]|risolt[oa]|riparat[oa]|corrett[oa]|prenotat[oa]|cancellat[oa]|annullat[oa]"
        r"|confermat[oa]|pubblicat[oa]|superato|vinto|aggiornat[oa]"
    ),
)
OUTCOME: Final = _any(*_DEEDS)
OWN_DEED: Final = _any(
    rf"(?:wurden?|worden|habe|haben|ist|sind) (?:[\w-]+ ){{0,6}}?(?:{_DEEDS[0]})",
    rf"(?:he|hemos|ha sido|han sido|está|están|queda) (?:\w+ )?(?:{_DEEDS[1]})",
    rf"(?:j'ai|nous avons|a été|ont été|est|sont) (?:\w+ )?(?:{_DEEDS[2]})",
    rf"(?:foi|foram|está|estão|já) (?:\w+ )?(?:{_DEEDS[3]})",
    rf"(?:ho|abbiamo|è stat[oa]|sono stat[ie]|è|sono) (?:\w+ )?(?:{_DEEDS[4]})",
)
FIRST_PERSON: Final = _any(
    r"ich|mich|mir|mein(?:e[nmrs]?)?|wir|uns|unser\w*|wohne|heiße",
    r"yo|mis?|mí|nos|(?:no|não|non) (?:como|bebo|fumo|mangio|bevo)|nosotr[oa]s|nuestr[oa]s?|soy|estoy|tengo|tenemos"
    r"|vivo|vivimos|(?<!el )(?<!un )(?<!de )trabajo|trabajamos|hablo"
    r"|prefiero|preferimos|odio|quiero|queremos|voy|vamos|[a-z]{3,}[aeiá]mos|somos|fui|hice|tuve|estuve|compré"
    r"|vendí|empecé|viajé"
    r"|nací|crecí|estudi[éo]|decidí|decidimos|elegí|reservé|gané|perdí|conocí|(?:he|hemos) \w+(?:ado|ido|cho|sto)",
    r"je|j'\w*|moi|m'\w*|mon|ma|mes|nous|notre|nos|on (?:a|va|habite|part|prend|reste)",
    r"eu|meus?|minhas?|mim|nós|nosso|nossa|sou|estou|tenho|temos|moro|moramos|trabalho|prefiro|gosto|gostamos|adoro"
    r"|quero"
    r"|vou|fui|fiz|tive|estive|comprei|vendi|comecei|nasci|cresci|viajei|escolhi|aprendi|decidi|mudei|somos|falo"
    r"|detesto|odeio",
    r"io|mi|mio|mia|miei|mie|noi|nostr[oaie]|sono|ho|abito|abitiamo|viviamo|lavoro|lavoriamo|preferisco|preferiamo"
    r"|voglio|vado"
    r"|[a-z]{2,}iamo|parlo|adoro|devo|dobbiamo",
)
SECOND_PERSON: Final = _any(
    r"du|dich|dir|dein\w*|euch|euer|ihnen",
    r"tú|te|tus?|usted(?:es)?|vosotr[oa]s",
    r"toi|ta|tes|tu|(?<!-)vous|votre|vos|t'\w+",
    r"você|vocês|teus?|tuas?",
    r"ti|tuo|tua|tuoi|tue|voi|vostr[oaie]",
)
UNMARKED_QUESTION: Final = lazy_pattern(
    r"(?:(?:und|aber|y|pero|et|mais|mas|e|ma|hallo|hola|bonjour|salut|olá|ciao),? )?(?:"
    r"(?:wie|was|warum|wieso|wo|wer|wann|welche[rsnm]?|wie viele?) (?:kann|können|könnte|ist|sind|war|soll|sollte"
    r"|muss|macht|mache|wird|geht"
    r"|gibt|hat|habe|heißt|findest|meinst|wäre)|(?:kannst|könntest|weißt|hast|bist|soll|sollte|kann|darf"
    r"|muss) (?:du|ich|man|wir)"
    r"|(?:cómo|qué|cuál|cuáles|dónde|cuándo|quién|cuánto|cuántos|por qué) \w|(?:puedes|podrías|sabes|debo|debería) \w"
    r"|(?:est-ce que|qu'est-ce|comment (?:puis|faire|on|je|dois)|pourquoi|où (?:est|sont|puis)|quels?|quelles?"
    r"|peux-tu|pouvez-vous"
    r"|dois-je|puis-je)[ -]"
    r"|(?:qual|quais|onde|o que (?:é|faço|posso|devo)|como (?:posso|faço|devo|é)|quando (?:é|posso)|por que"
    r"|você (?:pode|sabe)|devo) "
    r"|(?:come (?:posso|si|faccio|devo)|cosa (?:posso|devo|è|faccio)|quale|quali|dove (?:posso|è|si)|perché"
    r"|quando (?:è|posso)"
    r"|puoi|dovrei) )[^.!]*[^.!]",
    re.IGNORECASE,
)
ASKED: Final = lazy_pattern(
    r"[,;]\s+(?=¿|(?:(?:und|aber|also|y|pero|et|mais|mas|e|ma) )?(?:kannst|könntest|können|könnten|was|welche\w*"
    r"|wie|wo|wann|hast|gibt"
    r"|puedes|podrías|qué|cuál|dónde|cómo|me recomiendas|peux-tu|pourrais-tu|pouvez-vous|pourriez-vous|quel\w*|où"
    r"|comment|tu peux"
    r"|tu as|podes|pode|poderia|podia|qual|onde|como|o que|você|puoi|potresti|può|quale|dove|come|cosa"
    r"|che)\b(?: \S+){2})",
    re.IGNORECASE,
)
NOT_TOLD: Final = _first(
    r"wenn|falls|ob|si|s'il|se|caso|wo|was|wie|como|qué|qual|comment|quando|come|mientras|porque|weil|da"
)
REQUEST: Final = _any(
    r"(?:kannst|könntest|würdest) du|(?:können|könnten|würden) sie|bitte|hilf mir|zeig\w* mir|sag\w* mir|gib mir"
    r"|schreib\w* mir"
    r"|erklär\w* mir|ich (?:brauche|möchte|hätte gern\w*)|^(?:schreib|erstelle?|finde|übersetze?|fass)",
    r"(?:puedes|podrías|podría usted)|por favor|ayúdame|necesito|quisiera|me gustaría|dime|muéstrame|dame|recomiéndame"
    r"|^(?:escribe|crea|haz|busca|explica\w*|traduce)",
    r"(?:peux|pourrais)-tu|(?:pouvez|pourriez)-vous|tu peux|vous pouvez|s'il (?:te|vous) plaît|aide[zr]?-moi"
    r"|j'ai besoin|je voudrais"
    r"|j'aimerais|dis-moi|montre-moi|donne-moi|^(?:écris|crée|trouve|explique|traduis)",
    r"(?:podes|podias|você (?:pode|poderia))|por favor|me ajud[ea]|ajuda-me|preciso|gostaria|me diga|diz-me|mostra-me"
    r"|^(?:escreve|escreva|cri[ae]|encontr[ae]|expli(?:ca|que)|traduz[ai]?)",
    r"puoi|potresti|potrebbe|per (?:favore|piacere)|aiutami|ho bisogno|vorrei|dimmi|mostrami|dammi|consigliami"
    r"|^(?:scrivi|crea|trova|spiega\w*|traduci)",
)
# Greetings, thanks and praise: what is said to be kind, and asserts nothing of the speaker.
REACTION: Final = _first(
    r"hallo|hi|guten (?:morgen|tag|abend)|vielen dank|danke|gern geschehen|(?:na )?(?:super|toll|prima|klasse"
    r"|perfekt|wunderbar)"
    r"|alles klar|(?:das|es) (?:ist|klingt|war|freut) (?:ja |so |wirklich |mich |echt |sehr |aber )*(?:schön|toll"
    r"|super|gut|interessant"
    r"|lustig|nett|klasse|prima|sehr|spannend)|klingt|wie schön|viel (?:spaß|glück|erfolg)|schönen? \w+|bis (?:bald"
    r"|dann|später)|tschüss"
    r"|was für ein\w*|haha\w*",
    r"hola|buen(?:os días|as tardes|as noches)|(?:muchas )?gracias|de nada|(?:genial|perfecto|estupendo|vale)[.!]*$"
    r"|qué \w+!?$"
    r"|(?:eso|esto)? ?(?:es|está|suena) (?:muy )?(?:bien|genial|bonito|interesante|estupendo|divertido)"
    r"|me alegr[oa]|hasta (?:luego|pronto|mañana)"
    r"|adiós|jaja\w*",
    r"bonjour|bonsoir|salut|merci|de rien|(?:super|génial|parfait|d'accord|très bien)[ .!]*$|c'est (?:vraiment "
    r"|très |trop |super )*(?:beau|bien"
    r"|génial|gentil|super|intéressant|drôle|sympa|parfait)|quelle? \w+|bonne (?:journée|soirée|chance)"
    r"|à (?:bientôt|demain|plus)|au revoir",
    r"olá|oi|bom dia|boa (?:tarde|noite|sorte)|(?:muito )?obrigad[oa]|de nada|(?:ótimo|perfeito|legal|fixe"
    r"|está bem)[ .!]*$"
    r"|(?:isso )?(?:é|parece|soa) (?:muito )?(?:bom|legal|ótimo|bonito|interessante|giro|fixe)|que (?:bom|legal"
    r"|giro|lindo|ótimo)|até (?:logo"
    r"|amanhã|já)|tchau|kkk\w*",
    r"ciao|buongiorno|buonasera|salve|(?:molte |mille )?grazie|prego|(?:perfetto|ottimo|benissimo|va bene"
    r"|d'accordo)[ .!]*$|che bell\w+"
    r"|(?:è|sembra) (?:molto |davvero )?(?:bello|bellissimo|interessante|carino|divertente|fantastico)|a (?:presto"
    r"|domani|dopo)|arrivederci",
)
CORRECTION: Final = _any(
    r"^(?:nein|não|non), (?!danke|das (?:ist|war) (?:alles|gut)|merci|c'est (?:tout|bon)|obrigad|é (?:tudo|só)|(?:è"
    r"|e) tutto|grazie|va bene)\w+"
    r"|ich meinte|(?:ich )?(?:habe?|hab) mich (?:vertan|geirrt|verschrieben|verlesen)|(?:ich wollte"
    r"|wollte ich) sagen|korrektur|, sondern|doch nicht \w+",
    r"^no, (?:perdón|perdona|espera|digo|mejor (?!no)|es (?:el|la|un|una|a)\b|son (?:los|las)\b|era (?!broma))\w*"
    r"|^perdón, (?:es|era|son|no)"
    r"|quise decir|me equivoqué|me he equivocado|corrección|mejor dicho|quería decir|, sino",
    r"je voulais dire|me suis trompée?|correction|erreur de ma part|je me corrige",
    r"quis dizer|me enganei|quero dizer|enganei-me|correção|, (?:e )?sim (?=[oa]s? |em |às? |\d)|errei",
    r"volevo dire|mi sono sbagliat[oa]|intendevo|mi correggo|correzione|, anzi|^anzi|, bensì",
)
ADMISSION: Final = _any(
    r"entschuldigung|entschuldige|tut mir leid|mein fehler|(?:du hast|sie haben) recht|ich habe mich (?:geirrt|vertan)",
    r"lo siento|perdón|disculp[ae]|tienes razón|me (?:he )?equivo(?:qué|cado)",
    r"désolée?|pardon|excuse[zr]?-moi|(?:vous avez|tu as) raison|je me suis trompée?",
    r"desculp[ae]|(?:tem|tens) razão|enganei-me",
    r"scus[ai]|mi dispiace|hai ragione|mi sono sbagliat[oa]",
)

_KIN: Final = (
    (
        r"mann|frau|partner(?:in)?|freund(?:in)?|sohn|tochter|kind(?:er)?|töchter|söhne|mutter|vater|mama|papa|eltern"
        r"|bruder|brüder|schwestern?"
        r"|oma|opa|hund|katze|kater|chef(?:in)?|job|beruf|geburtstag|adresse|telefonnummer|handynummer|e-?mail\S*|firma"
        r"|team|name|wohnung"
        r"|ärztin|arzt|iban|verlobte[rn]?"
    ),
    (
        r"marido|espos[oa]|mujer|pareja|novi[oa]|hij[oa]s?|madre|padres?|mamá|papá|herman[oa]s?|abuel[oa]s?|perr[oa]s?"
        r"|gat[oa]s?|jef[ea]|trabajo"
        r"|profesión|cumpleaños|dirección|teléfono|número|correo|email|empresa|equipo|nombre|iban"
    ),
    (
        r"mari|femme|conjointe?|compagne|compagnon|copine?|fils|filles?|enfants?|mère|père|maman|papa|parents|frères?"
        r"|sœurs?|soeurs?|chien(?:ne)?"
        r"|chat(?:te)?|patronn?e?|travail|métier|anniversaire|adresse|téléphone|numéro|e-?mail|entreprise|équipe|nom"
        r"|iban|grand-(?:mère|père)"
    ),
    (
        r"marido|esposa|mulher|namorad[oa]|companheir[oa]|filh[oa]s?|mãe|pai|pais|irmãos?|irmãs?|avó|avô|cão"
        r"|cachorr[oa]|gat[oa]s?|chefe|trabalho"
        r"|profissão|aniversário|anos|endereço|morada|telefone|número|email|e-mail|empresa|equipa|equipe|nome|iban|nif|cpf"
    ),
    (
        r"marito|moglie|compagn[oa]|fidanzat[oa]|ragazz[oa]|figli[oae]?|madre|padre|mamma|papà|genitori|fratell[oi]"
        r"|sorell[ae]|nonn[oa]|can[ei]"
        r"|gatt[oaie]|capo|lavoro|compleanno|indirizzo|telefono|numero|email|azienda|ditta|squadra|nome|iban|nascita"
    ),
)
_NOTHING: Final = (
    r"(?!frage|problem|idee|bitte|bisschen|paar|wenig|moment|gute|pregunta|duda|problema|idea|poco|momento|rato"
    r"|question|problème|idée|peu"
    r"|doute|instant|pergunta|dúvida|ideia|pouco|domanda|dubbio|altra|outra|otra|autre|buen|bonne)"
)
PROFILE: Final = _any(
    r"heiße|wohnen? (?:ich|wir)|(?:ich|wir) (?:\w+ )?wohnen?|^wohne|(?:ich (?:lebe|arbeite|studiere|stamme"
    r"|komme (?:\w+ )?aus|esse|trinke|rauche|spreche"
    r"|unterrichte|leite|leide an)|(?:lebe|arbeite|studiere|spreche|esse|trinke) ich)|^arbeite (?:als|bei|in)"
    r"|weil ich .{1,40} (?:wohne|arbeite|lebe)"
    r"|(?:ich bin|bin ich) (?:\w+ ){0,3}?(?:\d+|verheiratet|ledig|single|geschieden|verwitwet|vegan|vegetarisch"
    r"|\w*allergisch|schwanger"
    r"|in rente|selbst(?:st)?ändig|laktoseintolerant|aus [a-zäöü]\w+|ein\w* (?!bisschen|wenig|paar)\w+|geboren"
    r"|gelernte\w*)"
    r"|(?:ich bin|bin ich) (?:\w+ ){0,2}?(?-i:[A-ZÄÖÜ][a-zäöüß]+)|(?:bin|war|sind) (?:[\w.]+ ){1,6}?(?:geboren"
    r"|aufgewachsen|gezogen|umgezogen)"
    rf"|(?:mein|unser)(?:e[nmrs]?)? (?:(?:\w+e[nrs]?|e-?mail-?) )?(?:{_KIN[0]})"
    rf"|(?:(?:ich|wir) haben?|habe ich|haben wir) (?:\w+ )?(?:ein(?:en|e)?|zwei|drei|vier|\d+"
    rf"|seit \d+ \w+) {_NOTHING}\w+"
    r"|ich habe (?:\w+ )?(?:diabetes|asthma|zöliakie|bluthochdruck|epilepsie|\w*allergie|\w*intoleranz|geburtstag)"
    r"|ich nehme (?:täglich|seit|jeden|morgens|abends|\d)\w*",
    r"me llamo|mi nombre es|soy (?:de|una?|\w+(?:[oa]|ista|or|ora|ente|ante|al|ero|era)s?)|vivo (?:\w+ ){0,2}?(?:en"
    r"|con|sol[oa])|vivimos|resido"
    r"|(?<!el )(?<!un )trabajo (?:\w+ )?(?:en|como|para|de|desde)|estudi[oé] \w+|nací|crecí|me (?:he mudado|mudé)"
    r"|nos (?:hemos mudado|mudamos)|vengo de"
    rf"|tengo (?:\d+|una?|dos|tres|cuatro|diabetes|asma|alergia|hipertensión|intolerancia) ?{_NOTHING}"
    rf"|tenemos (?:una?|dos|tres|\d+) {_NOTHING}\w+"
    rf"|estoy (?:casad|solter|divorciad|embarazad|jubilad|separad)[oa]|(?:mis?"
    rf"|nuestr[oa]s?) (?:\w+ (?:de )?)?(?:{_KIN[1]})|hablo \w+|no (?:como|bebo|fumo)"
    r"|cumplo (?:años|\d+)|tomo \w+ (?:mg|cada|todos)",
    r"je m'appelle|j'habite|je n'habite|(?:je|nous) (?:ne )?(?:vis|vivons|réside|travaille|travaillons|parle"
    r"|mange pas|bois pas|fume|souffre"
    r"|mange plus|bois plus)|(?:nous|on) habit\w+|je viens d[eu]|nous avons (?:dé|em)ménagé"
    r"|je (?:ne )?suis (?:plus |pas )?(?:(?:née?|mariée?|célibataire|divorcée?|pacsée?|vegan|végane|végétarien\w*"
    r"|allergique|diabétique|enceinte|retraitée?|étudiante?|une?|de|d'|originaire)|\w+(?:eur|euse|ienn?e?|iste"
    r"|ante?|ier|ière|logue|cin|trice|aire))"
    rf"|j'ai (?:(?:\d+|une?|deux|trois|quatre) {_NOTHING}|grandi|déménagé|emménagé|du diabète|de l'asthme"
    rf"|une allergie|le diabète)"
    rf"|nous avons (?:une?|deux|trois|\d+) {_NOTHING}\w+|(?:mon|ma|mes|notre|nos) (?:\w+ )?(?:{_KIN[2]})"
    rf"|je prends \d+\w*|je suis (?:déménag|install)ée?",
    r"me chamo|chamo-me|(?:sou|estou) (?:(?:de|do|da|uma?|casad[oa]|solteir[oa]|divorciad[oa]|grávida|reformad[oa]"
    r"|aposentad[oa]|vegan[oa]?"
    r"|vegetarian[oa]|celíac[oa]|diabétic[oa]|alérgic[oa])|\w+(?:eir[oa]|ista|or|ora|ente|ante|óloga?|ogo|ária?"
    r"|ário|ico|ica))|moro|moramos"
    r"|vivo (?:\w+ )?(?:em|no|na|com|sozinh[oa])|resido|trabalho (?:\w+ )?(?:em|como|na|no|para|com|num|numa)"
    r"|estudo \w+|nasci|cresci|mudei-me|me mudei|mud[áa]mo-nos|nos mudamos|venho d[eoa]"
    rf"|tenho (?:(?:\d+|uma?|dois|duas|três) {_NOTHING}\w+|diabetes|asma|alergia)|temos (?:uma?|dois|duas|três"
    rf"|\d+) {_NOTHING}\w+"
    rf"|(?:meus?|minhas?|nosso|nossa)(?: \w+)? (?:{_KIN[3]})|não (?:como|bebo|fumo)|falo \w+|faço anos",
    r"mi chiamo|abito|abitiamo|vivo (?:\w+ )?(?:a|in|ad|con|da sol[oa])|risiedo"
    r"|(?<!il )(?<!un )lavoro (?:\w+ )?(?:come|per|presso|in|da|alla?|all')"
    r"|studio \w+|(?<!si )sono (?:(?:nat|cresciut|sposat|divorziat|vegan|vegetarian|celiac|diabetic|allergic"
    r"|laureat|separat)[oa]|single|incinta|di|una?"
    rf"|\w+(?:ista|tore|trice|iere|iera|ante|olog[oa]|medico|aio|aia|nese|ano|ana))|ho (?:\d+ anni|(?:una?|due|tre"
    rf"|quattro) {_NOTHING}\w+|il diabete|l'asma)"
    rf"|abbiamo (?:un[oa']?|due|tre|\d+) {_NOTHING}\w+|(?:mi sono|ci siamo) (?:trasferit|laureat|sposat)[oai]"
    rf"|vengo d\w+|(?:mi[oae]|miei|nostr[oaie])(?: \w+)? (?:di )?(?:{_KIN[4]})"
    r"|non (?:mangio|bevo|fumo)|parlo \w+|prendo \d+\w*",
)
PASSING: Final = lazy_pattern(
    r"^\W*(?:bitte(?! (?:immer|nie|niemals|nur|kein))|hilf|schreibe?|finde|suche?|erstelle?|mach|gib|sag|zeige?"
    r"|erklär\w*|übersetze?|fasse?"
    r"|vergleiche?|empfiehl|danke|vielen dank|stell dir|hier ist"
    r"|por favor,? (?!siempre|nunca|no )|ayúda\w+|escribe|busca|encuentra|crea|haz|dame|dime|muéstra\w+|explica\w*"
    r"|traduce|resume|compara|recomiénda\w+"
    r"|gracias|aquí tienes"
    r"|s'il (?:te|vous) plaît,? (?!toujours|jamais|ne )|aidez?-\w+|écri[st]\w*|trouvez?|donnez?-\w+|dis-\w+"
    r"|montrez?\w*|expliquez?|tradui\w+|résumez?"
    r"|merci|voici"
    r"|me ajud\w+|ajud[ae]\w*|escrev[ae]|encontr[ae]|cri[ae]|diga|diz|explique|traduza|resuma|obrigad[oa]|aqui está"
    r"|per (?:favore|piacere),? (?!sempre|non|mai)|aiutami|scrivi|trova|dammi|dimmi|mostrami|spiega\w*|traduci"
    r"|riassumi|grazie|ecco"
    r"|secondo me|meiner meinung|a mon avis|à mon avis|en mi opinión|na minha opinião)\b"
    r"|\b(?:ich (?:schaue|schau|probiere|überlege|versuche|melde mich|suche|brauche|frage mich|freue mich|hoffe"
    r"|dachte|finde|möchte (?:wissen|gern)"
    r"|würde gern\w*|hätte gern\w*|bin (?:gespannt|neugierig|mir|froh|sicher|bereit|so|gerade|gleich|dabei))"
    r"|(?:werde|will) (?:ich )?(?:mal |es |das )+(?:\w+ )?(?:schauen|versuchen|probieren|überlegen|testen|ansehen"
    r"|anschauen)"
    r"|ich habe (?:noch )?(?:eine (?:andere )?frage|gehört|gelesen)"
    r"|(?:ich )?(?:mag|liebe) (?:die idee|das|es|wie|deine?n?)"
    r"|(?:tengo (?:otra|una) (?:pregunta|duda)|me pregunto|estoy (?:buscando|segur[oa]|interesad[oa]|intentando"
    r"|pensando|content[oa]|list[oa])"
    r"|busco|necesito|quisiera|me gustaría|he (?:oído|leído)|voy a (?:ver|probar|mirar|intentar|pensar\w*|revisar)"
    r"|espero que)"
    r"|vamos (?:a )?ver|on verra|vediamo|(?:me (?:gusta|encanta)) (?:la idea|eso|esto|cómo|tu|su|que)"
    r"|j'ai (?:une|encore une|une autre|entendu|lu) (?:autre )?(?:question|dire|que)|je me demande|je cherche"
    r"|j'ai besoin|je voudrais|j'aimerais|j'espère"
    r"|je suis (?:sûre?|curieu\w+|intéressée?|ravie?|contente?|en train|d'accord|prête?|désolée?)"
    r"|je vais (?:voir|essayer|regarder|réfléchir|vérifier|y)|j'(?:aime|adore) (?:bien )?(?:cette|l'idée|ça|ta|ton"
    r"|votre|comment|que)"
    r"|(?:tenho (?:outra|uma) (?:pergunta|dúvida)|me pergunto|estou (?:procurando|à procura|com certeza"
    r"|interessad[oa]|tentando|a pensar|pensando|content[eo])"
    r"|preciso (?:de ajuda|saber)|gostaria|gostava|ouvi dizer|vou (?:ver|tentar|pensar|verificar|experimentar)"
    r"|espero que)"
    r"|(?:gosto|adoro) (?:da ideia|a ideia|disso|isso|d[eo] (?:teu|seu)|como)"
    r"|(?:ho (?:un'altra|una) domanda|mi chiedo|sto (?:cercando|pensando|provando)|ho bisogno|vorrei|ho sentito"
    r"|ho letto|sono (?:sicur[oa]|curios[oa]"
    r"|interessat[oa]|content[oa]|felice|d'accordo|pront[oa])|spero|(?:provo|proverò|vedrò|penserò|guarderò|controllo))"
    r"|mi piace (?:l'idea|questo|questa|come|la tua|il tuo|che))\b",
    re.IGNORECASE,
)
# Supposed, doubted, played, or said by somebody else.
UNREAL: Final = lazy_pattern(
    r"^\W*(?:(?:und|aber|y|pero|et|mais|mas|ma|e),? )?(?:wenn|falls|angenommen|nehmen wir|gesetzt|stell dir vor"
    r"|hypothetisch|rollenspiel\w*|laut|tu so"
    r"|in (?:meine[mr]|diese[mr]|eine[mr]) (?:traum|geschichte|spiel|roman|szenario)"
    r"|si|suponga\w*|supón|supongo|imagin\w+|digamos|pongamos|según|en (?:mi|este|un|una|esta) (?:sueño|historia"
    r"|juego|novela|escenario)"
    r"|suppos\w+|disons|admettons|selon|d'après|s'il(?! (?:te|vous) pla)|dans (?:mon|ma|ce|cette|un|une) (?:rêve"
    r"|histoire|jeu|roman|scénario)"
    r"|se|caso|suponh\w+|segundo|no meu sonho|nest[ae] história|n[ao] jogo"
    r"|supponi\w*|mettiamo|diciamo|facciamo finta|secondo|(?:nel mio|in un|in questo|in questa) (?:sogno|gioco"
    r"|romanzo|storia))\b"
    r"|\b(?:scherz|spaß beiseite|nur spaß|vielleicht|eventuell|möglicherweise|wahrscheinlich|vermutlich|ich glaube"
    r"|glaube ich|ich denke|ich bin mir nicht"
    r"|weiß (?:noch )?nicht|ob ich|ich (?:wäre|hätte|würde|könnte)|(?:wäre|hätte|würde|könnte) ich"
    r"|(?:sag|mein|glaub|denk|behaupt)(?:t|te|st|test|en)?,? (?:dass )?ich|gesagt,? (?:dass )?ich"
    r"|bromeo|(?:es|era) broma|quizás?|tal vez|a lo mejor|creo que|puede que|probablemente|posiblemente"
    r"|no (?:lo )?(?:sé|sabemos)|sería|tendría|viviría|podría"
    r"|trabajaría|(?:dij\w+|dice[ns]?|cree[ns]?|piensa[ns]?|preguntó|pregunta) (?:que|si) (?:yo |ya )?(?:soy|tengo"
    r"|vivo|trabajo|me|estoy|prefiero|no|mi)"
    r"|je plaisant\w+|blague|peut-être|je (?:crois|pense) que|probablement|sans doute|je ne sais pas"
    r"|je (?!préférerais)\w+rais|j'(?:aurais|irais|habiterais)"
    r"|(?:dit|dis|disent|pense[nst]*|crois|croit|demandé|demande),? (?:que|si) j[e']"
    r"|brincadeira|a brincar|brincando|talvez|acho que|se calhar|provavelmente|possivelmente|não sei|seria|teria"
    r"|moraria|viveria|trabalharia|poderia"
    r"|(?:diss\w+|diz|dizem|acha[ms]?|pensa[ms]?|perguntou) (?:que|se) (?:eu|sou|moro|tenho|vivo)"
    r"|scherzo|scherzavo|forse|magari|credo|penso che|probabilmente|non so|non sono sicur[oa]|sarei|avrei|vivrei"
    r"|abiterei|potrei|lavorerei"
    r"|(?:dice|dici|dicono|detto|pensa|pensi|crede|chiesto) (?:che|se) (?:io|sono|ho|abito|vivo|lavoro|mi))\b"
    r"|\b(?:schrieb|schreibt|sagte|sagt|steht|satz|text|beispiel|escribió|dice|dijo|frase|texto|ejemplo|a écrit|dit"
    r"|phrase|texte|exemple|escreveu|disse|exemplo"
    r"|ha scritto|scrive|testo|esempio):",
    re.IGNORECASE,
)
# What points at something that an earlier sentence named.
POINTING: Final = lazy_pattern(
    r"^\W*(?:das|dies\w*|eso|esto|ça|cela|c'est|ce sont|isso|isto|questo|questa|ciò|quello|lo (?=\w+o\b)"
    r"|la (?=prefiero)|l'ho|li)\b"
    r"|\b(?:das|es|ihn|sie|davon|dazu|dies\w*|ah[ií]|eso|esto|cela|ça|isso|isto|dele|disso|questo|quello|così|assim"
    r"|así|me (?:gusta|encanta)n?"
    r"|mi piace|j'aime|j'adore|gosto|adoro|preferisco|prefiero|prefiro)(?: (?:so|sehr|mucho|beaucoup|muito|molto"
    r"|auch|también|aussi|também|anche)){0,2}\W*$",
    re.IGNORECASE,
)
PROMISE: Final = _first(
    r"ich (?:werde|habe entschieden)|wir (?:werden|haben (?:entschieden|beschlossen))",
    r"(?:voy a|hemos decidido|decidimos|[a-z]{2,}(?:ar|er|ir)é)",
    r"je (?:vais|\w+rai)|nous (?:allons|avons décidé)",
    r"(?:vou|decidimos|vamos) ",
    r"(?:abbiamo deciso|[a-z]{2,}rò)",
)
