#!/usr/bin/env python3
"""Write tests/data/stacks/<case>/audio.safetensors (expected outputs of audio encoders) and tests/data/audio/.

tests/data/audio/ has three audio files, configs of feature extractors, and the expected outputs of transformers' extractors.

    python tools/golden_audio.py [CASE...]

The checkpoints are made by tools/golden_encoder_decoders_towers.py. audio.safetensors has, for inputs N = 0, 1, ...:
    - input_values.N   [samples], or for Whisper [features, frames]
    - hidden_states.N  [L + 1, T, D], attentions.N [L, H, T, T], last.N [T, D], logits.N [T, V] if there is a head

tests/data/audio has NAME.wav, samples.npy, and <extractor>/expected.safetensors with NAME: [samples], or [features, frames] of
only the first frames (Whisper always makes 3000).
All values come from transformers, eager and float32. Needs numpy, soundfile, torch, transformers and safetensors.
"""

import json
import sys
from contextlib import contextmanager
from functools import partial

import golden_encoder_decoders_towers
import numpy as np
import torch
import transformers as hf
from safetensors.numpy import save_file

CASES = ("wav2vec2", "wav2vec2-stable", "hubert", "whisper", "wavlm", "wavlm-stable", "wav2vec2-bert", "wav2vec2-bert-plain")
SOUNDS = golden_encoder_decoders_towers.DATA.parent / "audio"
KEPT_FRAMES = 60


@contextmanager
def maps_of_heads(case):
    """Keep the maps of WavLM's heads, which its modules average. They repeat the maps along a new axis."""
    function = torch.nn.functional.multi_head_attention_forward
    if case.startswith("wavlm"):
        torch.nn.functional.multi_head_attention_forward = partial(function, average_attn_weights=False)
    try:
        yield
    finally:
        torch.nn.functional.multi_head_attention_forward = function


def encoders(cases):
    for case in cases:
        folder = golden_encoder_decoders_towers.DATA / case
        model = golden_encoder_decoders_towers.CASES[case][0].from_pretrained(folder, attn_implementation="eager").float().eval()
        generator = np.random.default_rng(len(case))
        encoder = model.model.encoder if case == "whisper" else model
        out = {}
        for at in range(2):
            shape = (4, 20) if case == "whisper" else ((61, 34)[at],)
            if case.startswith("wav2vec2-bert"):
                shape = ((11, 4)[at], 6)
            values = generator.normal(size=shape).astype(np.float32)
            with torch.no_grad(), maps_of_heads(case):
                result = encoder(torch.from_numpy(values)[None], output_hidden_states=True, output_attentions=True)
            out |= {f"input_values.{at}": values, f"hidden_states.{at}": torch.cat(result.hidden_states).numpy(),
                    f"attentions.{at}": torch.cat([maps[:, 0] if maps.dim() == 5 else maps for maps in result.attentions]).numpy()}
            if "last_hidden_state" in result:
                out[f"last.{at}"] = result.last_hidden_state[0].numpy()
            if "logits" in result:
                out[f"logits.{at}"] = result.logits[0].numpy()
        save_file({name: np.ascontiguousarray(value) for name, value in out.items()}, folder / "audio.safetensors")
        print(case, {name: value.shape for name, value in out.items()})


def sounds():
    import soundfile
    SOUNDS.mkdir(exist_ok=True)
    generator = np.random.default_rng(5)
    time = np.arange(9000) / 16000
    chirp = 0.6 * np.sin(2 * np.pi * (200 + 2500 * time) * time) + 0.02 * generator.normal(size=time.size)
    soundfile.write(SOUNDS / "chirp.wav", chirp, 16000, subtype="PCM_16")
    soundfile.write(SOUNDS / "noise.wav", np.clip(0.3 * generator.normal(size=3001), -1, 1), 16000, subtype="PCM_24")
    soundfile.write(SOUNDS / "steps.wav", np.sign(np.sin(np.arange(2500) / 37)) * 0.25, 16000, subtype="FLOAT")
    np.save(SOUNDS / "samples.npy", generator.normal(size=300).astype(np.float32))
    (golden_encoder_decoders_towers.DATA / "wav2vec2/preprocessor_config.json").write_text(
        json.dumps({"feature_extractor_type": "Wav2Vec2FeatureExtractor"}) + "\n")
    for name, extractor in (("wav2vec2", hf.Wav2Vec2FeatureExtractor(do_normalize=True)),
                            ("whisper", hf.WhisperFeatureExtractor())):
        folder = SOUNDS / name
        folder.mkdir(exist_ok=True)
        config = {"feature_extractor_type": type(extractor).__name__, "sampling_rate": 16000}
        (folder / "preprocessor_config.json").write_text(json.dumps(config) + "\n")
        out = {}
        for path in sorted(SOUNDS.glob("*.wav")):
            samples, _ = soundfile.read(path, dtype="float32")
            made = np.asarray(extractor(samples, sampling_rate=16000, return_tensors="np")[extractor.model_input_names[0]][0])
            out[path.stem] = np.ascontiguousarray(made if made.ndim == 1 else made[:, :KEPT_FRAMES], np.float32)
        save_file(out, folder / "expected.safetensors")
        print(name, {key: value.shape for key, value in out.items()})


if __name__ == "__main__":
    hf.logging.set_verbosity_error()
    encoders(sys.argv[1:] or CASES)
    if not sys.argv[1:]:
        sounds()
