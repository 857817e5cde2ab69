"""pytscope: one aligned per-step timeline of a training run, and what to change."""
