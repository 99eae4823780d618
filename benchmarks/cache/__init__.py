"""What a conversation costs, turn by turn, with and without Daybook, under the providers' prefix caches."""
