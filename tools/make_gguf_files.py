#!/usr/bin/env python3
"""Write tests/data/gguf: files made by the `gguf` package, and its dequantized values for every quantization type.

    python tools/make_gguf_files.py

    - types.gguf               a tensor of random blocks for every supported type
    - types.safetensors        the same tensors, dequantized by the package
    - refused.gguf             a tensor of every type that is only listed
    - CASE.f32.gguf, .f16.gguf the weights of tests/data/forward/CASE, converted as by llama.cpp's converter
    - CASE.json                the config.json of those weights, if it differs from the one in that folder
    - split-0000N-of-00003.gguf, big-endian.gguf, version2.gguf   one of them in other formats
    - tokenizers/*.gguf        the tokenizers of tests/inputs/text/tokenizers, without tensors
    - tokenizers/llama.json    a tokenizer.json with merges that transformers derives from scores

A second run gives the same bytes. Needs numpy, gguf, safetensors and transformers, but tests do not.
docs/formats.md describes the converter's changes to each architecture.
"""

import json
import shutil
import struct
from pathlib import Path

import gguf
import golden_variants
import numpy as np
from gguf import GGMLQuantizationType as Type
from gguf_cases import CASES, WHOLE, Case
from safetensors.numpy import save_file
from transformers.convert_slow_tokenizer import generate_merges

ROOT = Path(__file__).resolve().parent.parent
FORWARD = ROOT / "tests/data/forward"
TOKENIZERS = ROOT / "tests/inputs/text/tokenizers"
OUT = ROOT / "tests/data/gguf"
SIZE_LIMIT = 1_500_000

DECODED = "Q4_0 Q4_1 Q5_0 Q5_1 Q8_0 Q2_K Q3_K Q4_K Q5_K Q6_K IQ4_NL IQ4_XS MXFP4".split()
REFUSED = "Q8_1 Q8_K IQ2_XXS IQ2_XS IQ3_XXS IQ1_S IQ3_S IQ2_S IQ1_M TQ1_0 TQ2_0 NVFP4".split()


# ---- Types --------------------------------------------------------------------------------------------------------

def blocks_of(name: str, generator: np.random.Generator) -> np.ndarray:
    """Make four rows of two blocks: random bytes, whose scales may be NaN, and random weights if the package can quantize them."""
    size, size_bytes = gguf.GGML_QUANT_SIZES[Type[name]]
    blocks = generator.integers(0, 256, (4, 2 * size_bytes), dtype=np.uint8)
    try:
        weights = (0.05 * generator.standard_normal((2, 2 * size))).astype(np.float32)
        blocks[:2] = gguf.quants.quantize(weights, Type[name])
    except NotImplementedError:
        blocks[0] = np.where(blocks[0] > 127, blocks[0] & 59, blocks[0])  # mostly small scales
    return blocks


def write_types() -> None:
    generator = np.random.default_rng(3)
    writer, expected = gguf.GGUFWriter(OUT / "types.gguf", "types"), {}
    for name in DECODED:
        blocks = blocks_of(name, generator)
        writer.add_tensor(name, blocks, raw_dtype=Type[name])
        with np.errstate(all="ignore"):
            expected[name] = gguf.quants.dequantize(blocks, Type[name])
    plain = generator.standard_normal((3, 5))
    for name, values in (("F32", plain.astype(np.float32)), ("F16", plain.astype(np.float16)), ("F64", plain)):
        writer.add_tensor(name, values)
        expected[name] = values
    halves = gguf.quants.quantize(plain.astype(np.float32), Type.BF16)
    writer.add_tensor("BF16", halves, raw_dtype=Type.BF16)
    expected["BF16"] = gguf.quants.dequantize(halves, Type.BF16)
    finish(writer)
    save_file(expected, OUT / "types.safetensors")

    writer = gguf.GGUFWriter(OUT / "refused.gguf", "types")
    for name in REFUSED:
        writer.add_tensor(name, np.zeros((1, gguf.GGML_QUANT_SIZES[Type[name]][1]), np.uint8), raw_dtype=Type[name])
    finish(writer)


