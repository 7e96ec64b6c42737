#!/usr/bin/env python3
"""Write tests/data/gguf-families: models of tests/data/forward in the format of llama.cpp's converter.

    python tools/make_gguf_family_files.py
    python tools/make_gguf_family_files.py --check

Writes CASE.gguf for each case, and cases.json, which lists their folders. CASE.json is the config.json of the same model, and is
written if it differs from the one in the folder. --check compares logits from transformers' GGUF reader with those of the folder,
for the architectures that the reader supports.

Matrices keep 16 bits and vectors become float32, so no value changes. A second run gives the same bytes. Needs numpy and gguf; the
check needs torch, transformers and safetensors. Tests need none of them.
"""

import json
import shutil
import struct
import sys
import tempfile
from pathlib import Path

import gguf
import golden_variants
import numpy as np
from gguf_families import Case, gguf_tensors
from gguf_family_keys import gguf_values
from make_gguf_files import finish, read_safetensors

ROOT = Path(__file__).resolve().parent.parent
FORWARD = ROOT / "tests/data/forward"
OUT = ROOT / "tests/data/gguf-families"
SIZE_LIMIT = 5_000_000

CASES = [
    Case("mixtral", "llama"),
    Case("mixtral-older", "llama", "mixtral", older=True),
    Case("qwen2_moe", "qwen2moe", loads=True),
    Case("qwen3_moe", "qwen3moe", changed={"norm_topk_prob": True}, loads=True),
    Case("olmoe", "olmoe"),
    Case("gpt_oss", "gpt-oss"),
    Case("gpt_oss-mxfp4", "gpt-oss"),
    Case("deepseek_v2", "deepseek2"),
    Case("deepseek_v2-older", "deepseek2", "deepseek_v2-no-latent", older=True),
    Case("deepseek_v2-experts", "deepseek2"),
    Case("deepseek_v3", "deepseek2", changed={"rope_parameters": {
        "rope_type": "yarn", "rope_theta": 100.0, "factor": 4.0, "original_max_position_embeddings": 64,
        "beta_fast": 8.0, "beta_slow": 1.0, "mscale": 0.5, "mscale_all_dim": 0.5}}),
    Case("deepseek_v3-experts", "deepseek2"),
    Case("glm_moe_dsa", "glm-dsa"),
    Case("minicpm3", "minicpm3", changed={"scale_emb": 12, "scale_depth": 1.4, "dim_model_base": 256}),
    Case("ministral3", "mistral3"),
    Case("glm4_moe", "glm4moe"),
    Case("glm4_moe-qk-norm", "glm4moe"),
    Case("dots1", "dots1"),
    Case("minimax_m2", "minimax-m2", loads=True),
    Case("phimoe", "phimoe"),
    Case("ernie4_5_moe", "ernie4_5-moe"),
    Case("hunyuan_v1_moe", "hunyuan-moe"),
    Case("granitemoe", "granitemoe"),
    Case("granitemoeshared", "granitemoe"),
    Case("qwen2_vl", "qwen2vl"),
    Case("qwen3_vl", "qwen3vl"),
    Case("granite", "granite"),
    Case("smollm3", "smollm3"),
    Case("arcee", "arcee"),
    Case("olmo", "olmo", variant="clip"),
    Case("olmo2", "olmo2"),
    Case("olmo3", "olmo2", variant="scaled-full"),
    Case("exaone4", "exaone4"),
    Case("exaone4-no-window", "exaone4", "exaone4", "no-window"),
    Case("cohere", "command-r"),
    Case("cohere2", "cohere2"),
    Case("starcoder2", "starcoder2", loads=True),
    Case("stablelm", "stablelm", loads=True),
    Case("stablelm-parallel", "stablelm"),
    Case("ernie4_5", "ernie4_5"),
    Case("hunyuan_v1_dense", "hunyuan-dense"),
    Case("seed_oss", "seed_oss"),
    Case("nemotron", "nemotron", loads=True),
    Case("glm", "chatglm"),
    Case("glm4", "glm4"),
    Case("lfm2", "lfm2"),
    Case("llama4", "llama4", changed={"attention_chunk_size": 8192, "attn_scale": 0.1, "floor_scale": 8192}),
    Case("llama4-every", "llama4", changed={"interleave_moe_layer_step": 1, "num_local_experts": 16}),
    Case("qwen3_next", "qwen3next"),
    Case("qwen3_5", "qwen35"),
    Case("qwen3_5_moe", "qwen35moe"),
    Case("qwen3_5_moe-stacked", "qwen35moe"),
    Case("gemma4", "gemma4", changed={"per_layer_config": None, "global_head_dim": 12}),
    Case("gemma4-same-matrix", "gemma4", changed={"per_layer_config": None, "global_head_dim": 12, "num_global_key_value_heads": 1}),
    Case("gemma4-experts", "gemma4", changed={"per_layer_config": None, "global_head_dim": 12, "num_global_key_value_heads": 1}),
    Case("falcon", "falcon", loads=True),
    Case("falcon-per-head", "falcon"),
    Case("falcon-groups", "falcon"),
    Case("falcon-groups-one-norm", "falcon"),
    Case("bloom", "bloom", loads=True),
    Case("mpt", "mpt", variant="clip"),
    Case("gpt_bigcode", "starcoder"),
    Case("roberta", "bert"),
    Case("xlm-roberta", "bert"),
    Case("nomic_bert", "nomic-bert"),
    Case("modernbert", "modern-bert"),
]

