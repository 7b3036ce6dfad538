"""Thresholds of norms in NumPy. Which implementation runs when: __init__.py."""

LONG_CHANNEL = 64  # elements of a channel that are handled as a row of their own: NumPy's loops over shorter ones cost more than they do
