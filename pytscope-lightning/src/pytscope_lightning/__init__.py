"""pytscope for PyTorch Lightning: the place of `PytscopeCallback`, which is not written yet."""
