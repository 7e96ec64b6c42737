#!/usr/bin/env python3
"""Write tests/data/quantized/<case>/: a tiny quantized Llama, and its values dequantized by the method's own library.

    python tools/make_quantized_files.py [--only CASE]

A second run gives the same bytes. Needs numpy, torch, safetensors, transformers 5, bitsandbytes 0.50 and compressed-tensors 0.20. Also
needs the source of autoawq 0.2.9, of which one file is loaded separately. Tests need none of them. A folder has:
    model.safetensors        in the format of the method
    config.json              with its quantization_config
    dequantized.safetensors  the same tensors with every weight dequantized, in the library's output dtype

Weights are random. For GPTQ and AWQ, the quantized numbers themselves are random, because only reading them is tested.
GPTQ is dequantized by its formula, because its library needs a GPU or rounds like the formula.
"""

import argparse
import importlib.util
import json
import os
import re
import sys
import zlib
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"

import numpy as np
import torch
from safetensors.torch import save_file

FOLDER = Path(__file__).resolve().parent.parent / "tests" / "data" / "quantized"
WIDTH, HEADS, KV_HEADS, HEAD_DIM, MLP, VOCABULARY = 64, 4, 2, 16, 64, 40
LAYER = "model.layers.0."
ATTENTION = {"self_attn.q_proj": (HEADS * HEAD_DIM, WIDTH), "self_attn.k_proj": (KV_HEADS * HEAD_DIM, WIDTH),
             "self_attn.v_proj": (KV_HEADS * HEAD_DIM, WIDTH), "self_attn.o_proj": (WIDTH, HEADS * HEAD_DIM)}
WHOLE = ATTENTION | {"mlp.gate_proj": (MLP, WIDTH), "mlp.up_proj": (MLP, WIDTH),
                     "mlp.down_proj": (WIDTH, MLP)}
FEW = {module: ATTENTION[module] for module in ("self_attn.q_proj", "self_attn.o_proj")}
CONFIG = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "num_hidden_layers": 1, "hidden_size": WIDTH,
          "num_attention_heads": HEADS, "num_key_value_heads": KV_HEADS, "head_dim": HEAD_DIM, "intermediate_size": MLP,
          "vocab_size": VOCABULARY, "max_position_embeddings": 64, "rms_norm_eps": 1e-6, "hidden_act": "silu",
          "rope_theta": 10000.0, "tie_word_embeddings": True, "bos_token_id": 1, "eos_token_id": 2}


