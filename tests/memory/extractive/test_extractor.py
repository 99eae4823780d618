"""What the extractor that needs no model keeps of a conversation."""

from dataclasses import replace

import pytest

from app.memory.extractive import european
from app.memory.extractive.extractor import TYPED_CHARACTERS_MAX
from app.memory.extractive.roles import ExtractiveExtractor
from app.memory.model import ExtractorInput, Item, Origin, Priority, Tag
from app.memory.parsing import parse
from app.sessions.model import Message, Role, Trust
from tests.memory.extractive.conversations import noted, said
from tests.memory.extractive.europeans import CONVERSATIONS


async def facts(*messages: Message, items: tuple[Item, ...] = ()) -> list[tuple[Tag | None, str]]:
    draft = await ExtractiveExtractor().draft(ExtractorInput(messages=messages, items=items))
    return [(item.tag, item.text) for item in parse(draft.text).items]


@pytest.mark.parametrize(
    ("text", "tag"),
    [
        ("We decided to go with Postgres for the billing service.", Tag.DECISION),
        ("I prefer a window seat.", Tag.PREFERENCE),
        ("Please always answer in French.", Tag.PREFERENCE),
        ("I'm planning to visit my aunt in Oslo.", Tag.NEXT_STEP),
        ("The deadline of the report is 3 May.", Tag.NEXT_STEP),
        ("I live in Lisbon.", Tag.FACT),
        ("I have a dog.", Tag.FACT),
        ("I am not vegetarian any more.", Tag.FACT),
        ("What is good about it is that I live in Lisbon now.", Tag.FACT),
        ("I no longer work at the bank.", Tag.FACT),
        ("I don't live in Lisbon any more.", Tag.FACT),
        ("I've been playing the cello for years.", Tag.FACT),
        ("I graduated from the University of Porto.", Tag.OUTCOME),
        ("I sold 5 necklaces at the market.", Tag.OUTCOME),
        ("I'm a big fan of pottery.", Tag.PREFERENCE),
        ("Never deploy on a Friday.", Tag.PREFERENCE),
        ("A friend made it for my 18th birthday.", Tag.OUTCOME),
        ("They know me since I moved to Oslo with my sister.", Tag.FACT),
        ("I'm planning to visit the mountains with the whole family.", Tag.NEXT_STEP),
        ("我住在里斯本。", Tag.FACT),
        ("窓側の席が好きです。", Tag.PREFERENCE),
        ("저는 서울에 살고 있어요.", Tag.FACT),
    ],
)
async def test_what_a_user_says_of_their_life_is_kept(text: str, tag: Tag) -> None:
    assert await facts(said(text)) == [(tag, f"User: {text}")]


@pytest.mark.parametrize(
    "text",
    [
        "What should I cook for my sister on Sunday?",
        "I'd like to know more about recycling batteries.",
        "I'll definitely check out The Alice Network.",
        "I'm a bit worried about the waiting time.",
        "These figurines remind me of family love.",
        "I love how you tell your stories.",
        "They were an important part of my wedding.",
        "I want you to act as a researcher of the University of Porto.",
        "If we are on the East Coast, then China would be harder.",
        "The SSA needs to verify the documents.",
        "I went home.",
        "How could my code for Postgres be improved further",
        "ok so what should I do in Porto with my two kids",
        "is it possible that I get my deposit back from Omni",
        "Describe my options in Porto to me.",
        "Translate: I am married and have two children.",
        "You always make me laugh.",
        "Never had a chance to visit the place.",
        "Always here to help.",
        "Never give up!",
        "I also like holding them.",
        "I chose them because of their colours.",
        "I'm gonna keep going, whatever comes my way.",
        "We'll make it happen!",
        "I see, thanks for letting me know about the festivals in Lichfield.",
        "I'm particularly interested in the course of the University of Porto.",
        "I've got another question about the Upper Pines Campground.",
        "I've heard that the Hotel Porto has a bar.",
        "I think I'll set up a corner in the garden with pillows and blankets.",
        "I can't wait to see Lisbon.",
        "Never mind.",
        "Call me back when you can.",
        "am i allergic to penicillin",
        "Should I move to Porto in May",
        "Suppose I live in Porto and work at Acme.",
        "Let's say I am a doctor in Boston.",
        "Roleplay: I am Napoleon and I live on Elba.",
        "I'm kidding, I live on Mars.",
        "In this story I am a detective in Paris.",
        "I wonder if I have two dogs.",
        "You told me I live in Porto.",
        "He asked whether I live in Porto.",
        "Her page says: I live in Porto.",
        "他说我住在里斯本。",
        "> I live in Porto with my two dogs.",
        'Dana wrote "I want to move to Madrid in May" and "My name is Eva again".',
    ],
)
async def test_what_is_over_with_the_conversation_is_not(text: str) -> None:
    assert await facts(said(text)) == []


@pytest.mark.parametrize("language", CONVERSATIONS)
async def test_in_five_other_languages_too_what_lasts_is_kept_and_nothing_else(language: str) -> None:
    roles = {"+": Role.USER, "-": Role.USER, "a": Role.ASSISTANT}
    lines = CONVERSATIONS[language]
    found = await facts(*(said(text, seq=seq, role=roles[kind]) for seq, (kind, text) in enumerate(lines, start=1)))
    assert [text for _, text in found] == [f"User: {text}" for kind, text in lines if kind == "+"]


