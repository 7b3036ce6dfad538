"""The functions that layers are made of."""
