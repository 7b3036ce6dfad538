"""Views, copies in another order, joining and splitting."""
