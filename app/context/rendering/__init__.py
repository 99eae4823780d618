"""One module per provider's shape; ``neutral`` and ``text`` show the tail as it is, the others repair it first."""
