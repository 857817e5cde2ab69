"""The place of `PytscopeCallback` for the Hugging Face Trainer, which is not written yet."""
