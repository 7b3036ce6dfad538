"""Views, reordered copies, joining and splitting."""