def finish(writer: gguf.GGUFWriter) -> None:
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


# ---- Architectures ------------------------------------------------------------------------------------------------

def read_safetensors(path: Path) -> dict[str, np.ndarray]:
    """Read tensors as float32, which can represent every 16-bit float."""
    raw = path.read_bytes()
    size = struct.unpack("<Q", raw[:8])[0]
    tensors = {}
    for name, entry in json.loads(raw[8:8 + size]).items():
        if name == "__metadata__" or entry["dtype"] not in ("F32", "F16", "BF16"):
            continue
        begin, end = entry["data_offsets"]
        data = raw[8 + size + begin:8 + size + end]
        if entry["dtype"] == "BF16":
            values = (np.frombuffer(data, np.uint16).astype(np.uint32) << 16).view(np.float32)
        else:
            values = np.frombuffer(data, {"F32": np.float32, "F16": np.float16}[entry["dtype"]]).astype(np.float32)
        tensors[name] = values.reshape(entry["shape"])
    return tensors


def config_of(case: Case) -> dict:
    folder = FORWARD / (case.weights or case.name)
    config = golden_variants.config_of(folder, case.variant) | case.changed
    if case.name == "gemma3":  # the file does not list the windowed layers: every sixth layer has no window
        config.pop("layer_types")
        config.pop("_sliding_window_pattern", None)
    return config


def gguf_name(case: Case, name: str) -> str:
    stem, ending = name.rsplit(".", 1)
    if stem.startswith(case.layers):
        number, part = stem[len(case.layers):].split(".", 1)
        return f"blk.{number}.{case.names[part]}.{ending}"
    return f"{WHOLE[stem]}.{ending}"


