"""Batching rules of convolutions, pooling, normalisation, losses and other ops of neural networks."""
