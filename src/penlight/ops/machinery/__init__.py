"""How an op is declared, generated and dispatched."""
