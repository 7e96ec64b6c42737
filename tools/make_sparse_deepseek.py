#!/usr/bin/env python3
"""Write a checkpoint in DeepSeek-V3's layout with random attention weights, whose experts are holes in sparse files.

    python3 tools/make_sparse_deepseek.py build/deepseek-narrow
    python3 tools/make_sparse_deepseek.py build/deepseek-wide --wide --layers 2

Use it to test which parts of a model larger than memory are read. It has FP8 blocks of 128 × 128, 163 shards, and 61 layers of
256 experts. Layers are narrow unless --wide selects V3's sizes. Holes need no disk space and read as zeros. Needs only
Python.
"""

import argparse
import json
import math
import pathlib
import random
import struct

BLOCK = 128
NARROW = {"width": 512, "heads": 8, "q_rank": 256, "rank": 128, "plain": 64, "rotary": 32, "value": 64, "expert_width": 128}
WIDE = {"width": 7168, "heads": 128, "q_rank": 1536, "rank": 512, "plain": 128, "rotary": 64, "value": 128, "expert_width": 2048}


def config_of(a, sizes):
    return {"architectures": ["DeepseekV3ForCausalLM"], "model_type": "deepseek_v3", "torch_dtype": "bfloat16",
            "hidden_size": sizes["width"], "intermediate_size": 4 * sizes["width"], "moe_intermediate_size": sizes["expert_width"],
            "num_hidden_layers": a.layers, "num_attention_heads": sizes["heads"], "num_key_value_heads": sizes["heads"],
            "q_lora_rank": sizes["q_rank"], "kv_lora_rank": sizes["rank"], "qk_nope_head_dim": sizes["plain"],
            "qk_rope_head_dim": sizes["rotary"], "v_head_dim": sizes["value"], "n_routed_experts": a.experts,
            "n_shared_experts": 1, "num_experts_per_tok": 8, "n_group": 8, "topk_group": 4, "first_k_dense_replace": a.dense,
            "vocab_size": 1024, "max_position_embeddings": 4096, "tie_word_embeddings": False, "rms_norm_eps": 1e-6,
            "quantization_config": {"quant_method": "fp8", "fmt": "e4m3", "weight_block_size": [BLOCK, BLOCK],
                                    "activation_scheme": "dynamic"}}


def tensors_of(a, sizes):
    """Yield (name, dtype, shape, content: "random", "ones", or "hole") for the whole model, in layer order."""
    width, heads = sizes["width"], sizes["heads"]
    key = sizes["plain"] + sizes["rotary"]

    def linear(name, outputs, inputs, fill):
        yield name + ".weight", "F8_E4M3", (outputs, inputs), fill
        yield (name + ".weight_scale_inv", "F32", (math.ceil(outputs / BLOCK), math.ceil(inputs / BLOCK)),
               "ones" if fill == "random" else fill)

    def mlp(name, inner):
        yield from linear(name + ".gate_proj", inner, width, "hole")
        yield from linear(name + ".up_proj", inner, width, "hole")
        yield from linear(name + ".down_proj", width, inner, "hole")

    yield "model.embed_tokens.weight", "BF16", (1024, width), "hole"
    for layer in range(a.layers):
        prefix = f"model.layers.{layer}."
        attention = prefix + "self_attn."
        yield prefix + "input_layernorm.weight", "BF16", (width,), "ones"
        yield from linear(attention + "q_a_proj", sizes["q_rank"], width, "random")
        yield attention + "q_a_layernorm.weight", "BF16", (sizes["q_rank"],), "ones"
        yield from linear(attention + "q_b_proj", heads * key, sizes["q_rank"], "random")
        yield from linear(attention + "kv_a_proj_with_mqa", sizes["rank"] + sizes["rotary"], width, "random")
        yield attention + "kv_a_layernorm.weight", "BF16", (sizes["rank"],), "ones"
        yield from linear(attention + "kv_b_proj", heads * (sizes["plain"] + sizes["value"]), sizes["rank"], "random")
        yield from linear(attention + "o_proj", width, heads * sizes["value"], "random")
        yield prefix + "post_attention_layernorm.weight", "BF16", (width,), "ones"
        if layer < a.dense:
            yield from mlp(prefix + "mlp", 4 * width)
            continue
        yield prefix + "mlp.gate.weight", "BF16", (a.experts, width), "hole"
        yield prefix + "mlp.gate.e_score_correction_bias", "F32", (a.experts,), "hole"
        yield from mlp(prefix + "mlp.shared_experts", sizes["expert_width"])
        for expert in range(a.experts):
            yield from mlp(f"{prefix}mlp.experts.{expert}", sizes["expert_width"])
    yield "model.norm.weight", "BF16", (width,), "ones"
    yield "lm_head.weight", "BF16", (1024, width), "hole"


SIZES = {"F8_E4M3": 1, "BF16": 2, "F32": 4}
ONES = {"BF16": b"\x80\x3f", "F32": b"\x00\x00\x80\x3f"}
# Maps a uniform byte to an E4M3 byte that is not NaN. All exponents are equally frequent.
NO_NAN = bytes(byte if byte & 0x7F != 0x7F else byte - 1 for byte in range(256))


def bytes_of(dtype, shape):
    return SIZES[dtype] * math.prod(shape)


def write_shard(path, tensors, source):
    header, offset = {}, 0
    for name, dtype, shape, _ in tensors:
        end = offset + bytes_of(dtype, shape)
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [offset, end]}
        offset = end
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for name, dtype, shape, fill in tensors:
            count = bytes_of(dtype, shape)
            if fill == "random":
                file.write(source.randbytes(count).translate(NO_NAN))
            elif fill == "ones":
                file.write(ONES[dtype] * math.prod(shape))
            else:
                file.seek(count, 1)
        file.truncate(8 + len(text) + offset)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--wide", action="store_true", help="the sizes of DeepSeek-V3")
    parser.add_argument("--layers", type=int, default=61)
    parser.add_argument("--dense", type=int, help="number of initial layers without experts (default: 3, or 0 for two layers)")
    parser.add_argument("--experts", type=int, default=256)
    parser.add_argument("--shards", type=int, default=163)
    arguments = parser.parse_args()
    if arguments.dense is None:
        arguments.dense = 3 if arguments.layers > 3 else 0
    sizes = WIDE if arguments.wide else NARROW
    arguments.folder.mkdir(parents=True, exist_ok=True)
    (arguments.folder / "config.json").write_text(json.dumps(config_of(arguments, sizes)))
    tensors = list(tensors_of(arguments, sizes))
    each = math.ceil(len(tensors) / arguments.shards)
    source, weight_map = random.Random(1), {}
    for shard in range(arguments.shards):
        own = tensors[shard * each:(shard + 1) * each]
        name = f"model-{shard + 1:05}-of-{arguments.shards:06}.safetensors"
        write_shard(arguments.folder / name, own, source)
        weight_map.update({tensor[0]: name for tensor in own})
    total = sum(bytes_of(dtype, shape) for _, dtype, shape, _ in tensors)
    (arguments.folder / "model.safetensors.index.json").write_text(
        json.dumps({"metadata": {"total_size": total}, "weight_map": weight_map}))


if __name__ == "__main__":
    main()