WHOLE_FLOATS = ("conv.conv.weight", "conv1d.weight")  # convolution kernels, which the converter never narrows


def config_of(case: Case) -> dict:
    config = golden_variants.config_of(FORWARD / (case.weights or case.name), case.variant) | case.changed
    return {key: value for key, value in config.items() if key not in case.changed or value is not None}


def header_of(folder: Path) -> dict:
    raw = (folder / "model.safetensors").read_bytes()
    return json.loads(raw[8:8 + struct.unpack("<Q", raw[:8])[0]])


def mxfp4_blocks(folder: Path) -> dict[str, np.ndarray]:
    """Return each expert tensor as (E, rows, blocks of 17 bytes): a scale, then bytes that each hold values i and i + 16."""
    raw = (folder / "model.safetensors").read_bytes()
    start = 8 + struct.unpack("<Q", raw[:8])[0]
    header = header_of(folder)

    def bytes_of(name: str) -> np.ndarray:
        begin, end = header[name]["data_offsets"]
        return np.frombuffer(raw[start + begin:start + end], np.uint8).reshape(header[name]["shape"])

    out = {}
    for name in header:
        if not name.endswith("_blocks"):
            continue
        codes, scales = bytes_of(name), bytes_of(name.replace("_blocks", "_scales"))
        values = np.stack([codes & 15, codes >> 4], axis=-1).reshape(*codes.shape[:-1], 32)
        packed = values[..., :16] | values[..., 16:] << 4
        blocks = np.concatenate([scales[..., None], packed], axis=-1).reshape(*codes.shape[:2], -1)
        layer = name.split(".")[2]
        if "gate_up" in name:
            out[f"blk.{layer}.ffn_gate_exps.weight"] = np.ascontiguousarray(blocks[:, ::2])
            out[f"blk.{layer}.ffn_up_exps.weight"] = np.ascontiguousarray(blocks[:, 1::2])
        else:
            out[f"blk.{layer}.ffn_down_exps.weight"] = blocks
    return out


def add_draft_layer(tensors: dict[str, np.ndarray], config: dict) -> None:
    """Append a copy of the last layer with the additional tensors of an MTP draft layer."""
    layers, width = config["num_hidden_layers"], config["hidden_size"]
    last = f"blk.{layers - 1}."
    for name in [name for name in tensors if name.startswith(last)]:
        tensors[name.replace(last, f"blk.{layers}.")] = tensors[name]
    generator = np.random.default_rng(7)
    tensors[f"blk.{layers}.nextn.eh_proj.weight"] = generator.standard_normal((width, 2 * width)).astype(np.float32)
    for name in ("enorm", "hnorm", "shared_head_norm"):
        tensors[f"blk.{layers}.nextn.{name}.weight"] = np.ones(width, np.float32)


