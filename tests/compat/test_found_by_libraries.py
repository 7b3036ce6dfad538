"""What the own tests of libraries found (tools/libraries.py)."""

from __future__ import annotations


def test_a_part_of_a_storage_is_a_storage(same):
    def program(torch, say):
        m, n = torch.arange(10.0), torch.empty([])
        n.set_(source=m.untyped_storage()[:32])
        say(n, n.untyped_storage().nbytes(), m.untyped_storage().nbytes(), n.data_ptr() == m.data_ptr())
        k = torch.empty(0).set_(m.untyped_storage()[16:48])
        say(k, k.storage_offset(), k.data_ptr() - m.data_ptr(), k[1:].storage_offset())
        k += 1
        say(m, m.untyped_storage()[3:3].nbytes())

    same(program)


def test_storages_on_the_meta_device(same):
    def program(torch, say):
        storage = torch.zeros(2, 2, device="meta").untyped_storage()
        say(storage.data_ptr(), storage.nbytes(), storage.device, type(storage).__name__)

    same(program)
