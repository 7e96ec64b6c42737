#!/usr/bin/env python3
"""Make tests/data/diff: two tiny models, and expected.json: the expected results of `diff`, from NumPy in float64.

    .venv/bin/python tools/golden_diff.py

Each matrix is changed in a different way: see changed(). Singular vectors come from NumPy's SVD of the stored values, while attnscope
uses eigenvectors of Gram matrices. Angles use sines and cosines, and the random baseline is a sum over the Marchenko–Pastur density.
The script checks that no result depends on rounding. Needs only numpy. A second run gives the same bytes.
"""

import json
import pathlib
import struct

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
DATA = ROOT / "tests/data/diff"
LAYERS, WIDTH, HEADS, KV_HEADS, HEAD, MLP, WORDS = 2, 16, 4, 2, 4, 24, 10
ENERGY = (0.6, 0.9, 0.99)  # subspaces use the first value
SHAPES = {"self_attn.q_proj": (HEADS * HEAD, WIDTH), "self_attn.k_proj": (KV_HEADS * HEAD, WIDTH),
          "self_attn.v_proj": (KV_HEADS * HEAD, WIDTH), "self_attn.o_proj": (WIDTH, HEADS * HEAD),
          "mlp.gate_proj": (MLP, WIDTH), "mlp.up_proj": (MLP, WIDTH), "mlp.down_proj": (WIDTH, MLP)}
CONFIG = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "num_hidden_layers": LAYERS, "hidden_size": WIDTH,
          "num_attention_heads": HEADS, "num_key_value_heads": KV_HEADS, "head_dim": HEAD, "intermediate_size": MLP,
          "vocab_size": WORDS, "max_position_embeddings": 32, "tie_word_embeddings": True}


# ---- The models -----------------------------------------------------------------------------------------------------

def as_bfloat16(values):
    """Truncate to bfloat16 without rounding. Only the values in the file matter."""
    return (values.astype(np.float32).view(np.uint32) & 0xFFFF0000).view(np.float32)


def write(folder, dtype, tensors):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(CONFIG, indent=1) + "\n")
    header, payload = {}, b""
    for name, values in tensors.items():
        bits = values.astype("<f4")
        data = bits.tobytes() if dtype == "F32" else (bits.view("<u4") >> 16).astype("<u2").tobytes()
        header[name] = {"dtype": dtype, "shape": list(values.shape), "data_offsets": [len(payload), len(payload) + len(data)]}
        payload += data
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + payload)


def base_model(random):
    out = {"model.embed_tokens.weight": random.standard_normal((WORDS, WIDTH)), "model.norm.weight": np.ones(WIDTH)}
    for layer in range(LAYERS):
        for module, shape in SHAPES.items():
            decay = 0.8 ** np.arange(shape[1])
            out[f"model.layers.{layer}.{module}.weight"] = random.standard_normal(shape) * random.permutation(decay)
    out["model.layers.1.self_attn.k_proj.weight"] *= 0  # zero weights, so there is no relative change
    out["model.layers.1.self_attn.v_proj.weight"][:, 8:] = 0
    out["model.layers.1.self_attn.v_proj.weight"][4:] = 0
    return {name: as_bfloat16(values) for name, values in out.items()}


def changed(base, random):
    out = {name: values.astype(np.float64) for name, values in base.items()}
    noise = random.standard_normal

    def at(layer, module):
        return out[f"model.layers.{layer}.{module}.weight"]

    out["model.embed_tokens.weight"][3] += 0.25
    at(0, "self_attn.q_proj")[:] += noise((16, 2)) @ noise((2, 16)) / 16  # a low-rank change, like LoRA
    at(0, "self_attn.k_proj")[HEAD:] += noise((HEAD, WIDTH)) / 8  # only the second head; W_V is unchanged
    at(0, "self_attn.o_proj")[:] += noise((16, 16)) / 64
    at(0, "mlp.gate_proj")[:] *= 33 / 32  # the same subspace
    at(0, "mlp.up_proj")[:, 5] += noise(MLP) / 8  # one input
    at(0, "mlp.down_proj")[2, 7] += 0.5
    at(1, "self_attn.q_proj")[:] = 0
    at(1, "self_attn.k_proj")[:] = noise((8, 16)) / 16
    at(1, "self_attn.v_proj")[4:, 8:] = noise((4, 8)) / 4  # outside of the row and column spaces of the base
    at(1, "self_attn.o_proj")[0, 0] = np.inf
    at(1, "mlp.gate_proj")[:] += noise((MLP, WIDTH)) * 2.0 ** -17  # a float32 difference would lose most digits
    at(1, "mlp.up_proj")[:] += noise((MLP, WIDTH)) * 0.7 ** np.arange(WIDTH) / 8
    at(1, "mlp.down_proj")[:] += noise((WIDTH, MLP)) * 0.9 ** np.arange(MLP) / 32
    return {name: values.astype(np.float32) for name, values in out.items()}


