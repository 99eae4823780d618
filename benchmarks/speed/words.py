"""The benchmark's messages: 200 characters each, all different, with the same number of tokens."""

CHARS = 200
NAMES = ("Ana", "Ben", "Eva", "Ian", "Leo", "Mia", "Noa", "Tom", "Uma", "Zoe")
THINGS = ("cup", "bag", "map", "pen", "hat", "car", "key", "box", "van", "bed", "jar")
TALK = (
    "{name} has moved the {thing} to shelf {number:05d} of the store in Lisbon and will be back on Monday to look at "
    "what is left of it with the two people of the transport firm, who have asked for a list by then."
)


def said(number: int) -> str:
    """Message ``number`` of a conversation: exactly ``CHARS`` characters."""
    text = TALK.format(
        name=NAMES[number % len(NAMES)], thing=THINGS[number % len(THINGS)], number=number * 7919 % 100_000
    )
    return text.ljust(CHARS, ".")[:CHARS]


LINES = tuple(
    f"User said that the {thing} of {name} stands in shelf {number * 37} and is due in Lisbon on Monday, as agreed "
    f"with the transport firm"
    for number in range(2)
    for name, thing in zip(NAMES, THINGS, strict=False)
)
