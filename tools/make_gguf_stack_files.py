#!/usr/bin/env python3
"""Write tests/data/gguf-encoder-decoders: models of tests/data/encoder_decoders in the format of llama.cpp's converter.

    python tools/make_gguf_stack_files.py       write CASE.gguf, and CASE.json, the config.json of the same model

Names of tensors come from the map in the `gguf` package, keys from ggml-org/llama.cpp, conversion/t5.py. Matrices keep 16 bits and
vectors become float32, so no value changes. Needs numpy and gguf, but tests do not.
"""

import json
import shutil
from pathlib import Path

import gguf
import numpy as np
from make_gguf_files import finish, read_safetensors

DATA = Path(__file__).resolve().parent.parent / "tests/data"
OUT = DATA / "gguf-encoder-decoders"
# The folder, the architecture, and the settings that differ from config.json in a GGUF file.
CASES = {"t5": ("t5", "t5", {}), "t5-gated": ("t5-gated", "t5", {"tie_word_embeddings": False, "scale_decoder_outputs": False}), "umt5": ("umt5", "t5", {}),
         "t5-encoder": ("t5", "t5encoder", {})}


def make(case: str) -> None:
    folder, architecture, changed = CASES[case]
    config = json.loads((DATA / "encoder_decoders" / folder / "config.json").read_text()) | changed
    alone = architecture == "t5encoder"
    blocks = max(config["num_layers"], config["num_decoder_layers"])
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.T5ENCODER if alone else gguf.MODEL_ARCH.T5, blocks)
    writer = gguf.GGUFWriter(OUT / f"{case}.gguf", architecture)
    writer.add_context_length(512)
    writer.add_embedding_length(config["d_model"])
    writer.add_feed_forward_length(config["d_ff"])
    writer.add_block_count(config["num_layers"])
    if not alone:
        writer.add_decoder_block_count(config["num_decoder_layers"])
    writer.add_head_count(config["num_heads"])
    writer.add_key_length(config["d_kv"])
    writer.add_value_length(config["d_kv"])
    writer.add_layer_norm_eps(config["layer_norm_epsilon"])
    writer.add_relative_attn_buckets_count(config["relative_attention_num_buckets"])
    writer.add_layer_norm_rms_eps(config["layer_norm_epsilon"])
    if not alone:
        writer.add_decoder_start_token_id(config["decoder_start_token_id"])
    writer.add_eos_token_id(config["eos_token_id"])
    writer.add_pad_token_id(config["pad_token_id"])
    kept = {}
    for name, values in read_safetensors(DATA / "encoder_decoders" / folder / "model.safetensors").items():
        if alone and name.startswith(("decoder", "lm_head")):
            continue
        new_name = names.get_name(name, try_suffixes=(".weight", ".bias"))
        assert new_name, name
        kept[new_name] = values.astype(np.float16 if values.ndim > 1 else np.float32)
    for name in sorted(kept):
        writer.add_tensor(name, kept[name])
    finish(writer)
    (OUT / f"{case}.json").write_text(json.dumps(config, indent=1) + "\n")


if __name__ == "__main__":
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir()
    for case in CASES:
        make(case)
        print(f"gguf-encoder-decoders/{case}")
