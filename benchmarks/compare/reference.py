"""The reference side of the comparisons, as a process that answers requests: one line of JSON each.

Every function loads its matrices first, which is not timed. It returns the seconds of the computation, and for singular
values also their sum, by which the caller checks that both sides used the same matrices.
"""

import ctypes
import ctypes.util
import json
import os
import sys
import time
from functools import cache
from pathlib import Path

import numpy as np

from common import read_tensors


@cache
def torch():
    import torch as module
    module.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    return module


def load(folder: str, tensors: list[str]):
    return [torch().from_numpy(array) for array in read_tensors(Path(folder), tensors)]


def timed(work):
    start = time.monotonic()
    total = work()
    return {"seconds": time.monotonic() - start, "sum": float(total)}


def svdvals(folder, tensors):
    """Time torch.linalg.svdvals in float32, one matrix after the other."""
    matrices = load(folder, tensors)
    return timed(lambda: sum(torch().linalg.svdvals(matrix).sum() for matrix in matrices))


def svd(folder, tensors):
    """Time torch.linalg.svd(full_matrices=False), of which notebooks often use only the singular values."""
    matrices = load(folder, tensors)
    return timed(lambda: sum(torch().linalg.svd(matrix, full_matrices=False)[1].sum() for matrix in matrices))


def gpt2_layer(folder):
    """Time the spectra of the projections of GPT-2's first layer, in float32."""
    attention, *others = load(folder, ["h.0.attn.c_attn.weight", "h.0.attn.c_proj.weight", "h.0.mlp.c_fc.weight",
                                       "h.0.mlp.c_proj.weight"])
    matrices = [*attention.chunk(3, dim=1), *others]
    return timed(lambda: sum(torch().linalg.svdvals(matrix).sum() for matrix in matrices))


def bert_layers(folder, layers, heads):
    """Time torch.linalg.svdvals of every matrix and both products, for all heads together and for each head."""
    values = torch().linalg.svdvals

    def of_layer(q, k, v, o):
        size = q.shape[0] // heads
        whole = [q, k, v, o, q.T @ k, v.T @ o.T]
        total = sum(values(matrix).sum() for matrix in whole)
        for head in range(heads):
            own = slice(head * size, (head + 1) * size)
            parts = [q[own], k[own], v[own], o[:, own], q[own].T @ k[own], v[own].T @ o[:, own].T]
            total += sum(values(matrix).sum() for matrix in parts)
        return total

    names = ("attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense")
    weights = [load(folder, [f"encoder.layer.{layer}.{name}.weight" for name in names]) for layer in range(layers)]
    return timed(lambda: sum(of_layer(*matrices) for matrices in weights))


def attention_maps(count, size):
    """Time torch.linalg.svdvals of a batch of causal maps in float64."""
    random = torch().Generator().manual_seed(1)
    scores = torch().randn(count, size, size, generator=random, dtype=torch().float64)
    future = torch().ones(size, size, dtype=torch().bool).triu(1)
    maps = scores.masked_fill(future, -torch().inf).softmax(-1)
    return timed(lambda: torch().linalg.svdvals(maps).sum())


@cache
def gpt2(folder: str, head: bool):
    import transformers
    transformers.logging.set_verbosity_error()
    kind = transformers.GPT2LMHeadModel if head else transformers.GPT2Model
    return kind.from_pretrained(folder, attn_implementation="eager", dtype=torch().float32).eval()


def forward_maps(folder, tokens):
    """Time one pass of the base model with its maps. Summing map entries ensures that they are computed."""
    model = gpt2(folder, head=False)
    ids = torch().tensor(tokens)
    with torch().no_grad():
        return timed(lambda: sum(map_[0, 0, 0, 0] for map_ in model(ids, output_attentions=True).attentions))


def attention_ranks(folder, tokens, together, head):
    """Time energy ranks and energy columns at 0.9 of every map.

    `together`: sequences per pass. `head`: with the language-model head. Also returns the mean ranks and columns of
    shape (layers, heads).
    """
    model = gpt2(folder, head)
    ids = torch().tensor(tokens)

    def counts(energy):
        """Return how many of the values (..., n), in descending order, are needed for 0.9 of the sum."""
        held = energy.cumsum(-1)
        return (held < 0.9 * held[..., -1:]).sum(-1) + 1

    ranks, columns = [], []

    def work():
        with torch().no_grad():
            for first in range(0, len(ids), together):
                maps = model(ids[first:first + together], output_attentions=True).attentions
                of_layers = [[], []]
                for layer in maps:
                    exact = layer.double()
                    of_layers[0].append(counts(torch().linalg.svdvals(exact) ** 2))
                    of_layers[1].append(counts((exact ** 2).sum(-2).sort(-1, descending=True).values))
                ranks.append(torch().stack(of_layers[0]))
                columns.append(torch().stack(of_layers[1]))
        return 0

    seconds = timed(work)["seconds"]
    means = [torch().cat(of, dim=1).double().mean(1).tolist() for of in (ranks, columns)]
    return {"seconds": seconds, "ranks": means[0], "columns": means[1]}


