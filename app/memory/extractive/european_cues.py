"""The patterns of ``cues`` in German, Spanish, French, Portuguese and Italian, a line for each. Pure.

They are searched in what ``european.said`` returns.
"""

import re
from typing import Final

from app.kit.patterns import lazy_pattern
from app.memory.extractive.european import anywhere, at_start

# Words that deny, doubt or suppose what stands behind them in the clause.
UNDONE: Final = lazy_pattern(
    r"\b(?:nicht|nichts?|nie|niemals|kein\w*|ohne|ob|wenn|falls|bevor|bis|noch zu|muss|müssen|soll\w*|kann|können"
    r"|no|nunca|jamás|todavía|aún|sin|si|antes de|hasta que|hay que|puede|pueden|podría|debe|quizás?"
    r"|ne|n'\w+|pas|jamais|sans|avant|peut|peuvent|pourrait|doit|doivent|à"
    r"|não|nem|sem|se|caso|ainda|pode|podem|deve|talvez"
    r"|non|mai|senza|prima di|può|possono|deve|forse)\b[^,.;:!?]{0,30}$",
    re.IGNORECASE,
)
DECISION: Final = anywhere(
    r"entschieden|beschlossen|vereinbart|ausgemacht|geeinigt|(?:ich|wir) entscheide\w* (?:mich|uns)"
    r"|wir (?:nehmen|bleiben bei|setzen auf|verwenden|nutzen|gehen mit)|ich nehme d(?:en|as|ie)"
    r"|(?:die|unsere|meine) entscheidung (?:ist|fiel|steht)|ich bestätige|bitte (?:stornier\w+|buch\w+|storno)",
    r"decid[ií]|decidimos|decidido|acordamos|acordado|opt(?:é|amos|ado) por|eleg(?:í|imos|ido)"
    r"|(?:nos quedamos|me quedo|vamos) con|(?:mi|nuestra|la) decisión (?:final )?es|adelante con",
    r"(?:j'ai|nous avons|on a) (?:finalement |enfin )?(?:décidé|choisi|opté|convenu)"
    r"|(?:on|nous) (?:part\w*|rest\w*) sur|(?:on|je) prend(?:s|ra)?|c'est décidé|(?:ma|notre|la) décision est"
    r"|je confirme",
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
_LIKES: Final = anywhere(
    r"bevorzug\w+|ich (?:mag|liebe|hasse)|mag ich|am liebsten|(?:ich|wir) \w+ (?:\w+ ){0,4}?(?:gern|gerne|lieber"
    r"|ungern)|lieblings\w+|\w*allergi(?:sch|e|en|ker|kerin)|unverträglichkeit|vertrage? (?:ich )?kein\w*"
    r"|nicht ausstehen|kann ich nicht leiden",
    r"prefiero|preferimos|preferiría|me (?:gustan?|encantan?|apasionan?)|no (?:soporto|aguanto)|odio|detesto"
    r"|favorit[oa]s?|alérgic[oa]s?|alergias?|intoleran(?:te|cia)s?",
    r"je (?:préfère|préférerais|déteste|hais|n'aime|ne supporte)|j'(?:aime(?!rais)|adore)|nous (?:préférons|aimons)"
    r"|préférée?s?|allergi(?:ques?|es?)|intoléran(?:te?|ce)s?",
    r"prefiro|gosto|gostamos|adoro|detesto|odeio|não suporto|preferid[oa]s?|alergi(?:a|as)",
    r"preferisco|preferiamo|mi (?:piace|piacciono)|non sopporto|preferit[oaie]|allergi(?:c[oahie]+|a|e)"
    r"|intolleran(?:te|za|ti)",
)
PREFERENCE: Final = lazy_pattern(rf"{RULE.pattern}|{_LIKES.pattern}", re.IGNORECASE)
NEXT_STEP: Final = anywhere(
    r"(?:ich|wir) (?:werden?|planen?|will|wollen|muss|müssen|möchten?|soll(?:en)?|haben? vor)"
    r"|(?:werde|will|muss|möchte) ich|habe ich vor|(?<!guten )(?<!am )(?<!jeden )(?<!diesen )morgen(?! früh)"
    r"|nächste[nrsm]? (?:woche|monats?|jahr|schritte?|montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag)"
    r"|bis (?:montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag|zum \d+)|fällig|geplant|erinnere mich"
    r"|abgabetermin|deadline",
    r"voy a|vamos a|(?:tengo|tenemos) que|pienso|planeo|quiero|queremos|debo|(?<!la )(?<!esta )(?<!buena )mañana"
    r"|próxim[oa]s? (?:semana|mes|año|pasos?|lunes|martes|miércoles|jueves|viernes)|fecha límite|semana que viene"
    r"|recuérdame|[a-z]{2,}(?:ar|er|ir)é",
    r"je (?:vais|dois|veux|compte|prévois)|(?:nous allons|on va|nous devons|nous voulons)|demain"
    r"|(?:semaine|année) prochaine|mois prochain|prochaines? étapes?|date limite|échéance|rappelle-moi"
    r"|j'ai (?:prévu|l'intention)|je [a-zé]+rai",
    r"(?:vou|vamos) \w+r|(?:tenho|temos) (?:de|que)|preciso de|quero|queremos|pretendo|planej?o|amanhã"
    r"|próxim[oa]s? (?:semana|mês|ano|passos?|segunda|terça|quarta|quinta|sexta)|semana que vem|lembra-me|me lembre"
    r"|[a-z]{2,}(?:ar|er|ir)ei",
    r"devo|dobbiamo|voglio|vogliamo|ho intenzione|conto di|penso di|sto per|domani|(?:settimana|anno|mese) prossim[oa]"
    r"|prossim[oaie] (?:settimana|anno|mese|passo|passi)|ricordami|[a-z]{2,}rò|[a-z]{3,}eremo"
    r"|entro (?:il|l'|lunedì|martedì|mercoledì|giovedì|venerdì)",
)
ISSUE: Final = anywhere(
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
        r"|gewonnen|erstellt|aktualisiert|geschafft|erstattet"
    ),
    (
        r"termin(?:é|amos|ad[oa]s?)|resuelt[oa]|solucionad[oa]|arregl(?:é|ad[oa])|reserv(?:é|ad[oa])|cancel(?:é|ad[oa])"
        r"|confirmad[oa]|publicad[oa]|aprobado|gan(?:é|amos|ado)|completad[oa]|actualizad[oa]"
    ),
    (
        r"terminée?|résolue?|réparée?|corrigée?|réservée?|annulée?|confirmée?|publiée?|réussi|gagné|remboursée?"
        r"|mise? à jour"
    ),
    (
        r"terminei|conclu(?:í|ímos|íd[oa])|resolvi(?:d[oa])?|corrigi(?:d[oa])?|reserv(?:ei|ad[oa])|cancel(?:ei|ad[oa])"
        r"|ganhei|publiquei|atualizad[oa]"
    ),
    (
        r"finit[oa]|terminat[oa]|completat[oa]|risolt[oa]|riparat[oa]|corrett[oa]|prenotat[oa]|cancellat[oa]"
        r"|annullat[oa]|confermat[oa]|pubblicat[oa]|superato|vinto|aggiornat[oa]"
    ),
)
OUTCOME: Final = anywhere(*_DEEDS)
OWN_DEED: Final = anywhere(
    rf"(?:wurden?|worden|habe|haben|ist|sind) (?:[\w-]+ ){{0,6}}?(?:{_DEEDS[0]})",
    rf"(?:he|hemos|ha sido|han sido|está|están|queda) (?:\w+ )?(?:{_DEEDS[1]})",
    rf"(?:j'ai|nous avons|a été|ont été|est|sont) (?:\w+ )?(?:{_DEEDS[2]})",
    rf"(?:foi|foram|está|estão|já) (?:\w+ )?(?:{_DEEDS[3]})",
    rf"(?:ho|abbiamo|è stat[oa]|sono stat[ie]|è|sono) (?:\w+ )?(?:{_DEEDS[4]})",
)
FIRST_PERSON: Final = anywhere(
    r"ich|mich|mir|mein(?:e[nmrs]?)?|wir|uns|unser\w*|wohne|heiße",
    r"yo|mis?|mí|nos|(?:no|não|non) (?:como|bebo|fumo|mangio|bevo)|nosotr[oa]s|nuestr[oa]s?|soy|estoy|tengo|tenemos"
    r"|vivo|vivimos|(?<!el )(?<!un )(?<!de )trabajo|trabajamos|hablo|prefiero|preferimos|odio|quiero|queremos|voy|vamos"
    r"|[a-z]{3,}[aeiá]mos|somos|fui|hice|tuve|estuve|compré|vendí|empecé|viajé|nací|crecí|estudi[éo]|decidí|decidimos"
    r"|elegí|reservé|gané|perdí|conocí|(?:he|hemos) \w+(?:ado|ido|cho|sto)",
    r"je|j'\w*|moi|m'\w*|mon|ma|mes|nous|notre|nos|on (?:a|va|habite|part|prend|reste)",
    r"eu|meus?|minhas?|mim|nós|nosso|nossa|sou|estou|tenho|temos|moro|moramos|trabalho|prefiro|gosto|gostamos|adoro"
    r"|quero|vou|fui|fiz|tive|estive|comprei|vendi|comecei|nasci|cresci|viajei|escolhi|aprendi|decidi|mudei|somos|falo"
    r"|detesto|odeio",
    r"io|mi|mio|mia|miei|mie|noi|nostr[oaie]|sono|ho|abito|abitiamo|viviamo|lavoro|lavoriamo|preferisco|preferiamo"
    r"|voglio|vado|[a-z]{2,}iamo|parlo|adoro|devo|dobbiamo",
)
SECOND_PERSON: Final = anywhere(
    r"du|dich|dir|dein\w*|euch|euer|ihnen",
    r"tú|te|tus?|usted(?:es)?|vosotr[oa]s",
    r"toi|ta|tes|tu|(?<!-)vous|votre|vos|t'\w+",
    r"você|vocês|teus?|tuas?",
    r"ti|tuo|tua|tuoi|tue|voi|vostr[oaie]",
)
UNMARKED_QUESTION: Final = lazy_pattern(
    r"\A(?:(?:und|aber|y|pero|et|mais|mas|e|ma|hallo|hola|bonjour|salut|olá|ciao),? )?(?:"
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
    r"|puoi|dovrei) )[^.!]*[^.!]\Z",
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
NOT_TOLD: Final = at_start(
    r"wenn|falls|ob|si|s'il|se|caso|wo|was|wie|como|qué|qual|comment|quando|come|mientras|porque|weil|da"
)
REQUEST: Final = anywhere(
    r"(?:kannst|könntest|würdest) du|(?:können|könnten|würden) sie|bitte|hilf mir|zeig\w* mir|sag\w* mir|gib mir"
    r"|schreib\w* mir|erklär\w* mir|ich (?:brauche|möchte|hätte gern\w*)|^(?:schreib|erstelle?|finde|übersetze?|fass)",
    r"(?:puedes|podrías|podría usted)|por favor|ayúdame|necesito|quisiera|me gustaría|dime|muéstrame|dame|recomiéndame"
    r"|^(?:escribe|crea|haz|busca|explica\w*|traduce)",
    r"(?:peux|pourrais)-tu|(?:pouvez|pourriez)-vous|tu peux|vous pouvez|s'il (?:te|vous) plaît|aide[zr]?-moi"
    r"|j'ai besoin|je voudrais|j'aimerais|dis-moi|montre-moi|donne-moi|^(?:écris|crée|trouve|explique|traduis)",
    r"(?:podes|podias|você (?:pode|poderia))|por favor|me ajud[ea]|ajuda-me|preciso|gostaria|me diga|diz-me|mostra-me"
    r"|^(?:escreve|escreva|cri[ae]|encontr[ae]|expli(?:ca|que)|traduz[ai]?)",
    r"puoi|potresti|potrebbe|per (?:favore|piacere)|aiutami|ho bisogno|vorrei|dimmi|mostrami|dammi|consigliami"
    r"|^(?:scrivi|crea|trova|spiega\w*|traduci)",
)
# Greetings, thanks and praise, which assert nothing of the speaker.
REACTION: Final = at_start(
    r"hallo|hi|guten (?:morgen|tag|abend)|vielen dank|danke|gern geschehen|(?:na )?(?:super|toll|prima|klasse|perfekt"
    r"|wunderbar)|alles klar|(?:das|es) (?:ist|klingt|war|freut) (?:ja |so |wirklich |mich |echt |sehr |aber )*(?:schön"
    r"|toll|super|gut|interessant|lustig|nett|klasse|prima|sehr|spannend)|klingt|wie schön|viel (?:spaß|glück|erfolg)"
    r"|schönen? \w+|bis (?:bald|dann|später)|tschüss|was für ein\w*|haha\w*",
    r"hola|buen(?:os días|as tardes|as noches)|(?:muchas )?gracias|de nada|(?:genial|perfecto|estupendo|vale)[.!]*$"
    r"|qué \w+!?$|(?:eso|esto)? ?(?:es|está|suena) (?:muy )?(?:bien|genial|bonito|interesante|estupendo|divertido)"
    r"|me alegr[oa]|hasta (?:luego|pronto|mañana)|adiós|jaja\w*",
    r"bonjour|bonsoir|salut|merci|de rien|(?:super|génial|parfait|d'accord|très bien)[ .!]*$"
    r"|c'est (?:vraiment |très |trop |super )*(?:beau|bien|génial|gentil|super|intéressant|drôle|sympa|parfait)"
    r"|quelle? \w+|bonne (?:journée|soirée|chance)|à (?:bientôt|demain|plus)|au revoir",
    r"olá|oi|bom dia|boa (?:tarde|noite|sorte)|(?:muito )?obrigad[oa]|de nada|(?:ótimo|perfeito|legal|fixe"
    r"|está bem)[ .!]*$|(?:isso )?(?:é|parece|soa) (?:muito )?(?:bom|legal|ótimo|bonito|interessante|giro|fixe)"
    r"|que (?:bom|legal|giro|lindo|ótimo)|até (?:logo|amanhã|já)|tchau|kkk\w*",
    r"ciao|buongiorno|buonasera|salve|(?:molte |mille )?grazie|prego|(?:perfetto|ottimo|benissimo|va bene"
    r"|d'accordo)[ .!]*$|che bell\w+|(?:è|sembra) (?:molto |davvero )?(?:bello|bellissimo|interessante|carino"
    r"|divertente|fantastico)|a (?:presto|domani|dopo)|arrivederci",
)
CORRECTION: Final = anywhere(
    r"^(?:nein|não|non), (?!danke|das (?:ist|war) (?:alles|gut)|merci|c'est (?:tout|bon)|obrigad|é (?:tudo|só)|(?:è"
    r"|e) tutto|grazie|va bene)\w+|ich meinte|(?:ich )?(?:habe?|hab) mich (?:vertan|geirrt|verschrieben|verlesen)"
    r"|(?:ich wollte|wollte ich) sagen|korrektur|, sondern|doch nicht \w+",
    r"^no, (?:perdón|perdona|espera|digo|mejor (?!no)|es (?:el|la|un|una|a)\b|son (?:los|las)\b|era (?!broma))\w*"
    r"|^perdón, (?:es|era|son|no)|quise decir|me equivoqué|me he equivocado|corrección|mejor dicho|quería decir|, sino",
    r"je voulais dire|me suis trompée?|correction|erreur de ma part|je me corrige",
    r"quis dizer|me enganei|quero dizer|enganei-me|correção|, (?:e )?sim (?=[oa]s? |em |às? |\d)|errei",
    r"volevo dire|mi sono sbagliat[oa]|intendevo|mi correggo|correzione|, anzi|^anzi|, bensì",
)
ADMISSION: Final = anywhere(
    r"entschuldigung|entschuldige|tut mir leid|mein fehler|(?:du hast|sie haben) recht|ich habe mich (?:geirrt|vertan)",
    r"lo siento|perdón|disculp[ae]|tienes razón|me (?:he )?equivo(?:qué|cado)",
    r"désolée?|pardon|excuse[zr]?-moi|(?:vous avez|tu as) raison|je me suis trompée?",
    r"desculp[ae]|(?:tem|tens) razão|enganei-me",
    r"scus[ai]|mi dispiace|hai ragione|mi sono sbagliat[oa]",
)
