"""NumPy references of the compression methods, applied in the original shapes: removed parts are zero, or have a lower rank.

They change transformers models in place. `moments` are means of x xᵀ of the inputs x of a layer's matrices, with a last
element of 1, by (layer, matrix).
"""

from typing import NamedTuple

import numpy as np
import torch

from tiny_models import projection


def read(own):
    return own.weight.double().numpy()


def write(own, weight):
    own.weight.copy_(torch.tensor(weight).float())


def with_bias(own):
    return np.column_stack([read(own), np.zeros(len(own.weight)) if own.bias is None else own.bias.double().numpy()])


def write_with_bias(own, joined):
    write(own, joined[:, :-1])
    if own.bias is not None:
        own.bias.copy_(torch.tensor(joined[:, -1]).float())


def heads_of(model):
    """Return the number of query heads, the number of key/value heads, and the head dimension."""
    config = model.config
    return config.num_attention_heads, config.num_key_value_heads, config.head_dim


def left_by_surgeon(weight, g, count):
    """Return the neurons that optimal brain surgeon keeps when it removes them one by one."""
    h = np.linalg.inv(g + 1e-6 * np.trace(g) / len(g) * np.eye(len(g)))
    weight, left = weight.copy(), list(range(len(g)))
    while len(left) > count:
        gone = min(left, key=lambda at: (weight[:, at] @ weight[:, at]) / h[at, at])
        weight -= np.outer(weight[:, gone], h[gone] / h[gone, gone])
        h = h - np.outer(h[:, gone], h[gone] / h[gone, gone])
        left.remove(gone)
    return left


def refitted(weight, g, kept):
    """Return the least-squares weights for only the kept inputs."""
    among = g[np.ix_(kept, kept)]
    return np.linalg.solve(among + 1e-8 * np.trace(among) / len(among) * np.eye(len(among)), (weight @ g[:, kept]).T).T


class Fit(NamedTuple):
    """A matrix refit to the kept inputs, and their second moments."""
    weight: np.ndarray
    moments: np.ndarray

    def distance(self, other):
        """Return the relative distance of the outputs. For nearly dependent inputs it is more robust than that of the weights."""
        def size(weight):
            return np.sqrt(np.trace(weight @ self.moments @ weight.T))
        return size(other - self.weight) / size(self.weight)


def keep_inputs(own, g, kept):
    fit = Fit(refitted(read(own), g, kept), g[np.ix_(kept, kept)])
    whole = np.zeros(own.weight.shape)
    whole[:, kept] = fit.weight
    write(own, whole)
    return fit


def width(model, moments, size):
    """Remove neurons. Return, per layer, the kept ones and their refit W_down."""
    out = []
    for layer in range(model.config.num_hidden_layers):
        own, g = projection(model, layer, "down"), moments[layer, "down"][:-1, :-1]
        kept = left_by_surgeon(read(own), g, size)
        out.append((kept, keep_inputs(own, g, kept)))
    return out


def heads(model, moments, size):
    """Remove heads, the same number per group. Return, per layer, the kept ones and their refit W_O."""
    count, groups, head_dim = heads_of(model)
    out = []
    for layer in range(model.config.num_hidden_layers):
        own, g = projection(model, layer, "o"), moments[layer, "o"][:-1, :-1]
        parts = [slice(head * head_dim, (head + 1) * head_dim) for head in range(count)]
        adds = np.array([np.trace(read(own)[:, part] @ g[part, part] @ read(own)[:, part].T) for part in parts])
        best = np.argsort(-adds.reshape(groups, -1), axis=1)[:, :size // groups] + np.arange(groups)[:, None] * (count // groups)
        kept = sorted(best.ravel().tolist())
        elements = [at for head in kept for at in range(head * head_dim, (head + 1) * head_dim)]
        out.append((kept, keep_inputs(own, g, elements)))
    return out


def narrow_values(model, moments, layer, merged, size):
    """Keep the `size` value directions of each `merged` heads that matter most to W_O."""
    count, groups, head_dim = heads_of(model)
    value, output = projection(model, layer, "v"), read(projection(model, layer, "o"))
    of_group = count // groups * head_dim
    parts, roots = with_bias(value).reshape(groups, head_dim, -1), []
    for group in range(groups):
        readers = output[:, group * of_group:(group + 1) * of_group].reshape(len(output), -1, head_dim)
        values, vectors = np.linalg.eigh(np.einsum("rha,rhb->ab", readers, readers))
        roots.append((vectors * np.sqrt(values)) @ vectors.T)
    low = np.empty_like(parts)
    for first in range(0, groups, merged):
        own = range(first, first + merged)
        weighted = np.concatenate([roots[group] @ parts[group] for group in own])
        basis = np.linalg.eigh(weighted @ moments[layer, "v"] @ weighted.T)[1][:, -size:]
        for group, kept in zip(own, np.split(basis @ basis.T @ weighted, merged)):
            low[group] = np.linalg.solve(roots[group], kept)
    write_with_bias(value, low.reshape(groups * head_dim, -1))


def rotary_pairs(own, head_dim):
    """Return rows as complex numbers, one per rotary pair: (heads, pairs, inputs and the bias)."""
    rows = with_bias(own).reshape(-1, 2, head_dim // 2, own.weight.shape[1] + 1)
    return rows[:, 0] + 1j * rows[:, 1]


def write_pairs(own, pairs):
    rows = np.stack([pairs.real, pairs.imag], axis=1)
    write_with_bias(own, rows.reshape(len(own.weight), -1))


def energies(pairs, g):
    """Return E|q|² of each head and pair."""
    return np.einsum("hpi,ij,hpj->hp", pairs, g, pairs.conj()).real


def head_width(model, moments, size):
    """Remove rotary pairs, the same ones in all layers. Return the kept pairs."""
    count, groups, head_dim = heads_of(model)
    layers, total = range(model.config.num_hidden_layers), np.zeros(head_dim // 2)
    for layer in layers:
        query, key = (energies(rotary_pairs(projection(model, layer, matrix), head_dim), moments[layer, "q"]) for matrix in "qk")
        total += (query * np.repeat(key, count // groups, axis=0)).sum(0)
    kept = sorted(np.argsort(-total)[:size // 2].tolist())
    for layer in layers:
        for matrix in "qk":
            own = projection(model, layer, matrix)
            pairs = rotary_pairs(own, head_dim)
            pairs[:, [pair for pair in range(head_dim // 2) if pair not in kept]] = 0
            write_pairs(own, pairs)
        narrow_values(model, moments, layer, 1, size)
    return [(kept, None)]


def kv_heads(model, moments, size):
    """Merge key/value heads. Nothing is selected."""
    count, groups, head_dim = heads_of(model)
    merged = groups // size
    for layer in range(model.config.num_hidden_layers):
        own, g = projection(model, layer, "k"), moments[layer, "q"]
        query, key = rotary_pairs(projection(model, layer, "q"), head_dim), rotary_pairs(own, head_dim)
        weights = np.sqrt(energies(query, g).reshape(groups, count // groups, -1).sum(1))
        low = np.empty_like(key)
        for first in range(0, groups, merged):
            together = slice(first, first + merged)
            for pair in range(head_dim // 2):
                weighted = weights[together, pair, None] * key[together, pair]
                leading = np.linalg.eigh(weighted @ g @ weighted.conj().T)[1][:, -1:]
                low[together, pair] = leading @ (leading.conj().T @ weighted) / weights[together, pair, None]
        write_pairs(own, low)
        narrow_values(model, moments, layer, merged, head_dim)
    return [(None, None)]
