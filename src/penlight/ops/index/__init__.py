"""Elements by index, mask or position: read and written."""
