"""The parts of `penlight.save` and `penlight.load`: PyTorch's file formats, read and written without PyTorch."""
