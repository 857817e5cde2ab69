"""Gates: budgets that a run has to keep, and the baseline that they may refer to.

Pure: reading files and printing is the command's part.
"""
