"""What facts are about, by name."""

from __future__ import annotations

import pytest

from pytscope.diffing.kinds import RATE, sort_of
from pytscope.model.comparison import Kind, Likelihood

YES, PERHAPS, HARDLY = Likelihood.YES, Likelihood.PERHAPS, Likelihood.HARDLY

EXPECTED = {
    "config.lr": (Kind.CONFIG, YES),
    "config.optim.weight_decay": (Kind.CONFIG, YES),
    "config.optimizer.name": (Kind.CONFIG, YES),
    "config.foo": (Kind.CONFIG, PERHAPS),
    "config": (Kind.CONFIG, PERHAPS),
    "config.seed": (Kind.SEED, YES),
    "config.data.seed": (Kind.SEED, YES),
    "config.data_seed": (Kind.DATA, YES),
    "config.dtype": (Kind.PRECISION, YES),
    "config.bf16": (Kind.PRECISION, YES),
    "config.per_device_train_batch_size": (Kind.DATA, YES),
    "config.num_workers": (Kind.DATA, PERHAPS),
    "config.gradient_accumulation_steps": (Kind.PARALLELISM, YES),
    "config.model_name_or_path": (Kind.WEIGHTS, YES),
    "config.output_dir": (Kind.CONFIG, HARDLY),
    "config.logging_steps": (Kind.CONFIG, HARDLY),
    "config.wandb.project": (Kind.CONFIG, HARDLY),
    "config.eval_steps": (Kind.CONFIG, PERHAPS),
    "argv.lr": (Kind.CONFIG, YES),
    "argv.foo": (Kind.COMMAND, PERHAPS),
    "argv.words": (Kind.COMMAND, PERHAPS),
    "torch": (Kind.PACKAGES, PERHAPS),
    "torch.version": (Kind.PACKAGES, PERHAPS),
    "packages.torch": (Kind.PACKAGES, PERHAPS),
    "packages.torchmetrics": (Kind.PACKAGES, HARDLY),
    "packages.nvidia-cudnn-cu12": (Kind.PACKAGES, PERHAPS),
    "packages.pytest": (Kind.PACKAGES, HARDLY),
    "torch.loaders[0].batch_size": (Kind.DATA, YES),
    "torch.loaders[0].num_workers": (Kind.DATA, PERHAPS),
    "torch.loaders[1].generator_seed": (Kind.DATA, YES),
    "torch.initial_seed": (Kind.SEED, YES),
    "seeds.numpy": (Kind.SEED, PERHAPS),
    "torch.initial_random_states.numpy": (Kind.SEED, PERHAPS),
    "torch.initial_weights.hash": (Kind.WEIGHTS, YES),
    "torch.model.parameters": (Kind.WEIGHTS, YES),
    "torch.model.dtypes": (Kind.PRECISION, YES),
    "torch.autocast": (Kind.PRECISION, YES),
    "torch.determinism.cudnn_benchmark": (Kind.DETERMINISM, PERHAPS),
    "cudnn_benchmark": (Kind.DETERMINISM, PERHAPS),
    "torch.optimizer.class": (Kind.CONFIG, YES),
    "torch.threads": (Kind.PARALLELISM, PERHAPS),
    "world_size": (Kind.PARALLELISM, YES),
    "topology.tp": (Kind.PARALLELISM, YES),
    "torch.devices": (Kind.DEVICE, PERHAPS),
    "driver_version": (Kind.DRIVER, PERHAPS),
    "env.OMP_NUM_THREADS": (Kind.ENVIRONMENT, PERHAPS),
    "env.RANK": (Kind.ENVIRONMENT, HARDLY),
    "git.sha": (Kind.CODE, PERHAPS),
    "git.branch": (Kind.CODE, HARDLY),
    "host": (Kind.HOST, HARDLY),
    "micro_batches": (Kind.DATA, YES),
    "data.batch_fingerprints": (Kind.DATA, YES),
    "something.new": (Kind.ENVIRONMENT, PERHAPS),
}


@pytest.mark.parametrize(("name", "expected"), EXPECTED.items())
def test_sorts(name: str, expected: tuple[Kind, Likelihood]):
    known = sort_of(name)
    assert (known.kind, known.likelihood) == expected


@pytest.mark.parametrize(
    "name",
    ["config.lr", "config.warmup_steps", "argv.learning-rate", "torch.optimizer.groups[0].lr"],
)
def test_settings_of_the_rate_are_marked(name: str):
    assert sort_of(name).why == RATE


def test_others_are_not():
    assert sort_of("config.weight_decay").why != RATE


@pytest.mark.parametrize("name", ["config.name", "config.run_name", "argv.name"])
def test_what_a_run_is_called_hardly_matters(name: str):
    assert sort_of(name).likelihood is Likelihood.HARDLY


@pytest.mark.parametrize("name", ["config.model.name", "config.dataset.name"])
def test_what_a_part_of_it_is_called_does(name: str):
    assert sort_of(name).likelihood is not Likelihood.HARDLY