# ---- Expected results ---------------------------------------------------------------------------------------------------

def energy_ranks(values):
    shares = np.cumsum(values ** 2) / max(np.sum(values ** 2), 1e-300)
    ranks = {}
    for energy in ENERGY:
        assert values[0] == 0 or np.abs(shares - energy).min() > 1e-6, "a rank depends on rounding"
        ranks[str(energy)] = 0 if values[0] == 0 else int(np.searchsorted(shares, energy)) + 1
    return ranks


def null_ranks(shape):
    """Return the energy ranks of a random matrix by its singular-value density sqrt((b - x)(x - a)) / x, from the largest value down."""
    ratio = min(shape) / max(shape)
    low, high = (1 - ratio ** 0.5) ** 2, (1 + ratio ** 0.5) ** 2
    edges = low + (high - low) * ((1 + np.cos(np.linspace(0, np.pi, 200_001))) / 2) ** 2
    x, width = (edges[1:] + edges[:-1]) / 2, edges[:-1] - edges[1:]
    count = np.sqrt((high - x) * (x - low)) / x * width
    energy = np.cumsum(count * x)
    ranks = {}
    for wanted in ENERGY:
        share = np.cumsum(count)[np.searchsorted(energy, wanted * energy[-1])] / np.sum(count)
        assert abs(share * min(shape) % 1 - 0.5) < 0.499
        ranks[str(wanted)] = int(np.ceil(share * min(shape)))
    return ranks


def space(own, base):
    """Compare the subspaces of two orthonormal bases."""
    small, large = sorted((own, base), key=lambda basis: basis.shape[1])
    inside = large @ (large.T @ small)
    cosine = np.linalg.svd(large.T @ small, compute_uv=False).max()
    sine = np.linalg.svd(small - inside, compute_uv=False).min()
    return {"overlap": float(np.sum(inside ** 2) / small.shape[1]), "random_overlap": large.shape[1] / len(large),
            "angle": float(np.degrees(np.arctan2(sine, cosine)))}


def leading(factors, rank):
    """Return the leading left and right singular vectors. Check that small errors of the matrix cannot change their span."""
    left, values, right = factors
    assert rank == len(values) or values[rank] ** 2 < 0.99 * values[rank - 1] ** 2, "a subspace depends on rounding"
    return left[:, :rank], right[:rank].T


def row(place, change, weight):
    ours, theirs = (np.linalg.svd(matrix, full_matrices=False) for matrix in (change, weight))
    norms = np.sqrt(np.sum(change ** 2)), np.sqrt(np.sum(weight ** 2))
    out = place | {"shape": list(weight.shape), "relative_change": norms[0] / norms[1] if norms[1] else None,
                   "change_norm": norms[0], "weight_norm": norms[1], "energy_rank": energy_ranks(ours[1]),
                   "random_energy_rank": null_ranks(weight.shape), "weight_energy_rank": energy_ranks(theirs[1]),
                   "max_possible_rank": min(weight.shape), "output_space": None, "input_space": None}
    ranks = [of[str(ENERGY[0])] for of in (out["energy_rank"], out["weight_energy_rank"])]
    if place["head"] is None and min(ranks) > 0:
        (left, right), (base_left, base_right) = leading(ours, ranks[0]), leading(theirs, ranks[1])
        out["output_space"], out["input_space"] = space(left, base_left), space(right, base_right)
    return out


def main():
    random = np.random.default_rng(27)
    base = base_model(random)
    tuned = changed(base, random)
    write(DATA / "base", "BF16", base)
    write(DATA / "tuned", "F32", tuned)
    rows = []
    for layer in range(LAYERS):
        for module in SHAPES:
            name, matrix = f"model.layers.{layer}.{module}.weight", module.split(".")[1].split("_")[0]
            before, after = base[name].astype(np.float64), tuned[name].astype(np.float64)
            if not np.isfinite(after).all():
                continue
            rows.append(row({"layer": layer, "matrix": matrix, "head": None}, after - before, before))
            for head in range({"q": HEADS, "o": HEADS, "k": KV_HEADS, "v": KV_HEADS}.get(matrix, 0)):
                own = slice(head * HEAD, (head + 1) * HEAD)
                own = np.s_[:, own] if matrix == "o" else np.s_[own]
                rows.append(row({"layer": layer, "matrix": matrix, "head": head}, (after - before)[own], before[own]))
    path = DATA / "expected.json"
    path.write_text("[\n" + ",\n".join(json.dumps(each) for each in rows) + "\n]\n")


if __name__ == "__main__":
    main()
