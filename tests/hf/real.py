"""A small GPT-2 with random weights on generated tokens, healthy or with one fault."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

from tests.hf.made import PytscopeCallback, arguments_of, seed, torch
from tests.hf.made import transformers as hf

STEPS = 200
TOKENS = 512
FAULTS = {
    "healthy": "",
    "slow_collator": "TIMING.DATALOADER_BOUND",
    "slow_validation": "EFFICIENCY.EVAL_HEAVY",
    "frequent_checkpoints": "EFFICIENCY.CHECKPOINT_HEAVY",
}
"""By fault, the rule whose finding comes first."""


class Rows(torch.utils.data.Dataset[Any]):
    """Numbers of rows of tokens."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> int:
        return index % TOKENS


class Slow:
    """Takes as long as twice all that has been done since the last time, on rank 0.

    So it is two thirds of the wall, on an idle machine as on a busy one.
    """

    def __init__(self) -> None:
        self.since = time.perf_counter()

    def __call__(self) -> None:
        if os.environ.get("RANK", "0") == "0":
            time.sleep(max(0.002, 2 * (time.perf_counter() - self.since)))
        self.since = time.perf_counter()


class Collator:
    """Takes rows of random tokens, and its time over it where it is slow."""

    def __init__(self, length: int, slow: Slow | None) -> None:
        self.slow = slow
        self.ids = torch.randint(1, 64, (TOKENS, length))

    def __call__(self, rows: list[int]) -> Any:
        if self.slow is not None:
            self.slow()
        ids = self.ids[rows]
        return {"input_ids": ids, "labels": ids}


class Saver(hf.Trainer):
    """Saves to a slow disk."""

    slow: Slow | None = None

    def _save(self, *args: Any, **options: Any) -> None:
        if self.slow is not None:
            self.slow()
        super()._save(*args, **options)


def small_gpt2(length: int, layers: int) -> Any:
    config = hf.GPT2Config(
        vocab_size=64,
        n_positions=length,
        n_embd=24 * layers,
        n_layer=layers,
        n_head=2,
        bos_token_id=0,
        eos_token_id=0,
    )
    return hf.GPT2LMHeadModel(config)


def trained(folder: Path, fault: str, **more: Any) -> Any:
    """Train, recorded into `folder / "run"`; the Trainer."""
    seed()
    healthy = not FAULTS[fault]
    length, batch = (32, 8) if healthy else (16, 4)
    slow = Slow()

    def metrics(_predicted: Any) -> dict[str, float]:
        slow()
        return {}

    slow_eval = fault == "slow_validation"
    trainer = Saver(
        small_gpt2(length, 1 + healthy),
        arguments_of(
            folder / "out",
            max_steps=STEPS,
            per_device_train_batch_size=batch,
            per_device_eval_batch_size=batch,
            logging_strategy="steps",
            logging_steps=20,
            eval_strategy="steps",
            eval_steps=20 if slow_eval else 50,
            save_strategy="steps",
            save_steps=10 if fault == "frequent_checkpoints" else 100,
            save_total_limit=1,
            ddp_find_unused_parameters=False,
            **more,
        ),
        train_dataset=Rows(2 * batch * STEPS),
        eval_dataset=Rows(2 * batch),
        compute_metrics=metrics if slow_eval else None,
        data_collator=Collator(length, slow if fault == "slow_collator" else None),
        callbacks=[PytscopeCallback(folder / "run")],
    )
    trainer.slow = slow if fault == "frequent_checkpoints" else None
    trainer.train()
    return trainer
