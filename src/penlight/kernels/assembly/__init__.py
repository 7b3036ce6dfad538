"""Machine code written by hand, for what the IR of kernels/compiler cannot express.

- `products`: the inner loops of matrix products, whose sums stay in registers; used by `implicit_products` (convolution without
  copied windows), `winograd` and `packed_product` (recurrent layers).
- `transpose`: copies of transposed matrices.
- `calls`: calls of kernels, listed in tables: all steps of a recurrent layer or a convolution in one.
- `library_calls`: calls of BLAS and LAPACK; `thread_pool`: threads that wait for work.
- `tables`: arguments of kernels with more sizes than there are registers.

This folder and kernels/compiler are the only ones that know x86 instructions; tests/test_architecture.py checks that.
"""
