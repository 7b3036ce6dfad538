"""The functions used by layers."""
