"""What a query says of the asking itself: whose word it means, and which of its words are not what it looks for. Pure.

"Can you remind me what you said of Lisbon?" looks for Lisbon. Cues are English; a query in another language is taken
at its word, and whom it speaks of is told by its pronouns.
"""

import re
from typing import Final

from app.memory.extractive.cues import is_first_person, is_second_person
from app.recall.tokens import Alternatives, query_terms
from app.sessions.model import Role

# Of talking, of asking and of the talk itself. They weigh less and are not left out: people also speak of talks.
_WORDS: Final = """
advice advise ask asked asking chat chatted clarify conversation discuss discussed discussion earlier follow help idea
ideas know look looking mention mentioned need please previous previously provide provided recall recommend recommended
recommendation recommendations remember remind said say suggest suggested suggestion suggestions talk talked tell think
thinking thought tip tips told want wanted wonder wondering
"""
_TOLD: Final = re.compile(
    r"\b(?:remind me|our (?:last|previous|earlier) (?:chat|conversation|discussion|session|talk|game)"
    r"|did you (?:advise|give|mention|recommend|say|suggest|tell|write)"
    r"|you(?:'ve|'d| have| had)?(?: also| just| once)? (?:advised|described|explained|gave|given|listed|made|mentioned"
    r"|provided|recommended|said|shared|suggested|told|wrote))\b"
)
_REQUEST: Final = re.compile(r"\b(?:can|could|would|will) you\b")


def asking_terms() -> Alternatives:
    """The terms that the words of asking are in the index."""
    return frozenset[str]().union(*query_terms(_WORDS))


def meant_role(query: str) -> Role | None:
    """Whose word answers: of "my sister" the user knows best, of "what you recommended" the assistant.

    A request ("can you suggest a film") speaks of whom it is for. None: anybody's.
    """
    lowered = query.lower()
    if _TOLD.search(lowered):
        return Role.ASSISTANT
    rest = _REQUEST.sub(" ", lowered)
    of_the_user = rest != lowered or is_first_person(rest)
    return Role.USER if of_the_user and not is_second_person(rest) else None
