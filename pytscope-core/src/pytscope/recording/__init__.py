"""Recording: everything that runs inside the training process. Standard library only."""