@pytest.mark.parametrize(
    ("text", "tag"),
    [
        ("Ich wohne seit Mai in Köln.", Tag.FACT),
        ("Bitte duze mich immer.", Tag.PREFERENCE),
        ("Ich muss den Bericht bis Freitag abgeben.", Tag.NEXT_STEP),
        ("No como carne.", Tag.FACT),
        ("No despliegues nunca los viernes.", Tag.PREFERENCE),
        ("On part sur l'option bleue.", Tag.DECISION),
        ("S'il te plaît, ne déploie jamais le vendredi.", Tag.PREFERENCE),
        ("Temos dois gatos.", Tag.FACT),
        ("Ficamos com a opção azul.", Tag.DECISION),
        ("Rispondimi sempre in italiano.", Tag.PREFERENCE),
    ],
)
async def test_what_a_user_says_in_other_languages_is_of_a_kind(text: str, tag: Tag) -> None:
    assert await facts(said(text)) == [(tag, f"User: {text}")]


@pytest.mark.parametrize(
    ("told", "asked"),
    [
        ("Ich esse kein Fleisch", "kannst du mir ein Restaurant empfehlen?"),
        ("No como carne", "¿me recomiendas un restaurante?"),
        ("Je ne mange pas de viande", "tu peux me recommander un restaurant ?"),
        ("Não como carne", "podes recomendar-me um restaurante?"),
        ("Non mangio carne", "puoi consigliarmi un ristorante?"),
    ],
)
async def test_what_leads_to_a_question_in_other_languages_is_told_apart_from_it(told: str, asked: str) -> None:
    assert [text for _, text in await facts(said(f"{told}, {asked}"))] == [f"User: {told}"]


@pytest.mark.parametrize(
    "text",
    [
        "Soy sauce is in the noodles.",
        "Yo Tim! Things have been wild!",
        "The study in vivo in mice had no errors.",
        "Los Angeles and El Paso are on the map of the café.",
        "Come no one, die hard, as per the mission.",
    ],
)
async def test_words_that_are_english_too_are_no_cues_of_other_languages(text: str) -> None:
    assert european.said(text) == ""


@pytest.mark.parametrize("said_when", ["yesterday", "last week", "two months ago"])
async def test_what_somebody_did_is_kept_where_it_has_a_date(said_when: str) -> None:
    assert await facts(said("I went hiking with a friend.")) == []
    ((tag, text),) = await facts(said(f"I went hiking with a friend {said_when}."))
    assert (tag, text.startswith("User: I went hiking")) == (Tag.OUTCOME, True)


async def test_nothing_is_noted_of_what_was_pasted() -> None:
    own = "I live in Lisbon with my two dogs. "
    longest = own + "x" * (TYPED_CHARACTERS_MAX - len(own))
    assert len(await facts(said(longest))) == 1
    assert await facts(said(longest + "x")) == []


async def test_of_an_assistant_only_promises_that_name_something_are_kept() -> None:
    texts = (
        "I'll refund order 8841 by Friday.",
        "I'll break it down into steps for the whole family.",
        "The SSA needs to verify your documents.",
        "I love Porto.",
    )
    found = await facts(*(said(text, seq=seq, role=Role.ASSISTANT) for seq, text in enumerate(texts, start=1)))
    assert found == [(Tag.NEXT_STEP, f"Assistant: {texts[0]}")]


async def test_a_person_in_the_role_of_the_assistant_is_a_person() -> None:
    assert await facts(said("I live in Lisbon.", role=Role.ASSISTANT, name="Gina")) == [
        (Tag.FACT, "Gina: I live in Lisbon.")
    ]


@pytest.mark.parametrize("name", ["AI", "support_agent", "TravelBot", "AI助手"])
async def test_an_assistant_that_is_called_one_is_no_person(name: str) -> None:
    message = said("I love trips to Lisbon, and I have two dogs.", role=Role.ASSISTANT, name=name)
    assert await facts(message) == []
    assert await facts(items=noted(message)) == []


async def test_dates_are_told_so_that_they_can_be_read_later() -> None:
    assert await facts(said("I moved to Porto yesterday.")) == [
        (Tag.FACT, "User: I moved to Porto yesterday (7 May 2023).")
    ]


@pytest.mark.parametrize("trust", [Trust.TOOL, Trust.EXTERNAL])
async def test_no_tools_and_no_strangers_word_is_kept(trust: Trust) -> None:
    assert await facts(said("I live in Lisbon.", trust=trust)) == []


async def test_lines_of_a_log_are_taken_as_messages_are() -> None:
    (item,) = noted(said("I live in Lisbon with my two dogs. It rains there, I hear."))
    assert await facts(items=(item,)) == [(Tag.FACT, "User: I live in Lisbon with my two dogs.")]
    doubtful = (replace(item, priority=Priority.LOW), replace(item, uncertain=True), replace(item, origin=Origin.TOOL))
    assert await facts(items=doubtful) == []
