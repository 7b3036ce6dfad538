"""Elements, rows and segments that indices or masks name: gathered, scattered, reduced."""

LEAST_MOVED = 1 << 12  # elements that machine code moves: for fewer, NumPy takes no longer
MOST_BY_POSITIONS = (
    1 << 11
)  # elements that `ufunc.at` adds up one by one: for fewer, sorting or searching costs more than it saves
