"""What every layer may use: dims and sizes, docstrings, generated functions, warnings, PyTorch's names and signatures."""
