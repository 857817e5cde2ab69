"""The place of `PytscopeCallback` for PyTorch Lightning, which is not written yet."""