def write_case(case: Case) -> None:
    folder, whole = FORWARD / (case.weights or case.name), config_of(case)
    config = whole | whole.get("text_config", {})
    half = {entry["dtype"] for name, entry in header_of(folder).items() if name != "__metadata__"} & {"F16", "BF16"}
    tensors = gguf_tensors(case, read_safetensors(folder / "model.safetensors"), config)
    if case.name == "glm4_moe":
        add_draft_layer(tensors, config)
    writer = gguf.GGUFWriter(OUT / f"{case.name}.gguf", case.architecture)
    for key, value in gguf_values(case, config).items():
        key = f"{case.architecture}.{key}"
        add = {bool: writer.add_bool, int: writer.add_uint32, float: writer.add_float32, str: writer.add_string,
               list: writer.add_array}[type(value)]
        add(key, value)
    if case.architecture == "bert":
        writer.add_tokenizer_model({"xlm-roberta": "t5", "roberta": "gpt2"}[config["model_type"]])
        writer.add_token_list([f"t{index}" for index in range(config["vocab_size"])])
        if config["model_type"] == "xlm-roberta":
            writer.add_token_scores([0.0] * config["vocab_size"])
            writer.add_token_types([gguf.TokenType.UNKNOWN] + [gguf.TokenType.NORMAL] * (config["vocab_size"] - 1))
        writer.add_pad_token_id(config["pad_token_id"])
    for name, values in tensors.items():
        if values.ndim < 2 or not half or name.endswith(WHOLE_FLOATS):
            writer.add_tensor(name, values)
        elif "F16" in half:
            writer.add_tensor(name, values.astype(np.float16))
        else:
            writer.add_tensor(name, gguf.quants.quantize(values, gguf.GGMLQuantizationType.BF16),
                              raw_dtype=gguf.GGMLQuantizationType.BF16)
    for name, blocks in (mxfp4_blocks(folder) if "mxfp4" in case.name else {}).items():
        writer.add_tensor(name, blocks, raw_dtype=gguf.GGMLQuantizationType.MXFP4)
    finish(writer)
    if whole != json.loads((folder / "config.json").read_text()):
        (OUT / f"{case.name}.json").write_text(json.dumps(whole, indent=1) + "\n")


def write_all() -> None:
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir(parents=True)
    for case in CASES:
        write_case(case)
    of_folder = {case.name: case.weights or case.name for case in CASES}
    (OUT / "cases.json").write_text(json.dumps(of_folder, indent=1) + "\n")
    total = sum(path.stat().st_size for path in OUT.iterdir())
    print(f"tests/data/gguf-families: {len(CASES)} models, {total} bytes")
    assert total < SIZE_LIMIT


def check(case: Case) -> bool:
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    ids = torch.tensor([[5, 6, 7, 3, 11, 4, 9, 8, 10]])
    options = {"dtype": torch.float32, "attn_implementation": "eager"}
    with tempfile.TemporaryDirectory() as name:
        shutil.copy(FORWARD / (case.weights or case.name) / "model.safetensors", name)
        Path(name, "config.json").write_text(json.dumps(config_of(case)))
        wanted = AutoModelForCausalLM.from_pretrained(name, **options)(ids).logits
        shutil.copy(OUT / f"{case.name}.gguf", name)
        Path(name, "model.safetensors").unlink()
        config = AutoConfig.from_pretrained(name)  # the reader uses few keys of the file
        read = AutoModelForCausalLM.from_pretrained(name, gguf_file=f"{case.name}.gguf", config=config, **options)(ids).logits
    difference = float((read - wanted).abs().max() / wanted.abs().max())
    print(f"{case.name}: {difference:.1e}")
    return difference < 1e-5


def main() -> None:
    if sys.argv[1:] == ["--check"]:
        sys.exit(0 if all([check(case) for case in CASES if case.loads]) else 1)
    write_all()


if __name__ == "__main__":
    main()
