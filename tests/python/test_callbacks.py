"""Measurements during training: the monitor, its collapse warnings, and the callbacks of two trainers."""

import math
import subprocess
import sys
import warnings
from typing import Any

import numpy as np
import pytest

import attnscope as asc
from attnscope.callbacks import CollapseWarning, Monitor
from attnscope.callbacks._collapse import Collapse, uniform_entropy


def test_uniform_entropy_is_the_mean_over_queries() -> None:
    causal = np.mean([math.log(keys) for keys in range(1, 21)])
    assert uniform_entropy([20], True) == pytest.approx(causal, rel=1e-12)
    assert uniform_entropy([20, 1], True) == pytest.approx(causal / 2, rel=1e-12)
    assert uniform_entropy([20], False) == pytest.approx(math.log(20), rel=1e-12)


def values(share: float | None, collapsed: bool | None) -> dict[str, Any]:
    return dict(entropy=0.1, entropy_share=share, collapsed=collapsed, max_rank=1.0, energy_columns=1.5)


def test_a_layer_is_warned_about_once_until_it_recovers() -> None:
    collapse = Collapse()
    with pytest.warns(CollapseWarning, match="step 10: attention entropy of layer_2 has collapsed"):
        found = collapse.check(10, {"layer_0": values(0.5, False), "layer_2": values(0.09, False)})
    assert found == {"entropy": 1, "rank": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert collapse.check(20, {"layer_2": values(0.01, False)})["entropy"] == 1
        assert collapse.check(30, {"layer_2": values(0.1, None)}) == {"entropy": 0, "rank": 0}
        assert collapse.check(35, {"layer_2": values(None, None)})["entropy"] == 0
    with pytest.warns(CollapseWarning, match="step 40"):
        collapse.check(40, {"layer_2": values(0.05, False)})
    with pytest.warns(CollapseWarning, match="layer_0 have collapsed to rank one"):
        assert collapse.check(50, {"layer_0": values(0.5, True)})["rank"] == 1


def test_invalid_options_and_missing_packages() -> None:
    for name in ("every", "sequences", "length"):
        for value in (0, True, 1.5):
            options: Any = {name: value}
            with pytest.raises(asc.UsageError, match=f"{name}: expected a number from 1"):
                Monitor(**options)
    # A clean process, in which the packages cannot be imported.
    code = (
        "import sys; sys.modules.update(transformers=None, lightning=None, pytorch_lightning=None)\n"
        "import attnscope.callbacks as callbacks\n"
        "for name in ('TransformersCallback', 'LightningCallback'):\n"
        "    try: getattr(callbacks, name)\n"
        "    except ImportError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.count("pip install") == 2


# ---- With PyTorch ----


def tiny(torch: Any, scale: float = 1.0) -> Any:
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(16, 2, 32, dropout=0.1, batch_first=True)
    model = torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
    with torch.no_grad():
        for part in model.layers:
            part.self_attn.in_proj_weight[:32] *= scale
    return model


def test_monitor_measures_the_first_batch() -> None:
    torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed")
    model, monitor = tiny(torch), Monitor(2, sequences=3)
    batches = [torch.randn(5, 20, 16) for _ in range(4)]
    for step, x in enumerate(batches, 1):
        monitor.before_step(model)
        model(x)
        found = monitor.after_step(model, step)
        assert (found is None) == (step % 2 == 1)
    assert [one["step"] for one in monitor.history] == [2, 4]
    assert not any(part._forward_pre_hooks for part in model.modules())
    known = asc.attention(model, batches[0][:3])
    for layer in (0, 1):
        heads = known.to_numpy("entropy")[layer]
        last = monitor.history[-1]
        assert last[f"attention/entropy/layer_{layer}"] == pytest.approx(heads.mean(), abs=1e-9)
        assert last[f"attention/min_entropy/layer_{layer}"] == pytest.approx(heads.min(), abs=1e-9)
        share = heads.mean() / math.log(20)
        assert last[f"attention/entropy_share/layer_{layer}"] == pytest.approx(share, abs=1e-9)
        sink = known.to_numpy("sink_mass")[layer].mean()
        assert last[f"attention/sink_mass/layer_{layer}"] == pytest.approx(sink, abs=1e-9)


def test_large_weights_collapse_the_entropy() -> None:
    torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed")
    x = torch.randn(2, 20, 16)
    healthy = Monitor(inputs={"src": x}).measure(tiny(torch), 0)
    assert healthy["attention/entropy_collapsed_layers"] == 0
    with pytest.warns(CollapseWarning, match="entropy of layer_0"):
        found = Monitor(inputs={"src": x}).measure(tiny(torch, 100), 0)
    assert found["attention/entropy_collapsed_layers"] == 2
    with warnings.catch_warnings():  # too few keys
        warnings.simplefilter("error")
        Monitor(inputs={"src": x[:, :8]}).measure(tiny(torch, 100), 0)


def test_nan_is_a_warning_and_an_error_ends_only_the_measurements() -> None:
    torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed")
    model = tiny(torch)
    monitor = Monitor(1, inputs={"src": torch.full((1, 20, 16), torch.nan)})
    monitor.before_step(model)
    with pytest.warns(UserWarning, match="step 1: attention was not measured: .*NaN"):
        assert monitor.after_step(model, 1) == {}
    linear = torch.nn.Linear(4, 4)
    monitor = Monitor(1, inputs={"input": torch.randn(2, 4)})
    monitor.before_step(linear)
    with pytest.warns(UserWarning, match="no more measurements in this run: Linear returned no"):
        assert monitor.after_step(linear, 1) is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert monitor.after_step(linear, 2) is None


def trained(callback: Any, folder: Any) -> Any:
    torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed")
    transformers: Any = pytest.importorskip("transformers", reason="transformers is not installed")
    pytest.importorskip("accelerate", reason="accelerate is not installed")
    transformers.set_seed(0)
    config = transformers.GPT2Config(
        vocab_size=32, n_positions=32, n_embd=16, n_layer=3, n_head=2, bos_token_id=None, eos_token_id=None
    )
    model = transformers.GPT2LMHeadModel(config)
    ids = torch.randint(0, 32, (32, 24))
    arguments = transformers.TrainingArguments(
        output_dir=str(folder), max_steps=4, per_device_train_batch_size=4, logging_steps=1,
        use_cpu=True, disable_tqdm=True, save_strategy="no", report_to=[],
    )
    trainer = transformers.Trainer(
        model, arguments, train_dataset=[{"input_ids": one, "labels": one} for one in ids],
        callbacks=[callback] if callback else [],
    )
    trainer.train()
    return trainer


def test_transformers_callback_logs_and_changes_nothing(tmp_path: Any) -> None:
    pytest.importorskip("transformers", reason="transformers is not installed")
    from attnscope.callbacks import TransformersCallback

    callback = TransformersCallback(2, sequences=2, length=20, layers=[0, -1])
    trainer = trained(callback, tmp_path)
    logged = [one for one in trainer.state.log_history if "attention/entropy/layer_0" in one]
    assert [one["step"] for one in logged] == [2, 4] == [one["step"] for one in callback.history]
    assert [one["step"] for one in trainer.state.log_history if "loss" in one] == [1, 2, 3, 4]
    assert {"attention/entropy/layer_2", "spectrum/effective_rank/layer_0/q"} <= {*logged[0]}
    assert "attention/entropy/layer_1" not in logged[0]
    spectra = asc.spectrum(trainer.model, matrix="k", layers=2)
    assert logged[1]["spectrum/spectral_norm/layer_2/k"] == spectra[0]["spectral_norm"]
    assert trainer.model.config._attn_implementation == "sdpa" and trainer.model.training
    alone = trained(None, tmp_path)
    for one, other in zip(trainer.model.parameters(), alone.model.parameters(), strict=True):
        assert bool((one == other).all())


def test_lightning_callback_logs_to_all_loggers(tmp_path: Any) -> None:
    torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed")
    lightning: Any = pytest.importorskip("lightning.pytorch", reason="Lightning is not installed")
    from lightning.pytorch.loggers import CSVLogger

    from attnscope.callbacks import LightningCallback

    class Model(lightning.LightningModule):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.body = tiny(torch)

        def training_step(self, batch: Any, at: int) -> Any:
            return self.body(batch[0]).square().mean()

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), lr=0.1)

    data = torch.utils.data.TensorDataset(torch.randn(32, 20, 16))
    callback, logger = LightningCallback(3), CSVLogger(tmp_path)
    trainer = lightning.Trainer(
        max_steps=12, logger=logger, callbacks=[callback], accumulate_grad_batches=2,
        accelerator="cpu", enable_progress_bar=False, enable_checkpointing=False,
        enable_model_summary=False, max_epochs=9,
    )
    trainer.fit(Model(), torch.utils.data.DataLoader(data, batch_size=4))
    assert [one["step"] for one in callback.history] == [3, 6, 9, 12]
    logger.save()
    text = (tmp_path / "lightning_logs/version_0/metrics.csv").read_text()
    assert "attention/entropy/layer_1" in text and "\n" in text
