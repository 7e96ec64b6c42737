"""The files for the cases of same_output.py: models with difficult numbers, and malformed ones. Their bytes are reproducible."""

import json
import math
import pathlib
import random
import struct

WIDTH, HEADS, KV_HEADS, HEAD_DIM, MLP = 16, 4, 2, 4, 24


def write_safetensors(path, tensors):
    """Write a safetensors file. `tensors`: name → (dtype, shape, bytes)."""
    header, offset = {}, 0
    for name, (dtype, shape, payload) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [offset, offset + len(payload)]}
        offset += len(payload)
    text = json.dumps(header).encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(payload for _, _, payload in tensors.values()))


def floats(values):
    return struct.pack(f"<{len(values)}f", *values)


def llama_tensors(seed=1, layers=2):
    source, tensors = random.Random(seed), {}

    def add(name, rows, cols):
        tensors[name] = ("F32", [rows, cols], floats([source.gauss(0, 1) for _ in range(rows * cols)]))

    add("model.embed_tokens.weight", 10, WIDTH)
    for layer in range(layers):
        prefix = f"model.layers.{layer}."
        for matrix, rows, cols in [("q", HEADS * HEAD_DIM, WIDTH), ("k", KV_HEADS * HEAD_DIM, WIDTH),
                                   ("v", KV_HEADS * HEAD_DIM, WIDTH), ("o", WIDTH, HEADS * HEAD_DIM)]:
            add(f"{prefix}self_attn.{matrix}_proj.weight", rows, cols)
        for matrix, rows, cols in [("gate", MLP, WIDTH), ("up", MLP, WIDTH), ("down", WIDTH, MLP)]:
            add(f"{prefix}mlp.{matrix}_proj.weight", rows, cols)
        tensors[prefix + "input_layernorm.weight"] = ("F32", [WIDTH], floats([1 + 0.1 * at for at in range(WIDTH)]))
    add("lm_head.weight", 10, WIDTH)
    return tensors


def llama_config(**changes):
    return {"model_type": "llama", "num_hidden_layers": 2, "num_attention_heads": HEADS,
            "num_key_value_heads": KV_HEADS, "head_dim": HEAD_DIM, "hidden_size": WIDTH, "intermediate_size": MLP,
            "vocab_size": 10, "max_position_embeddings": 32, "tie_word_embeddings": False, **changes}


def write_llama(folder, changed=None, config=None):
    """Write a model. `changed`: "0.q" → a function from row and column to the value of that matrix."""
    tensors = llama_tensors()
    for place, value in (changed or {}).items():
        layer, matrix = place.split(".")
        name = f"model.layers.{layer}.self_attn.{matrix}_proj.weight"
        rows, cols = tensors[name][1]
        tensors[name] = ("F32", [rows, cols], floats([value(row, col) for row in range(rows) for col in range(cols)]))
    write_safetensors(folder / "model.safetensors", tensors)
    (folder / "config.json").write_text(json.dumps(config or llama_config()))


def write_alone(path, shape, dtype):
    """Write one random matrix q with decaying singular values, for code paths that depend on shape and dtype."""
    size = {"F32": 4, "F64": 8, "F16": 2, "BF16": 2, "F8_E4M3": 1, "F8_E5M2": 1}[dtype]
    payload = bytearray(random.Random(1).randbytes(shape[0] * shape[1] * size))
    keep = {"F8_E4M3": 0xBF, "F8_E5M2": 0xBB, "F16": 0xBB}.get(dtype, 0xBF)
    payload[size - 1::size] = payload[size - 1::size].translate(bytes(byte & keep for byte in range(256)))
    write_safetensors(path, {"w": (dtype, shape, bytes(payload))})
    pathlib.Path(f"{path}.layout.json").write_text(json.dumps(
        {"schema": "attnscope-layout/1", "layers": 1, "heads": 1, "head_dim": shape[0], "hidden_size": shape[1],
         "weights": [{"role": "q", "tensor": "w"}]}))


