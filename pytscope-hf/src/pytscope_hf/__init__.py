"""pytscope for the Hugging Face Trainer: the place of `PytscopeCallback`, which is not written yet."""
