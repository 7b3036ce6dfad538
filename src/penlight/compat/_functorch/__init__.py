"""torch._functorch: where PyTorch has the code of `torch.func`. Its modules that others import are modules of `func` here."""