def write_stacked(path):
    source = random.Random(2)
    tensors = {f"blocks.{layer}.qkvo": [source.gauss(0, 1) for _ in range(4 * 8 * 8)] for layer in range(2)}
    write_safetensors(path, {name: ("F32", [4, 8, 8], floats(values)) for name, values in tensors.items()})
    pathlib.Path(f"{path}.layout.json").write_text(json.dumps(
        {"schema": "attnscope-layout/1", "layers": 2, "heads": 2, "head_dim": 4, "hidden_size": 8, "weights": [
            {"role": role, "tensor": "blocks.{layer}.qkvo", "index": index} for index, role in enumerate("qkvo")]}))


# ---- Models with difficult numbers --------------------------------------------------------------

def write_hard_models(made):
    write_llama(made / "nan", {"0.q": lambda row, col: math.nan if (row, col) == (3, 5) else row - col,
                               "1.k": lambda row, col: math.inf if row == col == 2 else 1 / (1 + row + col),
                               "1.v": lambda row, col: 0.0})
    write_llama(made / "constant", {"0.q": lambda row, col: 1.0, "0.k": lambda row, col: 1.0,
                                    "1.v": lambda row, col: 2.0, "1.o": lambda row, col: 2.0})
    write_llama(made / "one-row", {f"{layer}.{matrix}": lambda row, col: float(col + 1) if row % 4 == 0 else 0.0
                                   for layer in (0, 1) for matrix in "qkvo"})
    write_llama(made / "outliers", {"0.q": lambda row, col: 1e15 if (row, col) == (1, 1) else math.sin(row * 17 + col),
                                    "0.k": lambda row, col: 1e15 if (row, col) == (1, 1) else math.cos(row * 17 + col),
                                    "1.o": lambda row, col: 1e-30 * math.sin(row + col)})
    write_llama(made / "equal-layers", {f"{layer}.{matrix}": lambda row, col: math.sin(row * 17 + col * col)
                                        for layer in (0, 1) for matrix in "qkvo"})
    for dtype in ("F64", "F16", "BF16", "F8_E4M3", "F8_E5M2"):
        write_alone(made / f"{dtype.lower()}.safetensors", [40, 24], dtype)
    write_alone(made / "float32-wide.safetensors", [400, 700], "F32")
    write_alone(made / "float32-square.safetensors", [1210, 1230], "F32")
    write_alone(made / "bfloat16-tall.safetensors", [900, 300], "BF16")
    write_stacked(made / "stacked.safetensors")


# ---- Malformed models ---------------------------------------------------------------------------

def write_broken(folder, name, weights=None, config=None):
    folder = folder / name
    folder.mkdir(parents=True)
    if weights is not None:
        (folder / "model.safetensors").write_bytes(weights)
    if config is not None:
        (folder / "config.json").write_bytes(config if isinstance(config, bytes) else json.dumps(config).encode())


def with_header(header, payload=b""):
    return struct.pack("<Q", len(header)) + header + payload