@cache
def vit(folder):
    import transformers
    return transformers.ViTModel.from_pretrained(folder, attn_implementation="eager", add_pooling_layer=False).eval()


def image_measures(folder, pixels):
    """Time the statistics of `attention` for a ViT, as typical PyTorch code, with ranks in float64.

    Also returns the energy rank and energy columns at 0.9, the entropy, and the distance in patches of each head.
    """
    model = vit(folder)
    values = torch().from_numpy(np.load(pixels))

    def counts(energy):
        held = energy.cumsum(-1)
        return (held < 0.9 * held[..., -1:]).sum(-1) + 1

    found = {}

    def work():
        with torch().no_grad():
            maps = torch().cat(model(values, output_attentions=True).attentions).double()  # (layers, heads, T, T)
            side = int(round((maps.shape[-1] - 1) ** 0.5))
            y, x = torch().meshgrid(torch().arange(side).double(), torch().arange(side).double(), indexing="ij")
            places = torch().stack([y.flatten(), x.flatten()], -1)
            patches = maps[..., 1:, 1:]
            found["energy_rank"] = counts(torch().linalg.svdvals(maps) ** 2)
            found["columns"] = counts((maps ** 2).sum(-2).sort(-1, descending=True).values)
            found["entropy"] = -torch().xlogy(maps, maps).sum(-1).mean(-1)
            found["patch_distance"] = ((patches * torch().cdist(places, places)).sum(-1) / patches.sum(-1)).mean(-1)
            found["sink_mass"] = maps[..., 0].mean(-1)
            found["diagonal"] = maps.diagonal(dim1=-2, dim2=-1).mean(-1)
        return 0

    seconds = timed(work)["seconds"]
    return {"seconds": seconds} | {name: value.tolist() for name, value in found.items()}


def factored_matrices(count, head_dim, width):
    """Time TransformerLens's FactoredMatrix.S of random circuits, or its algorithm in NumPy if it is not installed.

    The algorithm is svd(A), svd(B), then svd of S_A V_Aᵀ U_B S_B. The result is checked here, because only this process
    has these circuits.
    """
    random = np.random.default_rng(2)
    left, right = (random.standard_normal((count, head_dim, width)).astype(np.float32) for _ in range(2))
    try:
        from transformer_lens import FactoredMatrix
        way = "TransformerLens FactoredMatrix.S"
        factors = torch().from_numpy(left.transpose(0, 2, 1).copy()), torch().from_numpy(right)

        def values():
            return FactoredMatrix(*factors).S.numpy()
    except ImportError:
        way = "FactoredMatrix.S in NumPy"

        def values():
            _, s_left, v_left = np.linalg.svd(left.transpose(0, 2, 1), full_matrices=False)
            u_right, s_right, _ = np.linalg.svd(right, full_matrices=False)
            return np.linalg.svd(s_left[:, :, None] * (v_left @ u_right) * s_right[:, None, :], full_matrices=False)[1]
    expected = np.linalg.svd(left[0].T.astype(np.float64) @ right[0], compute_uv=False)[:head_dim]
    assert np.allclose(values()[0], expected, rtol=1e-4), "different values"
    return {**timed(lambda: values().sum()), "way": way}