class Case:
    """Collects stored and dequantized tensors."""

    def __init__(self, name, quantization):
        self.random = np.random.default_rng(zlib.crc32(name.encode()))
        self.name, self.quantization = name, quantization
        self.stored, self.values = {}, {}

    def weight(self, shape):
        return torch.from_numpy((0.1 * self.random.standard_normal(shape)).astype(np.float32))

    def keep(self, name, tensor):
        self.stored[name] = self.values[name] = tensor

    def add(self, name, parts, values):
        """Add a weight. `parts`: tensors by the suffix of the module's name."""
        for ending, tensor in parts.items():
            self.stored[name.removesuffix(".weight") + ending] = tensor.clone().contiguous()
        self.values[name] = values.contiguous()

    def write(self):
        folder = FOLDER / self.name
        folder.mkdir(parents=True, exist_ok=True)
        save_file(self.stored, folder / "model.safetensors", metadata={"format": "pt"})
        save_file(self.values, folder / "dequantized.safetensors", metadata={"format": "pt"})
        config = CONFIG | {"quantization_config": self.quantization}
        (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n")


def model_case(name, quantization, quantise, whole=False):
    """Write a model in which `quantise(case, name, weight)` stores each projection. `whole`: a model that can be run."""
    case = Case(name, quantization)
    for module, shape in (WHOLE if whole else FEW).items():
        full = f"{LAYER}{module}.weight"
        quantise(case, full, case.weight(shape))
    if whole:
        case.keep("model.embed_tokens.weight", case.weight((VOCABULARY, WIDTH)))
        for norm in (LAYER + "input_layernorm", LAYER + "post_attention_layernorm", "model.norm"):
            case.keep(norm + ".weight", 1 + case.weight((WIDTH,)))
    case.write()


# ---- FP8 ----------------------------------------------------------------------------------------------------------

def float8(weight, scale):
    return (weight / scale).clamp(-448, 448).to(torch.float8_e4m3fn)


def on_blocks(grid, shape, block):
    return grid.repeat_interleave(block[0], 0)[:shape[0]].repeat_interleave(block[1], 1)[:, :shape[1]]


def fp8_blocks(block, dtype):
    """Multiply in float32 and round to the dtype of the scales, as transformers' Fp8Dequantize does if blocks divide the shape."""
    def quantise(case, name, weight):
        grid = [-(-size // each) for size, each in zip(weight.shape, block)]
        scale = torch.from_numpy(case.random.uniform(0.2, 1, grid).astype(np.float32) / 1024).to(dtype)
        full = on_blocks(scale.float(), weight.shape, block)
        codes = float8(weight, full)
        values = (codes.float() * full).to(dtype)
        if all(size % each == 0 for size, each in zip(weight.shape, block)):
            from transformers.integrations.finegrained_fp8 import Fp8Dequantize
            assert torch.equal(Fp8Dequantize(None)._dequantize_one(codes, scale), values)
        case.add(name, {".weight": codes, ".weight_scale_inv": scale}, values)
    return quantise


def fp8_scale(per_row):
    def quantise(case, name, weight):
        scale = weight.abs().amax(1, keepdim=True) / 448 if per_row else (weight.abs().amax() / 448).reshape(1)
        codes = float8(weight, scale)
        case.add(name, {".weight": codes, ".weight_scale": scale}, codes.float() * scale)
    return quantise


def write_fp8():
    model_case("fp8-blocks", {"quant_method": "fp8", "weight_block_size": [16, 32]}, fp8_blocks((16, 32), torch.float32), whole=True)
    model_case("fp8-odd-blocks", {"quant_method": "fp8", "weight_block_size": [24, 20]}, fp8_blocks((24, 20), torch.bfloat16))
    model_case("fp8-one-scale", {"quant_method": "fp8", "activation_scheme": "static"}, fp8_scale(per_row=False))
    model_case("fp8-rows", {"quant_method": "fbgemm_fp8"}, fp8_scale(per_row=True))
    every = Case("fp8-every-code", {"quant_method": "fp8", "weight_block_size": [128, 128]})
    codes = torch.arange(256, dtype=torch.uint8).repeat(130)[: 130 * 140].reshape(130, 140)  # the grid is 2 x 2, not 65 x 70
    scale = torch.tensor([[0.7, 2.0**-130], [2.0**-126, 3e36]])
    full = on_blocks(scale, codes.shape, (128, 128))
    for ending, dtype in (("e4m3", torch.float8_e4m3fn), ("e5m2", torch.float8_e5m2)):
        part = codes.view(dtype)
        every.add(f"{ending}.weight", {".weight": part, ".weight_scale_inv": scale}, part.float() * full)
    every.write()


# ---- GPTQ and AWQ -------------------------------------------------------------------------------------------------

def bit_stream(numbers, bits):
    """Pack rows of small integers into rows of 32-bit words without gaps, lowest bit first."""
    stream = (numbers[..., None] >> np.arange(bits)) & 1
    stream = stream.reshape(*numbers.shape[:-1], -1)
    return np.packbits(stream.astype(np.uint8), axis=-1, bitorder="little").view("<i4")


def random_groups(case, shape, group, bits):
    """Return integers (inputs, outputs), and zero points and float16 scales per group. Some scales make subnormal results."""
    outputs, inputs = shape
    groups = -(-inputs // group)
    numbers = case.random.integers(0, 2**bits, (inputs, outputs))
    zeros = case.random.integers(0, 2**bits, (groups, outputs))
    scales = case.random.uniform(0.002, 0.02, (groups, outputs)) * 16 / 2**bits
    scales[case.random.random(scales.shape) < 0.1] = 1.1e-6
    return numbers, zeros, scales.astype(np.float16)


def gptq(bits, group, version=1, any_order=False):
    def quantise(case, name, weight):
        numbers, zeros, scales = random_groups(case, weight.shape, group, bits)
        index = np.arange(weight.shape[1]) // group
        if any_order:
            index = case.random.permutation(index)
        exact = scales.astype(np.float32)[index] * (numbers - zeros[index]).astype(np.float32)
        stored_zeros = (zeros - 1) % 2**bits if version == 1 else zeros
        case.add(name, {".qweight": torch.from_numpy(bit_stream(numbers.T, bits).T.copy()),
                        ".qzeros": torch.from_numpy(bit_stream(stored_zeros, bits)),
                        ".scales": torch.from_numpy(scales), ".g_idx": torch.from_numpy(index.astype(np.int32))},
                 torch.from_numpy(exact.T.astype(np.float16)))
    return quantise


def awq_library():
    for folder in sys.path:
        file = Path(folder) / "awq" / "utils" / "packing_utils.py"
        if file.exists():
            spec = importlib.util.spec_from_file_location("packing_utils", file)
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            return module
    raise SystemExit("autoawq is not installed")


def awq(group):
    library = awq_library()

    def pack(numbers):
        nibbles = numbers.reshape(numbers.shape[0], -1, 8)[..., [0, 2, 4, 6, 1, 3, 5, 7]].astype(np.int64)
        return torch.from_numpy((nibbles << (4 * np.arange(8))).sum(-1).astype(np.uint32).view(np.int32))

    def quantise(case, name, weight):
        numbers, zeros, scales = random_groups(case, weight.shape, group, 4)
        parts = {".qweight": pack(numbers), ".qzeros": pack(zeros), ".scales": torch.from_numpy(scales)}
        values = library.dequantize_gemm(parts[".qweight"], parts[".qzeros"], parts[".scales"], 4, group)
        case.add(name, parts, values.T)
    return quantise


def write_gptq_and_awq():
    def config(bits, group, **more):
        return {"quant_method": "gptq", "bits": bits, "group_size": group, "sym": False, "desc_act": False} | more
    model_case("gptq-4", config(4, 32, checkpoint_format="gptq"), gptq(4, 32), whole=True)
    for bits in (2, 3, 8):
        model_case(f"gptq-{bits}", config(bits, 32), gptq(bits, 32))
    model_case("gptq-4-v2", config(4, 24, checkpoint_format="gptq_v2"), gptq(4, 24, version=2))  # 24 does not divide 64
    model_case("gptq-4-any-order", config(4, 16, desc_act=True), gptq(4, 16, any_order=True))
    model_case("awq", {"quant_method": "awq", "bits": 4, "group_size": 32, "version": "gemm", "zero_point": True}, awq(32), whole=True)


# ---- bitsandbytes -------------------------------------------------------------------------------------------------

def four_bits(kind, block, nested, dtype):
    import bitsandbytes.functional as library

    def quantise(case, name, weight):
        codes, state = library.quantize_4bit(weight.to(dtype), blocksize=block, compress_statistics=nested, quant_type=kind)
        parts = {".weight": codes} | {".weight." + key: tensor for key, tensor in state.as_dict(packed=True).items()}
        case.add(name, parts, dequantised(codes, state))
        if block == 64:  # on a CPU, 0.50 has a bug with other block sizes: its errors exceed a quantization step
            assert torch.equal(case.values[name], library.dequantize_4bit(codes, state))

    def dequantised(codes, state):
        scale = state.absmax
        if nested:
            scale = library.dequantize_blockwise(state.absmax, state.state2) + state.offset
        numbers = torch.stack([codes.flatten() >> 4, codes.flatten() & 15], -1).flatten()[:state.shape.numel()]
        exact = state.code[numbers.long()] * scale.repeat_interleave(block)[:len(numbers)]
        return exact.to(dtype).reshape(state.shape)
    return quantise


def eight_bits(case, name, weight):
    import bitsandbytes.functional as library
    codes, scales, _ = library.int8_vectorwise_quant(weight.half())
    case.add(name, {".weight": codes, ".SCB": scales, ".weight_format": torch.tensor(0, dtype=torch.uint8)},
             library.int8_vectorwise_dequant(codes, scales))


def write_bitsandbytes():
    config = {"quant_method": "bitsandbytes", "load_in_4bit": True}
    model_case("nf4-nested", config, four_bits("nf4", 64, True, torch.bfloat16), whole=True)
    model_case("nf4", config, four_bits("nf4", 128, False, torch.float16))
    model_case("fp4", config, four_bits("fp4", 64, False, torch.float32))
    model_case("int8", {"quant_method": "bitsandbytes", "load_in_8bit": True}, eight_bits, whole=True)
    # Blocks that begin within rows, and an odd number of values.
    odd = Case("nf4-odd", config)
    four_bits("nf4", 64, True, torch.float16)(odd, "odd.weight", odd.weight((9, 75)))
    odd.write()


# ---- compressed-tensors -------------------------------------------------------------------------------------------

def compressed(format, dtype, old_packing=False, **weights):
    from compressed_tensors.compressors import BaseCompressor
    from compressed_tensors.quantization import QuantizationArgs, QuantizationScheme

    arguments = QuantizationArgs(**weights)
    scheme = QuantizationScheme(targets=["Linear"], weights=arguments)

    def quantise(case, name, weight):
        rows, cols = weight.shape
        grid = {"tensor": (1,), "channel": (rows, 1)}.get(weights["strategy"])
        if weights["strategy"] == "group":
            grid = (rows, cols // weights["group_size"])
        if weights["strategy"] == "block":
            grid = tuple(-(-size // each) for size, each in zip((rows, cols), weights["block_structure"]))
        largest = 448 if weights["type"] == "float" else 2 ** (weights["num_bits"] - 1)
        state = {"weight": weight.to(dtype),
                 "weight_scale": torch.from_numpy(case.random.uniform(0.2, 0.4, grid) / largest).to(dtype)}
        if not weights["symmetric"]:
            reach = largest // 2
            state["weight_zero_point"] = torch.from_numpy(case.random.integers(-reach, reach, grid).astype(np.int8))
        compressor = BaseCompressor.get_value_from_registry(format)
        parts = compressor.compress(state, scheme)
        values = compressor.decompress(parts, scheme)["weight"]
        if old_packing:
            parts["weight_packed"] = repacked(parts["weight_packed"], weights["num_bits"], cols)
            if "weight_zero_point" in parts:
                parts["weight_zero_point"] = repacked(parts["weight_zero_point"].T, weights["num_bits"], rows).T
        case.add(name, {"." + key: tensor for key, tensor in parts.items()}, values)
    return quantise


def repacked(words, bits, count):
    """Convert the dense format to that of versions up to 0.15, in which no integer crosses a word boundary."""
    each = 32 // bits
    stream = np.unpackbits(words.contiguous().numpy().view(np.uint8), axis=-1, bitorder="little")[:, :count * bits]
    numbers = (stream.reshape(len(stream), count, bits).astype(np.int64) << np.arange(bits)).sum(-1)
    numbers = np.pad(numbers, ((0, 0), (0, -count % each))).reshape(len(stream), -1, each)
    return torch.from_numpy((numbers << (bits * np.arange(each))).sum(-1).astype(np.uint32).view(np.int32))


def write_compressed():
    def case(name, format, dtype, version="0.20.0", whole=False, old_packing=False, **weights):
        groups = {"group_0": {"targets": ["Linear"], "weights": weights, "input_activations": None}}
        config = {"quant_method": "compressed-tensors", "format": format, "version": version, "config_groups": groups,
                  "ignore": ["lm_head"], "quantization_status": "compressed"}
        model_case(name, config, compressed(format, dtype, old_packing, **weights), whole)

    def whole_numbers(bits, strategy, symmetric, **more):
        return {"num_bits": bits, "type": "int", "strategy": strategy, "symmetric": symmetric} | more

    pack, half, brain = "pack-quantized", torch.float16, torch.bfloat16
    case("packed-4", pack, brain, whole=True, **whole_numbers(4, "group", False, group_size=32))
    case("packed-8-rows", pack, half, **whole_numbers(8, "channel", False))
    case("packed-4-tensor", pack, torch.float32, **whole_numbers(4, "tensor", True))
    for bits in (3, 5, 6, 7):
        case(f"packed-{bits}", pack, half, **whole_numbers(bits, "group", bits > 4, group_size=16))
    for bits in (3, 6):
        case(f"packed-{bits}-old", pack, half, version="0.13.0", old_packing=True,
             **whole_numbers(bits, "group", False, group_size=16))
    case("int8-rows", "int-quantized", brain, **whole_numbers(8, "channel", False))
    case("float8-tensor", "float-quantized", half, num_bits=8, type="float", strategy="tensor", symmetric=True)
    case("float8-blocks", "float-quantized", brain, num_bits=8, type="float", strategy="block", symmetric=True, block_structure=[16, 32])


# ---- MXFP4 --------------------------------------------------------------------------------------------------------

def write_mxfp4():
    from transformers.integrations.mxfp4 import _convert_moe_packed_tensors
    case = Case("mxfp4", {"quant_method": "mxfp4", "modules_to_not_convert": ["model.layers.*.self_attn"]})
    for module, shape in FEW.items():
        case.keep(f"{LAYER}{module}.weight", case.weight(shape))

    def add(name, blocks, scales):
        values = _convert_moe_packed_tensors(torch.from_numpy(blocks), torch.from_numpy(scales))
        case.add(name, {"_blocks": torch.from_numpy(blocks), "_scales": torch.from_numpy(scales)}, values)

    shape = (3, 70, 2, 16)
    add(LAYER + "mlp.experts.gate_up_proj", case.random.integers(0, 256, shape, np.uint8),
        case.random.integers(110, 130, shape[:-1], np.uint8))
    codes = np.tile(np.arange(256, dtype=np.uint8).reshape(1, 1, 16, 16)[:, :, :1], (1, 256, 1, 1))
    codes[..., 8:] += 0x80
    add("every.scale", codes, np.arange(256, dtype=np.uint8).reshape(1, 256, 1))
    case.write()


WRITERS = [write_fp8, write_gptq_and_awq, write_bitsandbytes, write_compressed, write_mxfp4]

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", help="only cases whose name contains this")
    only = parser.parse_args().only
    if only:
        write_all, Case.write = Case.write, lambda case: write_all(case) if re.search(only, case.name) else None
    for writer in WRITERS:
        writer()