def write_broken_models(folder, sound, sound_config):
    """Write malformed checkpoints. `sound`: bytes of a valid checkpoint, which are also damaged at random positions."""
    config = llama_config()
    one = b'{"t": {"dtype": "%s", "shape": [%s], "data_offsets": [0, %d]}}'
    for name, weights in {
            "empty": b"", "cut in the header": sound[:200], "cut in a tensor": sound[:-1], "longer": sound + b"x",
            "no safetensors": b"x" * 100, "no JSON": with_header(b"{]"), "header of 2^63": struct.pack("<Q", 1 << 63),
            "unknown dtype": with_header(one % (b"F7", b"1", 1), b"x"), "no tensors": with_header(b"{}"),
            "shape overflows": with_header(one % (b"F32", b"4611686018427387905", 4), b"1234"),
            "lfs pointer": b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1044984\n"}.items():
        write_broken(folder, name, weights, config)
    for name, changed in {
            "no family": {}, "list": [], "no heads": llama_config(num_attention_heads=0),
            "another width": llama_config(hidden_size=8),
            "heads do not divide": llama_config(num_key_value_heads=3), "wide": llama_config(hidden_size="wide"),
            "more layers": llama_config(num_hidden_layers=3), "llava": llama_config(model_type="llava"),
            "rwkv": {"model_type": "rwkv", "architectures": ["RwkvForCausalLM"]},
            "lama": llama_config(model_type="lama"),
            "gptq": llama_config(quantization_config={"quant_method": "gptq"}), "no JSON config": b"{", "evil": {
                "model_type": "evil\x1b[31m\n\x7f"}}.items():
        write_llama(folder / name)
        text = changed if isinstance(changed, bytes) else json.dumps(changed).encode()
        (folder / name / "config.json").write_bytes(text)

    tensors = llama_tensors()
    query = "model.layers.0.self_attn.q_proj.weight"

    def write_changed(name, changed, removed=()):
        kept = {tensor: value for tensor, value in tensors.items() if not tensor.startswith(tuple(removed))}
        write_safetensors(folder / name / "model.safetensors", {**kept, **changed})
        (folder / name / "config.json").write_text(json.dumps(config))

    write_changed("no query", {}, [query])
    write_changed("attention alone", {}, [f"model.layers.{layer}.mlp" for layer in (0, 1)] + ["lm_head", "model.embed"])
    write_changed("integers", {query: ("I8", [16, 16], bytes(256))})
    write_changed("int8 with scales", {query: ("I8", [16, 16], bytes(256)), query + "_scale": ("F32", [16], bytes(64)),
                                       query.replace("weight", "SCB"): ("F32", [16], bytes(64))})
    write_changed("scaled fp8", {query: ("F8_E4M3", [16, 16], bytes(256)),
                                 query + "_scale_inv": ("F32", [1, 1], bytes(4))})
    write_changed("f4", {query: ("F4", [16, 16], bytes(128))})
    write_changed("another shape", {query: ("F32", [16, 15], bytes(960))})

    write_broken(folder, "no config", sound)
    write_broken(folder, "no weights", None, config)
    write_broken(folder, "only bin", None, config)
    (folder / "only bin/pytorch_model.bin").write_bytes(b"PK")
    write_broken(folder, "only gguf")
    (folder / "only gguf/model.gguf").write_bytes(b"GGUF")
    write_broken(folder, "lora")
    (folder / "lora/adapter_config.json").write_text(
        json.dumps({"peft_type": "LORA", "base_model_name_or_path": "some/base"}))
    write_safetensors(folder / "lora/adapter_model.safetensors",
                      {"base_model.model.q.lora_A.weight": ("F32", [2, 2], bytes(16))})
    write_broken(folder, "cache")
    write_llama(folder / "cache/snapshots/0123abc")
    for part in ("blobs", "refs"):
        (folder / "cache" / part).mkdir()
    for name, shard in {"missing shard": "model-00001-of-00002.safetensors",
                        "shard elsewhere": "../secret.safetensors"}.items():
        write_broken(folder, name, None, config)
        (folder / name / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {query: shard}}))

    source = random.Random(3)
    header_bytes = struct.unpack("<Q", sound[:8])[0]
    for number in range(40):
        damaged = bytearray(sound)
        damaged[source.randrange(8 + header_bytes)] = source.choice(b'{}[]":,0159ax\x00\xff')
        write_broken(folder, f"damaged weights {number}", bytes(damaged), sound_config)
    for number in range(30):
        damaged = bytearray(sound_config)
        if number % 3 == 0:
            del damaged[source.randrange(len(damaged)):]
        else:
            damaged[source.randrange(len(damaged))] = source.choice(b'{}[]":,0159ax\x00\xff')
        write_broken(folder, f"damaged config {number}", sound, bytes(damaged))


def make_files(made, data):
    """Write everything into the folder `made`. `data` is tests/data."""
    made.mkdir()
    (made / "text").write_text("no store\n")
    (made / "other.sqlite").write_bytes(b"SQLite format 3\0" + bytes(4080))
    write_hard_models(made)
    write_broken_models(made / "broken", (data / "gpt2/model.safetensors").read_bytes(),
                        (data / "gpt2/config.json").read_bytes())
