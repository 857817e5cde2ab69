"""A real PyTorch training with the recorder in all its corners: bit by bit the same."""

from __future__ import annotations

import random
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pytscope.recording.profiler import Profiler
from tests.core.recording.truth import only, said

from .trial import Plain, report

torch = pytest.importorskip("torch")


def trained(prof: Any) -> list[Any]:
    """Losses, and every state that training could have left behind."""
    from torch.utils.checkpoint import checkpoint

    random.seed(0)
    np.random.seed(0)  # noqa: NPY002  # the global state is what is compared
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(8, 16),
        torch.nn.BatchNorm1d(16),
        torch.nn.Dropout(0.5),
        torch.nn.Linear(16, 1),
    )
    model[1].eval()  # frozen on purpose
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 2)
    rows = torch.utils.data.TensorDataset(torch.randn(64, 8))
    loader = torch.utils.data.DataLoader(rows, batch_size=8, shuffle=True)

    class Marking(torch.autograd.Function):
        @staticmethod
        def forward(_: Any, x: Any) -> Any:
            prof.mark("inside forward")
            return x * 1

        @staticmethod
        def backward(_: Any, grad: Any) -> Any:  # type: ignore[override]
            with prof.phase("inside backward"):
                prof.log(in_backward=grad.sum())
            return grad

    prof.start()
    after_start = torch.optim.lr_scheduler.StepLR(optimizer, 3)
    model[3].register_forward_hook(lambda *_: prof.mark("hook"))
    model[3].register_full_backward_hook(lambda *_: prof.mark("backward hook"))
    losses = []
    for _ in range(4):
        for (batch,) in prof.iter_data(loader):
            with prof.step():
                hidden = checkpoint(lambda x: Marking.apply(model(x)), batch, use_reentrant=False)
                loss = hidden.pow(2).mean()
                prof.mark("forward")
                loss.backward()
                prof.mark("backward")
                norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                optimizer.zero_grad()
                prof.mark("optimizer")
                prof.log(loss=loss, grad_norm=norm, lr=schedule.get_last_lr()[0], samples=8)
                prof.log(vector=hidden, text="x", each=[1.0], half=loss.half(), none=None)
                losses.append(loss.item().hex())
        schedule.step()
        after_start.step()
        with prof.phase("eval"), torch.no_grad():
            beside = threading.Thread(target=lambda: (prof.mark("beside"), prof.log(beside=1.0)))
            beside.start()
            beside.join()
            model(rows.tensors[0])
    prof.finish()
    return [
        losses,
        [p.tolist() for p in model.state_dict().values()],
        repr(optimizer.state_dict()),
        [m.training for m in model.modules()],
        [(len(m._forward_hooks), len(m._backward_hooks)) for m in model.modules()],
        torch.get_rng_state().tolist(),
        random.getstate(),
        repr(np.random.get_state()),  # noqa: NPY002  # as above
    ]


def test_a_training_does_not_notice(tmp_path: Path) -> None:
    plain = trained(Plain())
    assert trained(Profiler(tmp_path, config={"model": torch.nn.Linear(2, 2)})) == plain
    timeline = only(tmp_path)
    assert len(timeline) == 32
    assert {"inside backward", "backward hook", "eval"} <= {*timeline.phases}
    assert [len(timeline.column("scalar", n)[0]) for n in ("loss", "half", "grad_norm")] == [32] * 3
    assert sorted(said(timeline)) == [
        "a logged value of type Tensor is no single number; it is left out",
        "a logged value of type list is no number; it is left out",
        "a logged value of type str is no number; it is left out",
    ]
    code, text = report(tmp_path)
    assert code == 0
    assert "a logged value of type Tensor is no single number" in text


@pytest.mark.filterwarnings("ignore:Dynamo does not know how to trace")
@pytest.mark.filterwarnings("ignore:.*TorchScript:DeprecationWarning")
def test_marks_in_a_compiled_region_break_the_graph_and_nothing_else(tmp_path: Path) -> None:
    def plain(x: Any) -> Any:
        return x.sin().cos() + 1

    def marked(x: Any) -> Any:
        y = x.sin()
        prof.mark("inside")
        with prof.phase("block"):
            y = y.cos()
        return y + 1

    expected = torch.compile(plain, backend="eager")(torch.ones(3)).tolist()
    compiled = torch.compile(marked, backend="eager")
    with Profiler(tmp_path) as prof:
        for _ in range(30):
            with prof.step():
                assert compiled(torch.ones(3)).tolist() == expected
    assert compiled(torch.ones(3)).tolist() == expected
    assert len(only(tmp_path)) == 30