def pairs_side_by_side(values: np.ndarray, heads: int) -> np.ndarray:
    shape = values.shape
    return values.reshape(heads, 2, shape[0] // heads // 2, *shape[1:]).swapaxes(1, 2).reshape(shape)


def converted(case: Case, name: str, values: np.ndarray, config: dict) -> np.ndarray:
    heads = config.get("num_attention_heads", config.get("n_head"))
    if case.architecture == "llama" and ".q_proj." in name:
        return pairs_side_by_side(values, heads)
    if case.architecture == "llama" and ".k_proj." in name:
        return pairs_side_by_side(values, config["num_key_value_heads"])
    if case.architecture == "gpt2" and name.endswith(("c_attn.weight", "c_proj.weight", "c_fc.weight")):
        return values.T
    if case.architecture == "gptneox" and ".query_key_value." in name:
        rest = values.shape[1:]
        return values.reshape(heads, 3, -1, *rest).swapaxes(0, 1).reshape(values.shape)
    if case.architecture.startswith("gemma") and name.endswith("norm.weight"):
        return values + np.float32(1)
    return values


def llama3_divisors(rope: dict, head_dim: int) -> np.ndarray:
    frequencies = 1 / rope["rope_theta"] ** (np.arange(0, head_dim, 2, dtype=np.float32) / head_dim)
    low = rope["original_max_position_embeddings"] / rope["low_freq_factor"]
    high = rope["original_max_position_embeddings"] / rope["high_freq_factor"]
    out = []
    for length in 2 * np.pi / frequencies:
        smooth = (rope["original_max_position_embeddings"] / length - rope["low_freq_factor"]) / (
            rope["high_freq_factor"] - rope["low_freq_factor"])
        between = 1 / ((1 - smooth) / rope["factor"] + smooth)
        out.append(1 if length < high else rope["factor"] if length > low else between)
    return np.array(out, np.float32)


def add_values(writer: gguf.GGUFWriter, case: Case, config: dict, tensors: dict) -> None:
    heads = config.get("num_attention_heads", config.get("n_head"))
    width = config.get("hidden_size", config.get("n_embd"))
    head_dim = config.get("head_dim") or width // heads
    writer.add_block_count(config.get("num_hidden_layers", config.get("n_layer")))
    writer.add_context_length(config.get("max_position_embeddings", config.get("n_positions")))
    writer.add_embedding_length(width)
    writer.add_feed_forward_length(config.get("intermediate_size") or config.get("n_inner") or 4 * width)
    writer.add_head_count(heads)
    if config.get("num_key_value_heads"):
        writer.add_head_count_kv(config["num_key_value_heads"])
    if config.get("head_dim"):
        writer.add_key_length(head_dim)
        writer.add_value_length(head_dim)
    if "rms_norm_eps" in config:
        writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    else:
        writer.add_layer_norm_eps(config.get("layer_norm_eps", config.get("layer_norm_epsilon")))
    for key, add in (("attn_logit_softcapping", writer.add_attn_logit_softcapping),
                     ("final_logit_softcapping", writer.add_final_logit_softcapping)):
        if config.get(key) and case.architecture == "gemma2":
            add(config[key])
    if config.get("sliding_window") and case.architecture.startswith("gemma"):
        writer.add_sliding_window(config["sliding_window"])
    if case.architecture == "phi3":
        writer.add_sliding_window(0)
    if case.architecture == "gptneox":
        writer.add_parallel_residual(config["use_parallel_residual"])
    if case.architecture == "bert":
        writer.add_causal_attention(False)
    rope = config.get("rope_parameters") or {}
    rope = rope.get("full_attention", rope)
    rotated = int(head_dim * rope.get("partial_rotary_factor", 1))
    if rope:
        writer.add_rope_dimension_count(rotated)
        if case.architecture not in ("gemma", "gemma2", "phi2", "gptneox"):
            writer.add_rope_freq_base(rope["rope_theta"])
    kind = rope.get("rope_type", "default")
    if kind in ("linear", "yarn"):
        writer.add_rope_scaling_type(gguf.RopeScalingType(kind))
        writer.add_rope_scaling_factor(rope["factor"])
        if "original_max_position_embeddings" in rope:
            writer.add_rope_scaling_orig_ctx_len(rope["original_max_position_embeddings"])
    if kind == "llama3":
        tensors["rope_freqs.weight"] = llama3_divisors(rope, head_dim)
    if kind == "longrope":
        original = rope.get("original_max_position_embeddings") or config["original_max_position_embeddings"]
        writer.add_rope_scaling_orig_ctx_len(original)
        tensors["rope_factors_long.weight"] = np.array(rope["long_factor"], np.float32)
        tensors["rope_factors_short.weight"] = np.array(rope["short_factor"], np.float32)


def model_tensors(case: Case, config: dict, kind: str) -> dict[str, np.ndarray]:
    """Write the tensors. Vectors stay float32, as in the converter."""
    out = {}
    for name, values in read_safetensors(FORWARD / (case.weights or case.name) / "model.safetensors").items():
        name = name.removeprefix("bert.")
        if name.startswith("cls.") or name.endswith("inv_freq"):
            continue
        values = np.ascontiguousarray(converted(case, name, values, config))
        out[gguf_name(case, name)] = values.astype(np.float16) if kind == "f16" and values.ndim > 1 else values
    return out


def write_model(case: Case, kind: str, path: Path, **how) -> None:
    config = config_of(case)
    writer = gguf.GGUFWriter(path, case.architecture, **how)
    tensors = model_tensors(case, config, kind)
    add_values(writer, case, config, tensors)
    for name, values in tensors.items():
        writer.add_tensor(name, values)
    finish(writer)


def write_models() -> None:
    for case in CASES:
        for kind in case.types:
            write_model(case, kind, OUT / f"{case.name}.{kind}.gguf")
        config = config_of(case)
        if config != json.loads((FORWARD / (case.weights or case.name) / "config.json").read_text()):
            (OUT / f"{case.name}.json").write_text(json.dumps(config, indent=1) + "\n")
    llama = next(case for case in CASES if case.name == "llama-tied")
    write_model(llama, "f16", OUT / "split.gguf", split_max_tensors=9, small_first_shard=True)
    write_model(llama, "f16", OUT / "big-endian.gguf", endianess=gguf.GGUFEndian.BIG)
    whole = bytearray((OUT / "llama-tied.f16.gguf").read_bytes())
    whole[4:8] = struct.pack("<I", 2)
    (OUT / "version2.gguf").write_bytes(whole)


# ---- Tokenizers ---------------------------------------------------------------------------------------------------

TOKEN = gguf.TokenType


def write_tokenizer(name: str, kind: str, pre: str | None, tokens: list[str], types: list[int], **more) -> None:
    writer = gguf.GGUFWriter(OUT / "tokenizers" / f"{name}.gguf", "llama")
    writer.add_tokenizer_model(kind)
    if pre:
        writer.add_tokenizer_pre(pre)
    writer.add_token_list(tokens)
    writer.add_token_types(types)
    if "scores" in more:
        writer.add_token_scores(more["scores"])
    if "merges" in more:
        writer.add_token_merges(more["merges"])
    ids = {token: index for index, token in enumerate(tokens)}
    for key, token in more.get("special", {}).items():
        getattr(writer, f"add_{key}_token_id")(ids[token])
    finish(writer)


def read_tokenizer(name: str) -> tuple[dict, list[str], set[str]]:
    whole = json.loads((TOKENIZERS / name / "tokenizer.json").read_text())
    ids = whole["model"]["vocab"] | {added["content"]: added["id"] for added in whole["added_tokens"]}
    return whole, sorted(ids, key=ids.get), {added["content"] for added in whole["added_tokens"]}


def write_tokenizers() -> None:
    (OUT / "tokenizers").mkdir()
    for name, pre in (("gpt2", "gpt-2"), ("llama3", "llama-bpe")):
        whole, tokens, special = read_tokenizer(name)
        begin = {"bos": "<|begin_of_text|>", "eos": "<|end_of_text|>"} if name == "llama3" else {
            "bos": "<|endoftext|>", "eos": "<|endoftext|>"}
        write_tokenizer(name, "gpt2", pre, tokens,
                        [TOKEN.CONTROL if token in special else TOKEN.NORMAL for token in tokens],
                        merges=[" ".join(pair) for pair in whole["model"]["merges"]], special=begin)

    whole, tokens, special = read_tokenizer("bert")
    shown = [token if token in special else token[2:] if token.startswith("##") else "\u2581" + token
             for token in tokens]
    write_tokenizer("bert", "bert", None, shown,
                    [TOKEN.CONTROL if token in special else TOKEN.NORMAL for token in tokens],
                    special={"bos": "[CLS]", "sep": "[SEP]", "unk": "[UNK]", "pad": "[PAD]", "mask": "[MASK]"})

    whole, tokens, special = read_tokenizer("llama")
    types = [TOKEN.UNKNOWN if token == "<unk>" else TOKEN.CONTROL if token in special else
             TOKEN.BYTE if token.startswith("<0x") else TOKEN.NORMAL for token in tokens]
    rank = {left + right: -float(index) for index, (left, right) in reversed(list(enumerate(whole["model"]["merges"])))}
    scores = [rank.get(token, -1e6 - index if kind == TOKEN.NORMAL else 0.0)
              for index, (token, kind) in enumerate(zip(tokens, types))]
    write_tokenizer("llama", "llama", "default", tokens, types, scores=scores,
                    special={"bos": "<s>", "eos": "</s>", "unk": "<unk>"})
    narrow = {token: np.float32(score) for token, score in zip(tokens, scores)}
    whole["model"]["merges"] = generate_merges(whole["model"]["vocab"], narrow, special)
    (OUT / "tokenizers/llama.json").write_text(json.dumps(whole, ensure_ascii=False, separators=(",", ":")) + "\n")


def main() -> None:
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir(parents=True)
    write_types()
    write_models()
    write_tokenizers()
    total = sum(path.stat().st_size for path in OUT.rglob("*") if path.is_file())
    print(f"tests/data/gguf: {total} bytes")
    assert total < SIZE_LIMIT


if __name__ == "__main__":
    main()
