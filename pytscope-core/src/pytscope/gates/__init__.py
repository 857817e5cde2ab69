"""Gates: budgets that a run has to keep, and the baseline that they may refer to.

Pure, but for `baseline_file`, which reads one; printing and writing is the command's part.
"""
