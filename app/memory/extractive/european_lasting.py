"""The patterns of ``lasting`` in German, Spanish, French, Portuguese and Italian, a line for each. Pure.

They are searched in what ``european.said`` returns.
"""

import re
from typing import Final

from app.kit.patterns import lazy_pattern
from app.memory.extractive.european import anywhere, at_start

_KIN: Final = (
    (
        r"mann|frau|partner(?:in)?|freund(?:in)?|sohn|tochter|kind(?:er)?|töchter|söhne|mutter|vater|mama|papa|eltern"
        r"|bruder|brüder|schwestern?|oma|opa|hund|katze|kater|chef(?:in)?|job|beruf|geburtstag|adresse|telefonnummer"
        r"|handynummer|e-?mail\S*|firma|team|name|wohnung|ärztin|arzt|iban|verlobte[rn]?"
    ),
    (
        r"marido|espos[oa]|mujer|pareja|novi[oa]|hij[oa]s?|madre|padres?|mamá|papá|herman[oa]s?|abuel[oa]s?|perr[oa]s?"
        r"|gat[oa]s?|jef[ea]|trabajo|profesión|cumpleaños|dirección|teléfono|número|correo|email|empresa|equipo|nombre"
        r"|iban"
    ),
    (
        r"mari|femme|conjointe?|compagne|compagnon|copine?|fils|filles?|enfants?|mère|père|maman|papa|parents|frères?"
        r"|sœurs?|soeurs?|chien(?:ne)?|chat(?:te)?|patronn?e?|travail|métier|anniversaire|adresse|téléphone|numéro"
        r"|e-?mail|entreprise|équipe|nom|iban|grand-(?:mère|père)"
    ),
    (
        r"marido|esposa|mulher|namorad[oa]|companheir[oa]|filh[oa]s?|mãe|pai|pais|irmãos?|irmãs?|avó|avô|cão"
        r"|cachorr[oa]|gat[oa]s?|chefe|trabalho|profissão|aniversário|anos|endereço|morada|telefone|número|email|e-mail"
        r"|empresa|equipa|equipe|nome|iban|nif|cpf"
    ),
    (
        r"marito|moglie|compagn[oa]|fidanzat[oa]|ragazz[oa]|figli[oae]?|madre|padre|mamma|papà|genitori|fratell[oi]"
        r"|sorell[ae]|nonn[oa]|can[ei]|gatt[oaie]|capo|lavoro|compleanno|indirizzo|telefono|numero|email|azienda|ditta"
        r"|squadra|nome|iban|nascita"
    ),
)
_NOTHING: Final = (
    r"(?!frage|problem|idee|bitte|bisschen|paar|wenig|moment|gute|pregunta|duda|problema|idea|poco|momento|rato"
    r"|question|problème|idée|peu|doute|instant|pergunta|dúvida|ideia|pouco|domanda|dubbio|altra|outra|otra|autre|buen"
    r"|bonne)"
)
PROFILE: Final = anywhere(
    r"heiße|wohnen? (?:ich|wir)|(?:ich|wir) (?:\w+ )?wohnen?|^wohne|(?:ich (?:lebe|arbeite|studiere|stamme"
    r"|komme (?:\w+ )?aus|esse|trinke|rauche|spreche|unterrichte|leite|leide an)|(?:lebe|arbeite|studiere|spreche|esse"
    r"|trinke) ich)|^arbeite (?:als|bei|in)|weil ich .{1,40} (?:wohne|arbeite|lebe)|(?:ich bin"
    r"|bin ich) (?:\w+ ){0,3}?(?:\d+|verheiratet|ledig|single|geschieden|verwitwet|vegan|vegetarisch|\w*allergisch"
    r"|schwanger|in rente|selbst(?:st)?ändig|laktoseintolerant|aus [a-zäöü]\w+|ein\w* (?!bisschen|wenig|paar)\w+"
    r"|geboren|gelernte\w*)|(?:ich bin|bin ich) (?:\w+ ){0,2}?(?-i:[A-ZÄÖÜ][a-zäöüß]+)"
    r"|(?:bin|war|sind) (?:[\w.]+ ){1,6}?(?:geboren|aufgewachsen|gezogen|umgezogen)"
    rf"|(?:mein|unser)(?:e[nmrs]?)? (?:(?:\w+e[nrs]?|e-?mail-?) )?(?:{_KIN[0]})|(?:(?:ich|wir) haben?|habe ich"
    rf"|haben wir) (?:\w+ )?(?:ein(?:en|e)?|zwei|drei|vier|\d+|seit \d+ \w+) {_NOTHING}\w+"
    r"|ich habe (?:\w+ )?(?:diabetes|asthma|zöliakie|bluthochdruck|epilepsie|\w*allergie|\w*intoleranz|geburtstag)"
    r"|ich nehme (?:täglich|seit|jeden|morgens|abends|\d)\w*",
    r"me llamo|mi nombre es|soy (?:de|una?|\w+(?:[oa]|ista|or|ora|ente|ante|al|ero|era)s?)"
    r"|vivo (?:\w+ ){0,2}?(?:en|con|sol[oa])|vivimos|resido|(?<!el )(?<!un )trabajo (?:\w+ )?(?:en|como|para|de|desde)"
    r"|estudi[oé] \w+|nací|crecí|me (?:he mudado|mudé)|nos (?:hemos mudado|mudamos)|vengo de"
    rf"|tengo (?:\d+|una?|dos|tres|cuatro|diabetes|asma|alergia|hipertensión|intolerancia) ?{_NOTHING}"
    rf"|tenemos (?:una?|dos|tres|\d+) {_NOTHING}\w+|estoy (?:casad|solter|divorciad|embarazad|jubilad|separad)[oa]"
    rf"|(?:mis?|nuestr[oa]s?) (?:\w+ (?:de )?)?(?:{_KIN[1]})|hablo \w+|no (?:como|bebo|fumo)"
    r"|cumplo (?:años|\d+)|tomo \w+ (?:mg|cada|todos)",
    r"je m'appelle|j'habite|je n'habite|(?:je|nous) (?:ne )?(?:vis|vivons|réside|travaille|travaillons|parle|mange pas"
    r"|bois pas|fume|souffre|mange plus|bois plus)|(?:nous|on) habit\w+|je viens d[eu]|nous avons (?:dé|em)ménagé"
    r"|je (?:ne )?suis (?:plus |pas )?(?:(?:née?|mariée?|célibataire|divorcée?|pacsée?|vegan|végane|végétarien\w*"
    r"|allergique|diabétique|enceinte|retraitée?|étudiante?|une?|de|d'|originaire)|\w+(?:eur|euse|ienn?e?|iste|ante?"
    r"|ier|ière|logue|cin|trice|aire))"
    rf"|j'ai (?:(?:\d+|une?|deux|trois|quatre) {_NOTHING}|grandi|déménagé|emménagé|du diabète|de l'asthme|une allergie"
    rf"|le diabète)|nous avons (?:une?|deux|trois|\d+) {_NOTHING}\w+|(?:mon|ma|mes|notre|nos) (?:\w+ )?(?:{_KIN[2]})"
    rf"|je prends \d+\w*|je suis (?:déménag|install)ée?",
    r"me chamo|chamo-me|(?:sou|estou) (?:(?:de|do|da|uma?|casad[oa]|solteir[oa]|divorciad[oa]|grávida|reformad[oa]"
    r"|aposentad[oa]|vegan[oa]?|vegetarian[oa]|celíac[oa]|diabétic[oa]|alérgic[oa])|\w+(?:eir[oa]|ista|or|ora|ente|ante"
    r"|óloga?|ogo|ária?|ário|ico|ica))|moro|moramos|vivo (?:\w+ )?(?:em|no|na|com|sozinh[oa])|resido"
    r"|trabalho (?:\w+ )?(?:em|como|na|no|para|com|num|numa)|estudo \w+|nasci|cresci|mudei-me|me mudei|mud[áa]mo-nos"
    r"|nos mudamos|venho d[eoa]"
    rf"|tenho (?:(?:\d+|uma?|dois|duas|três) {_NOTHING}\w+|diabetes|asma|alergia)|temos (?:uma?|dois|duas|três"
    rf"|\d+) {_NOTHING}\w+|(?:meus?|minhas?|nosso|nossa)(?: \w+)? (?:{_KIN[3]})|não (?:como|bebo|fumo)|falo \w+"
    rf"|faço anos",
    r"mi chiamo|abito|abitiamo|vivo (?:\w+ )?(?:a|in|ad|con|da sol[oa])|risiedo|(?<!il )(?<!un )lavoro (?:\w+ )?(?:come"
    r"|per|presso|in|da|alla?|all')|studio \w+|(?<!si )sono (?:(?:nat|cresciut|sposat|divorziat|vegan|vegetarian|celiac"
    r"|diabetic|allergic|laureat|separat)[oa]|single|incinta|di|una?"
    rf"|\w+(?:ista|tore|trice|iere|iera|ante|olog[oa]|medico|aio|aia|nese|ano|ana))|ho (?:\d+ anni"
    rf"|(?:una?|due|tre|quattro) {_NOTHING}\w+|il diabete|l'asma)|abbiamo (?:un[oa']?|due|tre"
    rf"|\d+) {_NOTHING}\w+|(?:mi sono|ci siamo) (?:trasferit|laureat|sposat)[oai]|vengo d\w+|(?:mi[oae]|miei"
    rf"|nostr[oaie])(?: \w+)? (?:di )?(?:{_KIN[4]})"
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
# What is supposed, doubted, played, or said by somebody else.
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
# References to something that an earlier sentence named.
POINTING: Final = lazy_pattern(
    r"^\W*(?:das|dies\w*|eso|esto|ça|cela|c'est|ce sont|isso|isto|questo|questa|ciò|quello|lo (?=\w+o\b)"
    r"|la (?=prefiero)|l'ho|li)\b"
    r"|\b(?:das|es|ihn|sie|davon|dazu|dies\w*|ah[ií]|eso|esto|cela|ça|isso|isto|dele|disso|questo|quello|così|assim"
    r"|así|me (?:gusta|encanta)n?"
    r"|mi piace|j'aime|j'adore|gosto|adoro|preferisco|prefiero|prefiro)(?: (?:so|sehr|mucho|beaucoup|muito|molto"
    r"|auch|también|aussi|também|anche)){0,2}\W*$",
    re.IGNORECASE,
)
PROMISE: Final = at_start(
    r"ich (?:werde|habe entschieden)|wir (?:werden|haben (?:entschieden|beschlossen))",
    r"(?:voy a|hemos decidido|decidimos|[a-z]{2,}(?:ar|er|ir)é)",
    r"je (?:vais|\w+rai)|nous (?:allons|avons décidé)",
    r"(?:vou|decidimos|vamos) ",
    r"(?:abbiamo deciso|[a-z]{2,}rò)",
)