def composition_scores(folder, layers, heads):
    """Time Q-, K- and V-composition scores of every head with every head of every later layer, in float32.

    This uses TransformerLens's all_composition_scores with FactoredMatrix. If it is not installed, it uses the same
    algorithm in NumPy, one pair of layers at a time.
    """
    def stacked(role):
        return np.stack([read_tensors(Path(folder), [f"{role}.{layer}"])[0] for layer in range(layers)])

    def by_head(matrices):  # (layers, heads, width, head_dim)
        return np.ascontiguousarray(matrices.reshape(layers, heads, -1, matrices.shape[-1]).transpose(0, 1, 3, 2))

    q, k, v, o = by_head(stacked("q")), by_head(stacked("k")), by_head(stacked("v")), stacked("o")
    o = np.ascontiguousarray(o.reshape(layers, o.shape[1], heads, -1).transpose(0, 2, 3, 1))  # (.., head_dim, width)
    later = np.arange(layers)[:, None] < np.arange(layers)  # [earlier, later]
    try:
        from transformer_lens import FactoredMatrix
        from transformer_lens.utilities import composition_scores as scores_of
        way = "TransformerLens all_composition_scores"
        q, k, v, o = (torch().from_numpy(array) for array in (q, k, v, o))

        def all_scores():
            ov, qk = FactoredMatrix(v, o), FactoredMatrix(q, k.transpose(-2, -1))
            return sum(float(scores_of(ov, right).numpy().transpose(0, 2, 1, 3)[later].sum(dtype=np.float64))
                       for right in (qk, qk.T, ov))
    except ImportError:
        way = "composition scores in NumPy"

        def triangles(factor):
            return np.linalg.qr(factor, mode="r")

        def all_scores():
            total = 0.0
            transposed = (0, 1, 3, 2)
            written = triangles(v) @ o  # (.., head_dim, width)
            own = np.linalg.norm(written, axis=(-2, -1))
            for left, right in ((q, k), (k, q), (v, o.transpose(transposed))):
                read = left @ triangles(right).transpose(transposed)
                norms = np.linalg.norm(read, axis=(-2, -1))
                for first in range(layers):
                    for second in range(first + 1, layers):
                        met = np.linalg.norm(written[first][:, None] @ read[second][None], axis=(-2, -1))
                        total += float((met / own[first][:, None] / norms[second]).sum(dtype=np.float64))
            return total
    all_scores()  # the first call loads libraries
    return {**timed(all_scores), "way": way}


@cache
def openblas():
    return ctypes.CDLL(ctypes.util.find_library("openblas") or "libopenblas.so.0")


def sgesdd(folder, tensors):
    """Time LAPACK's sgesdd of the system's OpenBLAS, values only. The matrices are overwritten."""
    def integer(value):
        return ctypes.byref(ctypes.c_int(value))

    def values_of(matrix):
        columns, rows = matrix.shape  # in row-major order it is the transpose, which has the same singular values
        values = np.empty(min(matrix.shape), np.float32)
        integers = np.empty(8 * len(values), np.int32)
        info = ctypes.c_int()

        def run(work, size):
            openblas().sgesdd_(b"N", integer(rows), integer(columns), matrix.ctypes, integer(rows), values.ctypes, None,
                               integer(1), None, integer(1), work.ctypes, integer(size), integers.ctypes,
                               ctypes.byref(info), ctypes.c_size_t(1))
            assert info.value == 0, f"sgesdd: info {info.value}"

        wanted = np.empty(1, np.float32)
        run(wanted, -1)
        work = np.empty(int(wanted[0]), np.float32)
        run(work, len(work))
        return values.sum(dtype=np.float64)

    matrices = read_tensors(Path(folder), tensors)
    return timed(lambda: sum(values_of(matrix) for matrix in matrices))


def sgemm(size, products):
    """Time square float32 products with NumPy's OpenBLAS: close to the peak rate of this CPU."""
    a, b = np.random.default_rng(1).standard_normal((2, size, size), np.float32)
    a @ b  # the first call starts the threads
    return timed(lambda: sum((a @ b)[0, 0] for _ in range(products)))


def head_ablation(folder, tokens):
    """Time zero ablation of each head, by a hook on the output projection's input, with one pass per head."""
    model = gpt2(folder, head=True)
    ids = torch().tensor(tokens)
    width = model.config.n_embd // model.config.n_head
    increases = []

    def loss():
        return float(model(ids, labels=ids).loss)

    def work():
        plain = loss()
        for block in model.transformer.h:
            for first in range(0, model.config.n_embd, width):
                def zeroed(_, inputs, first=first):
                    values = inputs[0].clone()
                    values[..., first:first + width] = 0
                    return (values,)

                hook = block.attn.c_proj.register_forward_pre_hook(zeroed)
                increases.append(loss() - plain)
                hook.remove()
        return plain

    with torch().no_grad():
        return {**timed(work), "loss_increase": increases}


FUNCTIONS = {function.__name__: function
             for function in (svdvals, svd, gpt2_layer, bert_layers, attention_maps, forward_maps, attention_ranks, image_measures,
                              factored_matrices, composition_scores, sgesdd, sgemm, head_ablation)}

if __name__ == "__main__":
    for line in sys.stdin:
        request = json.loads(line)
        print(json.dumps(FUNCTIONS[request.pop("function")](**request)), flush=True)
