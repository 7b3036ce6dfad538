"""The commands of `penlight`, one file each. `__main__` runs the one given on the command line."""
