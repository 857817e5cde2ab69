"""`register()`: makes `report_to="pytscope"` known to the Trainer."""

from __future__ import annotations

NAME = "pytscope"


def register() -> None:
    """Let `TrainingArguments(report_to="pytscope")` record, into its `output_dir`.

        import pytscope_hf

        pytscope_hf.register()
        args = TrainingArguments("out", report_to=["tensorboard", "pytscope"])

    The Trainer looks such names up in a table of its own, which this adds to;
    `report_to="all"` is what it was. `callbacks=[PytscopeCallback(…)]` does the
    same without, and takes a folder and options.
    """
    from transformers.integrations import integration_utils

    from pytscope_hf.callback import PytscopeCallback

    integration_utils.INTEGRATION_TO_CALLBACK[NAME] = PytscopeCallback
