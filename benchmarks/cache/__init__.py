"""The cost of a conversation, turn by turn, with and without Daybook, under the providers' prefix caches."""
