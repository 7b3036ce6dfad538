"""Reading and writing elements by index, mask or position."""
