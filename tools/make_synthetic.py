#!/usr/bin/env python3
"""Writes a checkpoint of Llama's architecture with random weights, for trials of time and memory.

    python3 tools/make_synthetic.py build/llama-3-8b-two-layers

The defaults are the shapes of Llama-3-8B but for two layers and a small vocabulary (872 MB). Needs nothing but Python:
weights are bf16 whose upper bytes follow a normal distribution and whose lower bytes are uniform.
"""

import argparse
import json
import pathlib
import random
import statistics
import struct


def normal_upper_bytes(deviation):
    """A table from a uniform byte to the upper byte of a bf16: sign, exponent, the fraction's first bits."""
    normal = statistics.NormalDist(0, deviation)
    values = (normal.inv_cdf((index + 0.5) / 256) for index in range(256))
    return bytes(struct.pack(">f", value)[0] for value in values)


def tensor_shapes(arguments):
    width, mlp = arguments.width, arguments.mlp_width
    inner, kv_inner = arguments.heads * arguments.head_dim, arguments.kv_heads * arguments.head_dim
    yield "model.embed_tokens.weight", (arguments.vocabulary, width)
    for layer in range(arguments.layers):
        prefix = f"model.layers.{layer}."
        yield prefix + "input_layernorm.weight", (width,)
        yield prefix + "self_attn.q_proj.weight", (inner, width)
        yield prefix + "self_attn.k_proj.weight", (kv_inner, width)
        yield prefix + "self_attn.v_proj.weight", (kv_inner, width)
        yield prefix + "self_attn.o_proj.weight", (width, inner)
        yield prefix + "post_attention_layernorm.weight", (width,)
        yield prefix + "mlp.gate_proj.weight", (mlp, width)
        yield prefix + "mlp.up_proj.weight", (mlp, width)
        yield prefix + "mlp.down_proj.weight", (width, mlp)
    yield "model.norm.weight", (width,)
    yield "lm_head.weight", (arguments.vocabulary, width)


def elements(shape):
    count = 1
    for size in shape:
        count *= size
    return count


def write_weights(path, shapes, seed):
    header, offset = {}, 0
    for name, shape in shapes:
        end = offset + 2 * elements(shape)
        header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [offset, end]}
        offset = end
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    source = random.Random(seed)
    upper = normal_upper_bytes(deviation=0.02)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for _, shape in shapes:
            left = elements(shape)
            while left > 0:
                count = min(left, 1 << 22)
                block = bytearray(2 * count)
                block[0::2] = source.randbytes(count)
                block[1::2] = source.randbytes(count).translate(upper)
                file.write(block)
                left -= count


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    for name, default in [("layers", 2), ("width", 4096), ("heads", 32), ("kv-heads", 8), ("head-dim", 128),
                          ("mlp-width", 14336), ("vocabulary", 1024), ("seed", 1)]:
        parser.add_argument("--" + name, type=int, default=default)
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    config = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "torch_dtype": "bfloat16",
              "hidden_size": arguments.width, "intermediate_size": arguments.mlp_width,
              "num_hidden_layers": arguments.layers, "num_attention_heads": arguments.heads,
              "num_key_value_heads": arguments.kv_heads, "head_dim": arguments.head_dim,
              "vocab_size": arguments.vocabulary, "max_position_embeddings": 8192, "tie_word_embeddings": False}
    (arguments.folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    write_weights(arguments.folder / "model.safetensors", list(tensor_shapes(arguments)), arguments.seed)


if __name__ == "__main__":
    main()
