"""One turn of a conversation from Python: append it, get what the model's next call should see, look at the memory."""

import os

import httpx2

SAID = [
    {"id": "t1-user", "role": "user", "content": "I am Ana, I live in Porto and I eat no shellfish."},
    {"id": "t1-assistant", "role": "assistant", "content": "Noted, Ana."},
]


def main() -> None:
    key = os.environ.get("MEMORY_KEY")
    with httpx2.Client(
        base_url=os.environ.get("MEMORY_URL", "http://127.0.0.1:8000") + "/sessions/python",
        headers={"Authorization": f"Bearer {key}"} if key else {},
        timeout=60,
    ) as session:
        # The same ids again are answered with the first `seq`: a request may be tried again.
        stored = session.post("/messages", json={"messages": SAID, "resource_id": "ana"}).raise_for_status().json()
        print("stored", [message["seq"] for message in stored["messages"]])

        asked = {
            "system": "You are a travel assistant. Today the desk is {temp:desk|closed}.",
            "state": {"temp:desk": "open"},
            "incoming": [{"role": "user", "content": "Where do I live?"}],
        }
        context = session.post("/context", params={"format": "openai"}, json=asked).raise_for_status().json()
        for message in context["payload"]["messages"]:
            print(message["role"], [part["text"] for part in message["content"]])
        print("tokens", context["tokens"]["total"], "epoch", context["cache"]["epoch"])

        memory = session.get("/memory").raise_for_status().json()
        print("memory", memory["status"], memory["coverage"]["intervals"])


main()
