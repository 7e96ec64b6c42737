#!/usr/bin/env python3
"""Write a checkpoint with random weights in the shapes of a real model, for tests of time and memory.

    python3 tools/make_synthetic.py build/llama-3-8b-two-layers
    python3 tools/make_synthetic.py build/gpt2-xl --model gpt2-xl --layers 4

The defaults are the shapes of Llama-3-8B, but with two layers and a small vocabulary (872 MB). Needs only Python:
the upper byte of a weight is normally distributed, the other bytes are uniform. The standard deviation decreases from a
matrix's first stored row to its last, so that singular values decay like those of trained weights.
"""

import argparse
import json
import pathlib
import random
import statistics
import struct

# Default options: the shapes of each model.
MODELS = {
    "llama-3-8b": {"layers": 2, "width": 4096, "heads": 32, "kv_heads": 8, "head_dim": 128, "mlp_width": 14336,
                   "vocabulary": 1024, "dtype": "bf16"},
    "bert-base": {"layers": 12, "width": 768, "heads": 12, "mlp_width": 3072, "vocabulary": 30522, "dtype": "f32"},
    "gpt2-xl": {"layers": 48, "width": 1600, "heads": 25, "mlp_width": 6400, "vocabulary": 50257, "dtype": "f32"},
}
DTYPES = {"bf16": ("BF16", 2, "bfloat16"), "f32": ("F32", 4, "float32")}
FIRST_DEVIATION, LAST_DEVIATION = 0.04, 0.01
STEPS = 64  # of the standard deviation, from the first to the last rows


def llama_shapes(a):
    inner, kv_inner = a.heads * a.head_dim, a.kv_heads * a.head_dim
    yield "model.embed_tokens.weight", (a.vocabulary, a.width)
    for layer in range(a.layers):
        prefix = f"model.layers.{layer}."
        yield prefix + "input_layernorm.weight", (a.width,)
        yield prefix + "self_attn.q_proj.weight", (inner, a.width)
        yield prefix + "self_attn.k_proj.weight", (kv_inner, a.width)
        yield prefix + "self_attn.v_proj.weight", (kv_inner, a.width)
        yield prefix + "self_attn.o_proj.weight", (a.width, inner)
        yield prefix + "post_attention_layernorm.weight", (a.width,)
        yield prefix + "mlp.gate_proj.weight", (a.mlp_width, a.width)
        yield prefix + "mlp.up_proj.weight", (a.mlp_width, a.width)
        yield prefix + "mlp.down_proj.weight", (a.width, a.mlp_width)
    yield "model.norm.weight", (a.width,)
    yield "lm_head.weight", (a.vocabulary, a.width)


def bert_shapes(a):
    yield "embeddings.word_embeddings.weight", (a.vocabulary, a.width)
    for layer in range(a.layers):
        prefix = f"encoder.layer.{layer}."
        for name in ("query", "key", "value"):
            yield f"{prefix}attention.self.{name}.weight", (a.width, a.width)
        yield prefix + "attention.output.dense.weight", (a.width, a.width)
        yield prefix + "attention.output.LayerNorm.weight", (a.width,)
        yield prefix + "intermediate.dense.weight", (a.mlp_width, a.width)
        yield prefix + "output.dense.weight", (a.width, a.mlp_width)
        yield prefix + "output.LayerNorm.weight", (a.width,)


def gpt2_shapes(a):
    """Yield Conv1D tensors, stored as (in, out), with Q, K and V fused."""
    yield "wte.weight", (a.vocabulary, a.width)
    for layer in range(a.layers):
        prefix = f"h.{layer}."
        yield prefix + "ln_1.weight", (a.width,)
        yield prefix + "attn.c_attn.weight", (a.width, 3 * a.width)
        yield prefix + "attn.c_proj.weight", (a.width, a.width)
        yield prefix + "ln_2.weight", (a.width,)
        yield prefix + "mlp.c_fc.weight", (a.width, a.mlp_width)
        yield prefix + "mlp.c_proj.weight", (a.mlp_width, a.width)
    yield "ln_f.weight", (a.width,)


def config_of(a):
    dtype = DTYPES[a.dtype][2]
    if a.model == "gpt2-xl":
        return {"architectures": ["GPT2Model"], "model_type": "gpt2", "torch_dtype": dtype, "n_embd": a.width,
                "n_layer": a.layers, "n_head": a.heads, "n_inner": a.mlp_width, "vocab_size": a.vocabulary,
                "n_positions": 1024}
    shared = {"torch_dtype": dtype, "hidden_size": a.width, "intermediate_size": a.mlp_width,
              "num_hidden_layers": a.layers, "num_attention_heads": a.heads, "vocab_size": a.vocabulary}
    if a.model == "bert-base":
        return {"architectures": ["BertModel"], "model_type": "bert", **shared, "max_position_embeddings": 512}
    return {"architectures": ["LlamaForCausalLM"], "model_type": "llama", **shared, "num_key_value_heads": a.kv_heads,
            "head_dim": a.head_dim, "max_position_embeddings": 8192, "tie_word_embeddings": False}


SHAPES = {"llama-3-8b": llama_shapes, "bert-base": bert_shapes, "gpt2-xl": gpt2_shapes}


def elements(shape):
    count = 1
    for size in shape:
        count *= size
    return count


def normal_upper_bytes(deviation):
    """Return a table from a uniform byte to the upper byte of a float: the sign, and the exponent without its last bit."""
    normal = statistics.NormalDist(0, deviation)
    values = (normal.inv_cdf((index + 0.5) / 256) for index in range(256))
    return bytes(struct.pack(">f", value)[0] for value in values)


def falling_tables():
    ratio = LAST_DEVIATION / FIRST_DEVIATION
    return [normal_upper_bytes(FIRST_DEVIATION * ratio ** (step / (STEPS - 1))) for step in range(STEPS)]


def write_weights(path, shapes, dtype, seed):
    name, size, _ = DTYPES[dtype]
    header, offset = {}, 0
    for tensor, shape in shapes:
        end = offset + size * elements(shape)
        header[tensor] = {"dtype": name, "shape": shape, "data_offsets": [offset, end]}
        offset = end
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    source = random.Random(seed)
    tables = falling_tables()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for _, shape in shapes:
            rows, columns = shape[0], elements(shape[1:])
            for step, table in enumerate(tables):
                left = (rows * (step + 1) // STEPS - rows * step // STEPS) * columns
                while left > 0:
                    count = min(left, 1 << 22)
                    block = bytearray(source.randbytes(size * count))
                    block[size - 1::size] = block[size - 1::size].translate(table)
                    file.write(block)
                    left -= count


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--model", choices=MODELS, default="llama-3-8b")
    for name in ("layers", "width", "heads", "kv-heads", "head-dim", "mlp-width", "vocabulary"):
        parser.add_argument("--" + name, type=int, help="default: the model's value")
    parser.add_argument("--dtype", choices=DTYPES, help="default: the model's value")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    for name, default in MODELS[arguments.model].items():
        if getattr(arguments, name) is None:
            setattr(arguments, name, default)
    arguments.folder.mkdir(parents=True, exist_ok=True)
    (arguments.folder / "config.json").write_text(json.dumps(config_of(arguments), indent=2) + "\n")
    write_weights(arguments.folder / "model.safetensors", list(SHAPES[arguments.model](arguments)), arguments.dtype,
                  arguments.seed)


if __name__ == "__main__":
    main()
