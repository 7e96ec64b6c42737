"""Weights that are split over processes are refused, instead of measured in part."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import attnscope as asc
from attnscope._sharded import refuse_sharded
from attnscope.callbacks import Monitor
from test_models import CONFIG, weights


class DTensor:
    """A part of a weight, with only the names by which it is known."""

    placements = ("Shard(dim=0)",)

    def to_local(self) -> Any:
        return np.ones((2, 2))


class Parameter:
    ndim = 1


class FlatParameter(Parameter):
    pass


class Flattened(Parameter):
    _fsdp_flattened = True


class Zero(Parameter):
    ds_id = 3


class ShardedTensor:
    def local_shards(self) -> list[Any]:
        return []


class Model:
    """A module with one such parameter. Its other methods must not be called."""

    def __init__(self, parameter: Any) -> None:
        self.parameter = parameter

    def named_parameters(self) -> Iterator[tuple[str, Any]]:
        yield "wte.weight", self.parameter

    def named_modules(self) -> Iterator[tuple[str, Any]]:
        raise AssertionError

    def state_dict(self) -> Any:
        raise AssertionError

    def __call__(self, **_: Any) -> Any:
        raise AssertionError


@pytest.mark.parametrize(
    ("parameter", "words"),
    [
        (DTensor(), r"\(a DTensor of FSDP or tensor parallelism\).*get_model_state_dict"),
        (FlatParameter(), r"\(FSDP\).*full_state_dict=True"),
        (Flattened(), r"\(FSDP\)"),
        (ShardedTensor(), r"\(a ShardedTensor of FSDP\)"),
        (Zero(), r"\(DeepSpeed ZeRO-3\).*GatheredParameters"),
    ],
)
def test_parts_of_weights_are_refused(parameter: Any, words: str) -> None:
    module = Model(parameter)
    state = weights() | {"wte.weight": parameter}
    monitor = Monitor(1, inputs={"input_ids": np.ones((1, 4), int)})
    calls: list[Any] = [
        lambda: asc.open(module),
        lambda: asc.spectrum(module),
        lambda: asc.attention(module, {"input_ids": np.ones((1, 4), int)}),
        lambda: asc.open(state, config=CONFIG),
        lambda: monitor.measure(module, 1),
    ]
    for call in calls:
        with pytest.raises(asc.UnsupportedError, match="is split over processes " + words) as error:
            call()
        assert error.value.tensor == "wte.weight" and error.value.hint


def test_callbacks_warn_and_stop_measuring() -> None:
    monitor = Monitor(1, inputs={"input_ids": np.ones((1, 4), int)})
    module = Model(DTensor())
    with pytest.warns(UserWarning, match="no more measurements in this run: tensor 'wte.weight' is split"):
        assert monitor.after_step(module, 1) is None
    assert monitor.after_step(module, 2) is None and not monitor.history


def test_gathered_parameters_of_deepspeed_are_accepted() -> None:
    status = type("Status", (), {"name": "AVAILABLE"})
    gathered = weights()["h.0.attn.c_attn.weight"].view(type("Gathered", (np.ndarray,), {"ds_id": 1, "ds_status": status}))
    state = weights() | {"h.0.attn.c_attn.weight": gathered}
    expected = asc.open(weights(), config=CONFIG).spectrum("q", layers=0)
    assert asc.open(state, config=CONFIG).spectrum("q", layers=0)["stable_rank"] == expected["stable_rank"]


@pytest.fixture
def group() -> Iterator[Any]:
    """Start a group of one process."""
    torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed")
    distributed: Any = pytest.importorskip("torch.distributed")
    if not distributed.is_available():
        pytest.skip("PyTorch is built without torch.distributed")
    distributed.init_process_group("gloo", store=distributed.HashStore(), rank=0, world_size=1)
    yield torch
    distributed.destroy_process_group()


def test_modules_of_fsdp(group: Any) -> None:
    fsdp: Any = pytest.importorskip("torch.distributed.fsdp")
    mesh = group.distributed.device_mesh.init_device_mesh("cpu", (1,))

    def encoder() -> Any:
        layer = group.nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
        return group.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)

    x = group.randn(2, 20, 16)
    sharded = fsdp.fully_shard(encoder(), mesh=mesh)
    wrapped = [
        fsdp.FullyShardedDataParallel(encoder(), device_id=group.device("cpu"), use_orig_params=original)
        for original in (False, True)
    ]
    for module in (sharded, *wrapped):
        with pytest.raises(asc.UnsupportedError, match="is split over processes"):
            asc.attention(module, x)
        with pytest.raises(asc.UnsupportedError, match="is split over processes"):
            Monitor(1, inputs={"src": x}).measure(module, 1)
        with pytest.raises(asc.UnsupportedError, match="is split over processes"):
            asc.open(module, config=CONFIG)
    # As the error advises.
    state_dict: Any = pytest.importorskip("torch.distributed.checkpoint.state_dict")
    options = state_dict.StateDictOptions(full_state_dict=True)
    gathered = state_dict.get_model_state_dict(sharded, options=options)
    refuse_sharded(gathered)
    assert {*gathered} == {*encoder().state_dict()} and len(asc.attention(encoder(), x))
