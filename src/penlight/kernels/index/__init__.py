"""Elements, rows and segments that indices or masks name: gathered, scattered, reduced."""
