"""The commands of `penlight`: one file each. `__main__` picks the one that was asked for."""
