"""A small GPT-2 trained by the Hugging Face Trainer, recorded by its callback.

python examples/hf_trainer.py && pytscope analyze runs/hf
python examples/hf_trainer.py --slow-collator && pytscope analyze runs/hf
"""

from __future__ import annotations

import argparse
import tempfile
import time

import torch
from torch.utils.data import Dataset
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments, logging

from pytscope.integrations.huggingface import PytscopeCallback

LENGTH = 64


class Sequences(Dataset):
    """Sequences of random tokens, by their number."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> int:
        return index


class Collator:
    """Makes a batch of sequences, if need be slowly."""

    def __init__(self, sleep_s: float) -> None:
        self.sleep_s = sleep_s
        self.tokens = torch.randint(1, 256, (1024, LENGTH))

    def __call__(self, numbers: list[int]) -> dict[str, torch.Tensor]:
        """One batch."""
        if self.sleep_s:
            time.sleep(self.sleep_s)
        ids = self.tokens[[number % 1024 for number in numbers]]
        return {"input_ids": ids, "labels": ids}


def model() -> GPT2LMHeadModel:
    return GPT2LMHeadModel(
        GPT2Config(
            vocab_size=256,
            n_positions=LENGTH,
            n_embd=64,
            n_layer=2,
            n_head=4,
            bos_token_id=0,
            eos_token_id=0,
        )
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--run-dir", default="runs/hf")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--slow-collator", action="store_true")
    args = parser.parse_args()

    logging.set_verbosity_error()
    logging.disable_progress_bar()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as checkpoints:
        trainer = Trainer(
            model(),
            TrainingArguments(
                checkpoints,
                max_steps=args.steps,
                per_device_train_batch_size=8,
                logging_steps=10,
                eval_strategy="steps",
                eval_steps=max(1, args.steps // 4),
                save_steps=max(1, args.steps // 2),
                report_to="none",
                disable_tqdm=True,
                use_cpu=True,
                dataloader_pin_memory=False,
            ),
            train_dataset=Sequences(8 * args.steps),
            eval_dataset=Sequences(32),
            data_collator=Collator(0.05 if args.slow_collator else 0.0),
            callbacks=[PytscopeCallback(args.run_dir)],
        )
        loss = trainer.train().training_loss
    print(f"loss {loss:.2f}; now: pytscope analyze {args.run_dir}")


if __name__ == "__main__":
    main()
