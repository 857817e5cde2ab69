"""Real runs of PyTorch, compared."""
