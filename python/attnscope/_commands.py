"""Every command, as a function and as a method of models.

Written by tools/make_python_sources.py; change the descriptions of commands instead.
"""

from collections.abc import Iterable, Sequence
from concurrent.futures import Executor
from typing import TYPE_CHECKING, Any, Literal, Union

from attnscope._arrays import names_models, spectrum_of
from attnscope._live import attention_of, gives_maps, refuse_live
from attnscope._page import Page
from attnscope._run import run, run_page
from attnscope._table import Table
from attnscope._values import (
    Bins,
    Head,
    Ids,
    Layers,
    Names,
    Path,
    Positions,
    Range,
    Ranks,
    Shares,
    Size,
)

if TYPE_CHECKING:
    from attnscope._model import Model

AnyModel = Union[Path, "Model"]
Models = Union[AnyModel, Sequence[AnyModel]]


def info(
    models: Models | None = None,
    *,
    layout: Path | None = None,
    stack: Literal["encoder", "decoder", "cross", "text", "vision"] | None = None,
    remote: bool = False,
    system: bool = False,
    suggest_layout: Path | None = None,
) -> Table:
    """Facts of models, and every tensor with its role.

    - models: folders with config.json and weights, weights files beside their config.json, or names
      on the Hugging Face hub: ORG/NAME, ORG/NAME@REVISION, ORG/NAME@step*
    - layout: a JSON file that describes the checkpoint, in place of config.json
    - stack: of models of several stacks, this one; MODEL:STACK says the same: encoder, decoder,
      cross, text or vision
    - remote: of models on the hub, read only what is needed, and keep nothing
    - system: this machine, its kernels and libraries; no model
    - suggest_layout: write a layout file for a model of an unknown architecture

    Rows: one tensor of a file, and what it is to the model.
    - model: the model, by its name in models
    - stack: which stack of the model: encoder, decoder, cross (the decoder's attention to what the
      encoder gives), text or vision; absent where it has one
    - name: the tensor's name
    - dtype: its type, or how a quantised weight is stored
    - shape: its dimensions, as they are in the file
    - bytes: its size in the file
    - role: what it is to the model: q, q+k+v, q.bias, expert.up, norm, embedding, …
    - layer: its layer, from 0; null where it belongs to none or to several
    - tied_to: the tensor that it is the same as
    - expert: its expert, from 0; absent where it is not one expert's

    Rows, with system: one fact of this machine.
    - item: what it is about: attnscope, cpu, cores, memory, kernels, blas, …
    - value: what this machine has or does
    """
    return run("info", locals())


def spectrum(
    models: Models | Any,
    *,
    layout: Path | None = None,
    stack: Literal["encoder", "decoder", "cross", "text", "vision"] | None = None,
    remote: bool = False,
    matrix: Names | None = None,
    per_head: bool = False,
    experts: str | None = None,
    energy: Shares | None = None,
    rank: Ranks | None = None,
    values: bool = False,
    mla: bool = False,
    activations: Path | None = None,
    tensor: str | None = None,
    text: str | None = None,
    text_file: Path | None = None,
    tokens: Ids | None = None,
    no_special_tokens: bool = False,
    token_file: Path | None = None,
    sequences: int | None = None,
    length: int | None = None,
    sample: int | None = None,
    consecutive: bool = False,
    layers: Layers | None = None,
    threads: int | None = None,
    memory: Size | None = None,
    store: Path | None = None,
    progress: bool | None = None,
    executor: Executor | None = None,
) -> Table:
    """Singular values and ranks of every projection, layer and head.

    - models: folders with config.json and weights, weights files beside their config.json, or names
      on the Hugging Face hub: ORG/NAME, ORG/NAME@REVISION, ORG/NAME@step*
    - layout: a JSON file that describes the checkpoint, in place of config.json
    - stack: of models of several stacks, this one; MODEL:STACK says the same: encoder, decoder,
      cross, text or vision
    - remote: of models on the hub, read only what is needed, and keep nothing
    - matrix: of q,k,v,o,gate,up,down,router,shared_gate,shared_up,shared_down,q_a,q_b,kv_a,kv_b,att
      ention_gate,qk,ov,kv,qk_content,qk_rotary,qk_latent,ov_latent (default: the projections that
      are there)
    - per_head: a row for each head too
    - experts: of layers with experts, a row for each of these, such as 0-7,12, or all (default: a
      sample of 8)
    - energy: thresholds of the energy ranks (default: 0.9,0.99)
    - rank: also the share of energy kept at these ranks: 512, or 0.1D for a share of the width
    - values: in csv and json: the singular values and their cumulative energy
    - mla: instead: what latent attention with DeepSeek-V2's ranks (q 1536, kv 512) would keep
    - activations: instead: the ranks that matrices have on the text of this file
    - tensor: instead: any 2-D tensor by its name; needs no known architecture
    - text: of models with latents: a text, on which the mean of what a latent's norm divides by
      stands for it in all circuits
    - text_file: a file of text, in UTF-8
    - tokens: token ids, such as 464,3290, for models without a tokenizer
    - no_special_tokens: run a text without the tokens that its tokenizer puts around one
    - token_file: a shard of token ids (.bin: header, then uint16)
    - sequences: windows of a file (default: 100, or as many as there are; of random tokens 8)
    - length: tokens of each window (default: 100, at most the context)
    - sample: random windows drawn with this seed (default: 0 when the file has more windows than
      are measured, else all windows in order)
    - consecutive: windows one after the other from the start of the file, instead of random ones;
      standard errors are then too small
    - layers: layers, such as 0-3,-4-, where a negative number counts from the end (default: all)
    - threads: threads to work on; they never change a result (default: all cores)
    - memory: of matrices in work at once, such as 2G or 512M; it never changes a result (default: a
      half of what is free)
    - store: keep finished rows in this SQLite file, and compute none that it has
    - progress: whether a line tells how far the run is (default: on a terminal and in a notebook)
    - executor: computes elsewhere: any executor of concurrent.futures, whose workers open the
      models themselves; threads are then those of each worker (default: 1)

    Rows: ranks and norms of one matrix or head.
    - model: the model, by its name in models
    - stack: which stack of the model: encoder, decoder, cross (the decoder's attention to what the
      encoder gives), text or vision; absent where it has one
    - layer: the layer, from 0
    - matrix: the projection or product, by its name: q, gate, qk, …
    - head: the head, from 0 (of k, v and kv a key/value head); null: the whole matrix
    - expert: the expert whose matrix it is, from 0; absent from rows of other matrices
    - experts: of a row that sums up the experts of a layer: how many; its numbers are their
      medians, of two middle ones the lower
    - shape: rows and columns of the matrix in canonical orientation
    - energy_rank: the fewest singular values that hold that share of the sum of their squares
    - random_energy_rank: the energy rank that a Gaussian matrix of this shape is expected to need
    - energy_at_rank: the share of the sum of squares that so many largest singular values hold
    - random_energy_at_rank: the same share for a Gaussian matrix of this shape
    - stable_rank: the sum of squared singular values over the largest square
    - effective_rank: e to the entropy of the singular values as shares of their sum
    - participation_ratio: the squared sum of the squares over the sum of their squares: how many
      singular values share the energy
    - numerical_rank: number of singular values above eps * max(rows, columns) times the largest, as
      numpy.linalg.matrix_rank counts them; eps is that of float64 for float64 input, else that of
      float32
    - max_possible_rank: the largest rank that a matrix of this shape, or such a product, can have
    - spectral_norm: the largest singular value
    - frobenius_norm: the square root of the sum of squared entries
    - nuclear_norm: the sum of the singular values
    - condition_number: largest singular value over the smallest; null if the smallest is below 1e-6
      of the largest (float64 input: if numerical_rank does not count it)
    - singular_values: All singular values, descending. Each is accurate to 1e-6 of the largest; for
      float64 input to a small multiple of 2^-52 of the largest.
    - cumulative_energy: the share of the sum of squares in the first, the first two, … singular
      values
    - random_singular_values: singular values that a random matrix of the same shape and norm would
      have
    - least_energy_rank: the smallest energy rank of the experts that a row sums up
    - lower_quartile_energy_rank: the energy rank that a quarter of them lies below
    - upper_quartile_energy_rank: the energy rank that a quarter of them lies above
    - most_energy_rank: the largest energy rank of the experts that a row sums up
    - latent_rms: of a matrix that is made of latents: what their norms are taken to divide by

    Rows, with tensor: the same of one tensor, by its name in the file.
    - matrix: the tensor's name; its layer and head are null

    Rows, with mla: what latent attention would keep of one layer.
    - query: of W_Q; null where it was skipped
    - kv: of W_K over W_V; null where it was skipped

    Rows, with activations: the ranks of one matrix on a text.
    - energy_rank: the fewest singular values of the matrix that hold that share of the sum of their
      squares
    - activation_energy_rank: the fewest directions that hold that share of the mean square of what
      the matrix gives on the text
    - input_energy_rank: the same of what it reads
    - input_top_share: the share of the mean square of what it reads that lies in one direction;
      null where all is zero
    """
    if not names_models(models):
        return spectrum_of(models, locals())
    return run("spectrum", locals())


def weights(
    models: Models,
    *,
    layout: Path | None = None,
    stack: Literal["encoder", "decoder", "cross", "text", "vision"] | None = None,
    remote: bool = False,
    matrix: Names | None = None,
    per_head: bool = False,
    experts: str | None = None,
    histogram: bool = False,
    bins: Bins | None = None,
    range: Range | None = None,
    layers: Layers | None = None,
    threads: int | None = None,
    memory: Size | None = None,
    store: Path | None = None,
    progress: bool | None = None,
    executor: Executor | None = None,
) -> Table:
    """Moments, quantiles and histograms of every projection, layer and head.

    - models: folders with config.json and weights, weights files beside their config.json, or names
      on the Hugging Face hub: ORG/NAME, ORG/NAME@REVISION, ORG/NAME@step*
    - layout: a JSON file that describes the checkpoint, in place of config.json
    - stack: of models of several stacks, this one; MODEL:STACK says the same: encoder, decoder,
      cross, text or vision
    - remote: of models on the hub, read only what is needed, and keep nothing
    - matrix: of
      q,k,v,o,gate,up,down,router,shared_gate,shared_up,shared_down,q_a,q_b,kv_a,kv_b,attention_gate
      (default: those that are there)
    - per_head: a row for each head too
    - experts: of layers with experts, a row for each of these, such as 0-7,12, or all (default: a
      sample of 8)
    - histogram: add histograms: edges, counts, density, and how many fell outside
    - bins: a number of equal bins, or fd for the Freedman-Diaconis rule (default: 80)
    - range: what the bins span (default: -0.8,0.8; with fd from smallest to largest)
    - layers: layers, such as 0-3,-4-, where a negative number counts from the end (default: all)
    - threads: threads to work on; they never change a result (default: all cores)
    - memory: of matrices in work at once, such as 2G or 512M; it never changes a result (default: a
      half of what is free)
    - store: keep finished rows in this SQLite file, and compute none that it has
    - progress: whether a line tells how far the run is (default: on a terminal and in a notebook)
    - executor: computes elsewhere: any executor of concurrent.futures, whose workers open the
      models themselves; threads are then those of each worker (default: 1)

    Rows: how the values of one matrix or head are distributed.
    - model: the model, by its name in models
    - stack: which stack of the model: encoder, decoder, cross (the decoder's attention to what the
      encoder gives), text or vision; absent where it has one
    - layer: the layer, from 0
    - matrix: the projection or product, by its name: q, gate, qk, …
    - head: the head, from 0 (of k, v and kv a key/value head); null: the whole matrix
    - expert: the expert whose matrix it is, from 0; absent from rows of other matrices
    - experts: of a row that sums up the experts of a layer: how many; its numbers are their
      medians, of two middle ones the lower
    - count: how many values the matrix has
    - mean: the mean of the values
    - std: their standard deviation, of the population
    - min: the smallest value
    - max: the largest value
    - skewness: their third standardised moment; null where all values are equal
    - excess_kurtosis: their fourth standardised moment less 3, which is 0 for a Gaussian; null
      where all values are equal
    - quantiles: the values below which that fraction of all values lies
    - histogram: how many values lie in each bin
    """
    return run("weights", locals())


def similarity(
    models: Models,
    *,
    layout: Path | None = None,
    stack: Literal["encoder", "decoder", "cross", "text", "vision"] | None = None,
    remote: bool = False,
    matrix: Names | None = None,
    experts: str | None = None,
    overlap: bool = False,
    head_matrix: Head | None = None,
    histogram: bool = False,
    bins: Bins | None = None,
    range: Range | None = None,
    layers: Layers | None = None,
    threads: int | None = None,
    memory: Size | None = None,
    store: Path | None = None,
    progress: bool | None = None,
    executor: Executor | None = None,
) -> Table:
    """Cosines between the weight vectors of heads, and duplicate heads.

    - models: folders with config.json and weights, weights files beside their config.json, or names
      on the Hugging Face hub: ORG/NAME, ORG/NAME@REVISION, ORG/NAME@step*
    - layout: a JSON file that describes the checkpoint, in place of config.json
    - stack: of models of several stacks, this one; MODEL:STACK says the same: encoder, decoder,
      cross, text or vision
    - remote: of models on the hub, read only what is needed, and keep nothing
    - matrix: of q,k,v,gate,up,down,router,shared_gate,shared_up,shared_down (default: q,k,v)
    - experts: of layers with experts, a row for each of these, such as 0-7,12, or all (default: a
      sample of 8)
    - overlap: instead: how far the row spaces of heads overlap, a heads x heads matrix a layer
    - head_matrix: instead: all cosines of one head's rows, by layer and head (of k and v: a
      key/value head)
    - histogram: add histograms: edges, counts, density, and how many fell outside
    - bins: a number of equal bins, or fd for the Freedman-Diaconis rule (default: 100)
    - range: what the bins span (default: -0.4,0.4; with fd from smallest to largest)
    - layers: layers, such as 0-3,-4-, where a negative number counts from the end (default: all)
    - threads: threads to work on; they never change a result (default: all cores)
    - memory: of matrices in work at once, such as 2G or 512M; it never changes a result (default: a
      half of what is free)
    - store: keep finished rows in this SQLite file, and compute none that it has
    - progress: whether a line tells how far the run is (default: on a terminal and in a notebook)
    - executor: computes elsewhere: any executor of concurrent.futures, whose workers open the
      models themselves; threads are then those of each worker (default: 1)

    Rows: cosines between the weight vectors of one projection.
    - model: the model, by its name in models
    - stack: which stack of the model: encoder, decoder, cross (the decoder's attention to what the
      encoder gives), text or vision; absent where it has one
    - layer: the layer, from 0
    - matrix: the projection or product, by its name: q, gate, qk, …
    - expert: the expert whose matrix it is, from 0; absent from rows of other matrices
    - experts: of a row that sums up the experts of a layer: how many; its numbers are their
      medians, of two middle ones the lower
    - scope: which pairs: of rows of one head, of two heads, or of all rows
    - pairs: how many pairs of vectors there are
    - zero_vectors: how many vectors have no direction, and are left out of the pairs
    - mean: the mean of the pairs' cosines; null where there are none
    - std: their standard deviation, of the population; null likewise
    - histogram: how many values lie in each bin

    Rows, with overlap: how far the heads of one projection read or write the same space.
    - overlap: for each two heads the mean squared cosine between the spaces of their rows; null
      beside a zero head
    - ranks: the dimension of each head's space

    Rows, with head_matrix: cosines of one weight vector of a head with all of that head.
    - head: the head, from 0 (of k, v and kv a key/value head); null: the whole matrix
    - row: the row of the matrix, from 0
    - values: the entries of that row; null: not finite
    """
    return run("similarity", locals())


def experts(
    models: Models,
    *,
    layout: Path | None = None,
    stack: Literal["encoder", "decoder", "cross", "text", "vision"] | None = None,
    remote: bool = False,
    text: str | None = None,
    text_file: Path | None = None,
    tokens: Ids | None = None,
    no_special_tokens: bool = False,
    token_file: Path | None = None,
    sequences: int | None = None,
    length: int | None = None,
    sample: int | None = None,
    consecutive: bool = False,
    lines: bool = False,
    score_positions: Positions | None = None,
    experts: str | None = None,
    energy: Shares | None = None,
    layers: Layers | None = None,
    threads: int | None = None,
    memory: Size | None = None,
    store: Path | None = None,
    progress: bool | None = None,
    executor: Executor | None = None,
) -> Table:
    """What experts share; on a text, where routers send its tokens.

    - models: folders with config.json and weights, weights files beside their config.json, or names
      on the Hugging Face hub: ORG/NAME, ORG/NAME@REVISION, ORG/NAME@step*
    - layout: a JSON file that describes the checkpoint, in place of config.json
    - stack: of models of several stacks, this one; MODEL:STACK says the same: encoder, decoder,
      cross, text or vision
    - remote: of models on the hub, read only what is needed, and keep nothing
    - text: a text
    - text_file: a file of text, in UTF-8
    - tokens: token ids, such as 464,3290, for models without a tokenizer
    - no_special_tokens: run a text without the tokens that its tokenizer puts around one
    - token_file: a shard of token ids (.bin: header, then uint16)
    - sequences: windows of a file (default: 100, or as many as there are; of random tokens 8)
    - length: tokens of each window (default: 100, at most the context)
    - sample: random windows drawn with this seed (default: 0 when the file has more windows than
      are measured, else all windows in order)
    - consecutive: windows one after the other from the start of the file, instead of random ones;
      standard errors are then too small
    - lines: each line of the text is an example of its own; no window crosses lines
    - score_positions: positions of the tokens whose prediction counts in losses and means, from 0
      in each example: last, 10-, 3,7 or 5-9; or the file of a mask: text of 0 and 1, one line per
      example, or .npy of bool (default: all)
    - experts: of layers with experts, a row for each of these, such as 0-7,12, or all (default: a
      sample of 8)
    - energy: thresholds of the energy ranks (default: 0.9,0.99)
    - layers: layers, such as 0-3,-4-, where a negative number counts from the end (default: all)
    - threads: threads to work on; they never change a result (default: all cores)
    - memory: of matrices in work at once, such as 2G or 512M; it never changes a result (default: a
      half of what is free)
    - store: keep finished rows in this SQLite file, and compute none that it has
    - progress: whether a line tells how far the run is (default: on a terminal and in a notebook)
    - executor: computes elsewhere: any executor of concurrent.futures, whose workers open the
      models themselves; threads are then those of each worker (default: 1)

    Rows: what the experts of a layer have in common, or the rows of its router.
    - model: the model, by its name in models
    - stack: which stack of the model: encoder, decoder, cross (the decoder's attention to what the
      encoder gives), text or vision; absent where it has one
    - layer: the layer, from 0
    - matrix: the projection or product, by its name: q, gate, qk, …
    - experts: how many experts were compared
    - shape: rows and columns of all of them stacked
    - energy_rank: the energy rank of all of them stacked
    - random_energy_rank: that of a Gaussian matrix of this shape
    - single_energy_rank: the median energy rank of one of them; null: of a router
    - mean_similarity: the mean over pairs: of experts the cosine of what they do to the stream's
      second moments, of a router's rows their cosine
    - least_similarity: that of the least similar pair
    - most_similarity: that of the most similar pair
    - random_similarity: that of independent Gaussian matrices

    Rows, with source: where the router of a layer sends the tokens of a text.
    - experts: how many experts there are to choose from
    - chosen: how many experts each token passes
    - tokens: how many tokens were routed
    - ties: for how many of them an expert that was not chosen had as large a score as one that was:
      of equal ones the lower is taken
    - load: the share of all choices that fell on each expert
    - effective_experts: e to the entropy of the load
    - largest_load: the load of the expert that was chosen most
    - router_entropy: the mean over tokens of the entropy of the softmax of all logits
    - mean_weights: the mean weight of the best expert of a token, of the second, …
    - top_pair: the two experts that most tokens chose both; null where each token chooses one
    - top_pair_lift: how many times as many tokens chose both as if independently
    - together: for each two experts the share of tokens that chose both; of an expert with itself,
      that chose it
    """
    return run("experts", locals())


def diff(
    models: Models,
    *,
    layout: Path | None = None,
    stack: Literal["encoder", "decoder", "cross", "text", "vision"] | None = None,
    remote: bool = False,
    matrix: Names | None = None,
    layers: Layers | None = None,
    per_head: bool = False,
    energy: Shares | None = None,
    lora: Path | None = None,
    rank: int | None = None,
    lora_energy: Shares | None = None,
    threads: int | None = None,
    memory: Size | None = None,
    progress: bool | None = None,
) -> Table:
    """What a fine-tune changed in each matrix, and that as a LoRA adapter.

    - models: folders with config.json and weights, weights files beside their config.json, or names
      on the Hugging Face hub: ORG/NAME, ORG/NAME@REVISION, ORG/NAME@step*
    - layout: a JSON file that describes the checkpoint, in place of config.json
    - stack: of models of several stacks, this one; MODEL:STACK says the same: encoder, decoder,
      cross, text or vision
    - remote: of models on the hub, read only what is needed, and keep nothing
    - matrix: of q,k,v,o,gate,up,down,router,shared_gate,shared_up,shared_down,q_a,q_b,kv_a,kv_b,att
      ention_gate,qk,ov,kv,qk_content,qk_rotary,qk_latent,ov_latent (default: the projections that
      are there)
    - layers: layers and ranges of them, such as 0-3,-4- (default: all)
    - per_head: a row for each head too
    - energy: thresholds of the energy ranks (default: 0.9,0.99)
    - lora: write the difference as a LoRA adapter of PEFT into this new folder
    - rank: the rank of each of its matrices
    - lora_energy: or the share of its squared sum that each keeps (default: 0.9)
    - threads: threads to work on; they never change a result (default: all cores)
    - memory: of matrices in work at once, such as 2G or 512M; it never changes a result (default: a
      half of what is free)
    - progress: whether a line tells how far the run is (default: on a terminal and in a notebook)

    Rows: what changed in one matrix or head between a base and a fine-tuned model.
    - model: the model, by its name in models
    - stack: which stack of the model: encoder, decoder, cross (the decoder's attention to what the
      encoder gives), text or vision; absent where it has one
    - layer: the layer, from 0
    - matrix: the projection or product, by its name: q, gate, qk, …
    - head: the head, from 0 (of k, v and kv a key/value head); null: the whole matrix
    - shape: rows and columns of the matrix in canonical orientation
    - relative_change: the Frobenius norm of the change over that of the base's matrix; null where
      that is zero
    - change_norm: the Frobenius norm of the change
    - weight_norm: the Frobenius norm of the base's matrix
    - energy_rank: the fewest singular values that hold that share of the change's squared sum
    - random_energy_rank: the energy rank that a Gaussian matrix of this shape is expected to need
    - weight_energy_rank: the energy rank of the base's matrix
    - max_possible_rank: the largest rank that a matrix of this shape, or such a product, can have
    - output_space: how the outputs that the change reaches lie in those that the base's matrix
      reaches, both at the first threshold; null for heads, and where nothing changed
    - input_space: the same of the inputs that they read
    """
    return run("diff", locals())


def matrix(
    models: Models,
    *,
    layer: int,
    matrix: Literal["q", "k", "v", "o", "gate", "up", "down", "router", "shared_gate", "shared_up", "shared_down", "q_a", "q_b", "kv_a", "kv_b", "attention_gate", "qk", "ov", "kv", "qk_content", "qk_rotary", "qk_latent", "ov_latent"],
    head: int | None = None,
    expert: int | None = None,
    layout: Path | None = None,
    stack: Literal["encoder", "decoder", "cross", "text", "vision"] | None = None,
    remote: bool = False,
) -> Table:
    """One matrix in canonical orientation, as the analyses see it.

    - models: folders with config.json and weights, weights files beside their config.json, or names
      on the Hugging Face hub: ORG/NAME, ORG/NAME@REVISION, ORG/NAME@step*
    - layer: the layer (negative counts from the end)
    - matrix: one of q,k,v,o,gate,up,down,router,shared_gate,shared_up,shared_down,q_a,q_b,kv_a,kv_b
      ,attention_gate,qk,ov,kv,qk_content,qk_rotary,qk_latent,ov_latent
    - head: one head of it: a query head, for k, v and kv a key/value head
    - expert: of layers with experts: whose gate, up or down
    - layout: a JSON file that describes the checkpoint, in place of config.json
    - stack: of models of several stacks, this one; MODEL:STACK says the same: encoder, decoder,
      cross, text or vision
    - remote: of models on the hub, read only what is needed, and keep nothing

    Rows: one row of a matrix in canonical orientation.
    - model: the model, by its name in models
    - stack: which stack of the model: encoder, decoder, cross (the decoder's attention to what the
      encoder gives), text or vision; absent where it has one
    - layer: the layer, from 0
    - matrix: the projection or product, by its name: q, gate, qk, …
    - head: the head, from 0 (of k, v and kv a key/value head); null: the whole matrix
    - expert: the expert whose matrix it is, from 0; absent from rows of other matrices
    - row: the row of the matrix, from 0
    - values: the entries of that row; null: not finite
    """
    return run("matrix", locals())


def circuits(
    models: Models,
    *,
    layout: Path | None = None,
    stack: Literal["encoder", "decoder", "cross", "text", "vision"] | None = None,
    remote: bool = False,
    circuit: Names | None = None,
    energy: Shares | None = None,
    fold_norm: Literal["gain", "centred"] | bool | None = None,
    with_bias: bool = False,
    rope_offset: int | None = None,
    all_eigenvalues: bool = False,
    composition: bool = False,
    text: str | None = None,
    text_file: Path | None = None,
    tokens: Ids | None = None,
    no_special_tokens: bool = False,
    token_file: Path | None = None,
    sequences: int | None = None,
    length: int | None = None,
    sample: int | None = None,
    consecutive: bool = False,
    layers: Layers | None = None,
    threads: int | None = None,
    memory: Size | None = None,
    store: Path | None = None,
    progress: bool | None = None,
    executor: Executor | None = None,
) -> Table:
    """What the circuits QK and OV of layers and heads are like, by their weights.

    - models: folders with config.json and weights, weights files beside their config.json, or names
      on the Hugging Face hub: ORG/NAME, ORG/NAME@REVISION, ORG/NAME@step*
    - layout: a JSON file that describes the checkpoint, in place of config.json
    - stack: of models of several stacks, this one; MODEL:STACK says the same: encoder, decoder,
      cross, text or vision
    - remote: of models on the hub, read only what is needed, and keep nothing
    - circuit: of qk,ov (default: both)
    - energy: thresholds of the energy ranks (default: 0.9,0.99)
    - fold_norm: multiply Q, K and V by the gain of the norm that feeds them; centred also takes out
      the means that LayerNorms take out, as TransformerLens does: gain or centred
    - with_bias: take biases of Q, K and V as one more input coordinate
    - rope_offset: of rotary models: the circuit qk at this key position minus query position
      (default: 0)
    - all_eigenvalues: copying scores of sums over heads of order above 1024 too; may take minutes
    - composition: instead: how much every head's weights align with what each head of earlier
      layers writes
    - text: of models with latents: a text, on which the mean of what a latent's norm divides by
      stands for it in all circuits
    - text_file: a file of text, in UTF-8
    - tokens: token ids, such as 464,3290, for models without a tokenizer
    - no_special_tokens: run a text without the tokens that its tokenizer puts around one
    - token_file: a shard of token ids (.bin: header, then uint16)
    - sequences: windows of a file (default: 100, or as many as there are; of random tokens 8)
    - length: tokens of each window (default: 100, at most the context)
    - sample: random windows drawn with this seed (default: 0 when the file has more windows than
      are measured, else all windows in order)
    - consecutive: windows one after the other from the start of the file, instead of random ones;
      standard errors are then too small
    - layers: layers, such as 0-3,-4-, where a negative number counts from the end (default: all)
    - threads: threads to work on; they never change a result (default: all cores)
    - memory: of matrices in work at once, such as 2G or 512M; it never changes a result (default: a
      half of what is free)
    - store: keep finished rows in this SQLite file, and compute none that it has
    - progress: whether a line tells how far the run is (default: on a terminal and in a notebook)
    - executor: computes elsewhere: any executor of concurrent.futures, whose workers open the
      models themselves; threads are then those of each worker (default: 1)

    Rows: what one circuit of a layer or head is like, by its weights.
    - model: the model, by its name in models
    - stack: which stack of the model: encoder, decoder, cross (the decoder's attention to what the
      encoder gives), text or vision; absent where it has one
    - layer: the layer, from 0
    - circuit: qk: W_Q^T W_K, scores of pairs; ov: W_O W_V, what is written
    - head: the query head, from 0; null: the sum over heads
    - energy_rank: the fewest singular values of the circuit that hold that share of their squares'
      sum
    - factor_rank: energy ranks of the circuit's two factors: q and k of qk, o and v of ov
    - head_space_rank: energy rank of the product the other way round, in the heads' space; null
      where the circuit is not square
    - overlap: rank of K (of V) less the circuit's; may be negative
    - head_space_rank_drop: rank of Q (of O) less that in the heads' space, likewise
    - identity_cosine: cosine between the circuit and the identity, -1 to 1
    - identity_cosine_bound: what the magnitude of that cosine cannot exceed, by the circuit's
      possible rank
    - identity_distance: distance to the nearest multiple of the identity, over the circuit's norm
    - identity_scale: that multiple
    - identity_residual: distance to the identity itself, over that one's norm
    - symmetry: 1: symmetric, -1: antisymmetric
    - positive_fraction: positive share of the eigenvalues of the symmetric part, 0 to 1
    - copying_score: sum of the real parts of the eigenvalues over the sum of their magnitudes, -1
      to 1
    - frobenius_norm: the square root of the sum of squared entries
    - max_possible_rank: the largest rank that a matrix of this shape, or such a product, can have
    - latent_rms: of a matrix that is made of latents: what their norms are taken to divide by

    Rows, with composition: how much a later head's weights align with an earlier one's.
    - kind: the later head's side: its queries, keys or values
    - layer: the earlier head's layer, from 0
    - head: the earlier head, from 0
    - receiver_layer: the later head's layer, from 0
    - receiver_head: the later head, from 0
    - score: norm of the product of both circuits over both norms, 0 to 1
    - excess: the score less what random heads give
    """
    return run("circuits", locals())


def attention(
    models: Models | Any = None,
    inputs: Any = None,
    *,
    layout: Path | None = None,
    stack: Literal["encoder", "decoder", "cross", "text", "vision"] | None = None,
    remote: bool = False,
    text: str | None = None,
    text_file: Path | None = None,
    tokens: Ids | None = None,
    no_special_tokens: bool = False,
    target: str | None = None,
    target_tokens: Ids | None = None,
    target_file: Path | None = None,
    token_file: Path | None = None,
    sequences: int | None = None,
    length: int | None = None,
    sample: int | None = None,
    consecutive: bool = False,
    lines: bool = False,
    score_positions: Positions | None = None,
    image: Path | Any | None = None,
    pixel_values: Path | Any | None = None,
    audio: Path | None = None,
    features: Path | Any | None = None,
    energy: Shares | None = None,
    exclude_first_token: bool = False,
    induction: bool = False,
    heatmap: Head | None = None,
    maps: Path | bool | Iterable[Any] | None = None,
    maps_of: Literal["first", "mean"] | None = None,
    log: bool = False,
    layers: Layers | None = None,
    threads: int | None = None,
    memory: Size | None = None,
    store: Path | None = None,
    mask: Any = None,
    sinks: bool | None = None,
    name: str | None = None,
    progress: bool | None = None,
    executor: Executor | None = None,
) -> Table:
    """What attention maps are like on text: their rank, columns, and where they look.

    - models: models, as for every command; or a live module of PyTorch that gives attention maps,
      of any architecture
    - inputs: of a live module: what it is called with, a dict or a tensor, or a list of these
    - layout: a JSON file that describes the checkpoint, in place of config.json
    - stack: of models of several stacks, this one; MODEL:STACK says the same: encoder, decoder,
      cross, text or vision
    - remote: of models on the hub, read only what is needed, and keep nothing
    - text: a text
    - text_file: a file of text, in UTF-8
    - tokens: token ids, such as 464,3290, for models without a tokenizer
    - no_special_tokens: run a text without the tokens that its tokenizer puts around one
    - target: of an encoder-decoder: the text of its decoder; the other text is its source
    - target_tokens: token ids of the decoder, from the token with which its texts begin on
    - target_file: a file of targets, line by line those of text_file
    - token_file: a shard of token ids (.bin: header, then uint16)
    - sequences: windows of a file (default: 100, or as many as there are; of random tokens 8)
    - length: tokens of each window (default: 100, at most the context)
    - sample: random windows drawn with this seed (default: 0 when the file has more windows than
      are measured, else all windows in order)
    - consecutive: windows one after the other from the start of the file, instead of random ones;
      standard errors are then too small
    - lines: each line of the text is an example of its own; no window crosses lines
    - score_positions: positions of the tokens whose prediction counts in losses and means, from 0
      in each example: last, 10-, 3,7 or 5-9; or the file of a mask: text of 0 and 1, one line per
      example, or .npy of bool (default: all)
    - image: a picture (PNG or JPEG), of models that read images; or one of Pillow
    - pixel_values: pixels as a model reads them (.npy: channels, rows, columns), or of several
      images; or an array
    - audio: a sound (WAV, one channel, 16 kHz), of models that read sound
    - features: sound as a model reads it (.npy: samples, or features and frames), or several; or an
      array
    - energy: thresholds of the energy ranks (default: 0.9)
    - exclude_first_token: leave key 0 out of ranks and columns: an attention sink hides the rest
    - induction: instead: induction and duplicate-token heads, on random tokens repeated twice
    - heatmap: instead: the map of one head on the first sequence, drawn in a table
    - maps: keep maps in this .safetensors file too; or without models: pairs of a layer, by number
      or name, and its maps (..., H, T, S)
    - maps_of: the first sequence, or the mean over all: first or mean (default: first)
    - log: draw it on a logarithmic scale
    - layers: layers, such as 0-3,-4-, where a negative number counts from the end (default: all)
    - threads: threads to work on; they never change a result (default: all cores)
    - memory: of matrices in work at once, such as 2G or 512M; it never changes a result (default: a
      half of what is free)
    - store: keep finished rows in this SQLite file, and compute none that it has
    - mask: of such maps: (N, T), not zero at tokens; a pair of masks, of queries and of keys, for
      maps across two texts
    - sinks: of a live module or maps: whether a query may leave some of its weight to no key
      (default: where a module has learned sinks)
    - name: of a live module or maps: what rows call the model
    - progress: whether a line tells how far the run is (default: on a terminal and in a notebook)
    - executor: computes elsewhere: any executor of concurrent.futures, whose workers open the
      models themselves; threads are then those of each worker (default: 1)

    Rows: what the attention maps of one head, or of a layer, are like on text or images.
    - model: the model, by its name in models
    - stack: which stack of the model: encoder, decoder, cross (the decoder's attention to what the
      encoder gives), text or vision; absent where it has one
    - layer: the layer, from 0
    - head: the query head, from 0; null: the layer as a whole
    - sequences: how many sequences the means are over
    - energy_rank: of a head: singular values of its map that hold `energy` of the sum of their
      squares
    - energy_rank_error: the standard error of the mean before it; null of one sequence
    - columns: of a head: fewest columns (keys) that hold `energy` of all squared weights
    - energy_columns_error: the standard error of the mean before it; null of one sequence
    - top_columns: of a head: the columns that were among those most often, from 0
    - first_column_share: of a head: share of all squared weights in the column that has most of
      them
    - first_column_share_error: the standard error of the mean before it; null of one sequence
    - entropy: of a head: entropy of a query's weights, mean over queries
    - entropy_error: the standard error of the mean before it; null of one sequence
    - sink_mass: of a head: mean weight on key 0
    - sink_mass_error: the standard error of the mean before it; null of one sequence
    - uniform_sink_mass: of a head: that of even attention
    - previous_token: of a head: mean weight on the key before the query; null of texts of one token
    - previous_token_error: the standard error of the mean before it; null of one sequence
    - uniform_previous_token: of a head: that of even attention; null of texts of one token
    - diagonal: of a head: mean weight on the query's own key
    - current_token_error: the standard error of the mean before it; null of one sequence
    - mean_distance: of a head: mean distance from query to key, by weight
    - mean_distance_error: the standard error of the mean before it; null of one sequence
    - learned_sink_mass: of a head: weight that a query gives to no key, mean over queries; 0 without
      learned sinks
    - learned_sink_mass_error: the standard error of the mean before it; null of one sequence
    - patch_distance: of a head, on images: mean distance from a patch to the patches that it looks
      at, by weight
    - patch_distance_error: the standard error of the mean before it; null of one sequence
    - uniform_patch_distance: of a head, on images: that of even attention
    - diagonality: of a head of cross attention: how near its weights are to the line from the first
      token of both texts to the last; null of a source of one token
    - diagonality_error: the standard error of the mean before it; null of one sequence
    - uniform_diagonality: of a head of cross attention: that of even attention; null of a source of
      one token
    - monotonicity: of a head of cross attention: share of pairs of target tokens that look at the
      source in their own order; null of one token
    - monotonicity_error: the standard error of the mean before it; null of one sequence
    - uniform_monotonicity: of a head of cross attention: that of even attention, 0.5
    - raises: of a head: what it adds directly to the logits of the tokens that it reads, against
      the text's mean token, mean over queries; null where logits are no sum of what heads write, or
      the run ends before the last layer
    - attended_token_effect_error: the standard error of the mean before it; null of one sequence
    - output_ratio: Of a head: norm of its output over the norm of the residual stream that enters
      the layer, mean over tokens. Null for given maps.
    - output_ratio_error: the standard error of the mean before it; null of one sequence
    - max_rank: of a layer: the largest of its heads' mean energy ranks
    - mean_max_rank: of a layer: the largest energy rank among its heads, mean over sequences
    - mean_max_rank_error: the standard error of the layer's mean before it; null of one sequence
    - mean_energy_columns: of a layer: columns, mean over heads and sequences
    - mean_energy_columns_error: the standard error of the layer's mean before it; null of one sequence
    - uniform_energy_columns: of a layer: columns of even attention
    - collapsed: of a layer: whether mean_max_rank and mean_energy_columns are below 2; null: not judged,
      at another energy than 0.9 or of fewer than 16 keys
    - max_activation: Of a layer: largest absolute activation of the residual stream after it. Null
      for cross-attention and given maps.
    - activation_ratio: Of a layer: that activation over the median absolute activation of its
      sequence. Null if the median is 0, for cross-attention and given maps.
    - activation_dimension: Of a layer: dimension of the residual stream with that activation, from
      0. Null for cross-attention and given maps.
    - activation_position: Of a layer: position with that activation, from 0. Null for cross-
      attention and given maps.
    - outlier_count: Of a layer: number of dimensions of its attention's input whose magnitude is at
      least 6 at 6% of the positions. Null for cross-attention and given maps.
    - outlier_dimensions: Of a layer: those dimensions, the most frequent first, at most 16. Null
      for cross-attention and given maps.

    Rows, with induction: how much a head looks at what followed a token before.
    - head: the query head, from 0
    - induction: mean weight from a repeated token to the one after its first occurrence
    - induction_error: the standard error of the mean before it; null of one sequence
    - uniform_induction: that of even attention
    - duplicate_token: mean weight from a repeated token to its first occurrence
    - duplicate_token_error: the standard error of the mean before it; null of one sequence
    - uniform_duplicate_token: that of even attention

    Rows, with heatmap: one row of the attention map of a head: where one query looks.
    - query: the place of the query in the sequence, from 0
    - token: the id of the token there; null of an image or sound
    - text: the token as people read it; null of a model without a tokenizer
    - weights: how much the query looks at each key, from 0: they sum to 1, but for what a learned
      sink takes; of cross attention, keys are the source's
    """
    if gives_maps(models, maps):
        return attention_of(locals())
    refuse_live(inputs=inputs, mask=mask, sinks=sinks, name=name)
    return run("attention", locals())


def predict(
    models: Models,
    *,
    layout: Path | None = None,
    stack: Literal["encoder", "decoder", "cross", "text", "vision"] | None = None,
    remote: bool = False,
    text: str | None = None,
    text_file: Path | None = None,
    tokens: Ids | None = None,
    no_special_tokens: bool = False,
    target: str | None = None,
    target_tokens: Ids | None = None,
    image: Path | Any | None = None,
    pixel_values: Path | Any | None = None,
    audio: Path | None = None,
    features: Path | Any | None = None,
    lines: bool = False,
    score_positions: Positions | None = None,
    top: int | None = None,
    generate: int | None = None,
    perplexity: bool = False,
    stride: int | None = None,
    attribution: bool = False,
    token: int | str | None = None,
    against: int | str | None = None,
    prompts: Path | None = None,
    target_file: Path | None = None,
    save: Path | bool | None = None,
    threads: int | None = None,
    memory: Size | None = None,
    progress: bool | None = None,
) -> Table:
    """What comes next in a text, what fills a mask, how well a text is foretold, what an image
    shows.

    - models: folders with config.json and weights, weights files beside their config.json, or names
      on the Hugging Face hub: ORG/NAME, ORG/NAME@REVISION, ORG/NAME@step*
    - layout: a JSON file that describes the checkpoint, in place of config.json
    - stack: of models of several stacks, this one; MODEL:STACK says the same: encoder, decoder,
      cross, text or vision
    - remote: of models on the hub, read only what is needed, and keep nothing
    - text: a text
    - text_file: a file of text, in UTF-8
    - tokens: token ids, such as 464,3290, for models without a tokenizer
    - no_special_tokens: run a text without the tokens that its tokenizer puts around one
    - target: of an encoder-decoder: the text of its decoder; the other text is its source
    - target_tokens: token ids of the decoder, from the token with which its texts begin on
    - image: a picture (PNG or JPEG), of models that read images; or one of Pillow
    - pixel_values: pixels as a model reads them (.npy: channels, rows, columns), or of several
      images; or an array
    - audio: a sound (WAV, one channel, 16 kHz), of models that read sound
    - features: sound as a model reads it (.npy: samples, or features and frames), or several; or an
      array
    - lines: each line of the text is an example of its own; no window crosses lines
    - score_positions: positions of the tokens whose prediction counts in losses and means, from 0
      in each example: last, 10-, 3,7 or 5-9; or the file of a mask: text of 0 and 1, one line per
      example, or .npy of bool (default: all)
    - top: how many of the likeliest tokens (default: 5)
    - generate: write up to N tokens after the text, always the likeliest
    - perplexity: instead: how well the model foretells the text, in windows of its context
    - stride: tokens from one window to the next; where windows overlap, only new ones count
      (default: the context)
    - attribution: instead: what each part adds to the logits of the tokens that follow
    - token: with attribution: to the logit of this token after the text; digits are an id
    - against: less that of this one, by its text or id
    - prompts: with attribution: to the right answer's logit less the wrong one's, of prompts in
      JSON lines
    - target_file: of perplexity: a file of targets, line by line those of text_file
    - save: write tokens, attentions, hidden states and logits to this .safetensors file
    - threads: threads to work on; they never change a result (default: all cores)
    - memory: of matrices in work at once, such as 2G or 512M; it never changes a result (default: a
      half of what is free)
    - progress: whether a line tells how far the run is (default: on a terminal and in a notebook)

    Rows: one of the tokens that a model takes for the likeliest at a place.
    - model: the model, by its name in models
    - stack: which stack of the model: encoder, decoder, cross (the decoder's attention to what the
      encoder gives), text or vision; absent where it has one
    - position: where the token would stand: after the prompt, or in place of a mask
    - rank: 1: the likeliest
    - token_id: the token's id
    - text: the token as readable text; null where no tokenizer knows it
    - logit: what the model's head gives for it
    - probability: softmax of the logits of all tokens

    Rows, with input: a label that a model takes for likely of an image, or a text that it compares
    with it.
    - label_id: the label's id; of texts their place, from 0
    - text: the label's name, or the text; null where the config names none
    - probability: softmax of the logits of all labels or texts; of a model with a bias of scores
      (SigLIP) of each text alone

    Rows, with perplexity: how well a model foretells one window of a text.
    - window: the window, from 0
    - example: the line that the window is of, from 0, among those that are run
    - first: the window's first token in its text or line, from 0
    - length: the window's tokens
    - predicted: its last tokens, which count: new ones that have one before them
    - mean_nll: negative log-likelihood of those, mean; null where there are none

    Rows, with attribution: what a part of a model adds directly to a logit.
    - layer: the part's layer, from 0; null: of none
    - head: the query head, from 0; null: of none
    - component: what adds it: the tokens' embedding, their positions, a head, the bias of an output
      projection, an MLP, the final norm's bias
    - direct: what it adds, mean over places; all parts sum to the logit
    - direct_effect_error: the standard error of that over prompts; null of one prompt
    - corrupted_direct_effect: what it adds after corrupted prompts; null where there are none
    - share: what it adds after clean prompts beyond that after corrupted ones, of what all parts
      do; null where there is no preference
    - share_error: the standard error of that over prompts; null of one prompt
    """
    return run("predict", locals())


def lens(
    models: Models,
    *,
    layout: Path | None = None,
    stack: Literal["encoder", "decoder", "cross", "text", "vision"] | None = None,
    remote: bool = False,
    text: str | None = None,
    text_file: Path | None = None,
    tokens: Ids | None = None,
    no_special_tokens: bool = False,
    target: str | None = None,
    target_tokens: Ids | None = None,
    target_file: Path | None = None,
    token_file: Path | None = None,
    sequences: int | None = None,
    length: int | None = None,
    sample: int | None = None,
    consecutive: bool = False,
    lines: bool = False,
    score_positions: Positions | None = None,
    states: Literal["layers", "layers,mid"] | None = None,
    grid: bool = False,
    top: int | None = None,
    prompts: Path | None = None,
    threads: int | None = None,
    memory: Size | None = None,
    store: Path | None = None,
    progress: bool | None = None,
    executor: Executor | None = None,
) -> Table:
    """What each layer would foretell if it were the last one.

    - models: folders with config.json and weights, weights files beside their config.json, or names
      on the Hugging Face hub: ORG/NAME, ORG/NAME@REVISION, ORG/NAME@step*
    - layout: a JSON file that describes the checkpoint, in place of config.json
    - stack: of models of several stacks, this one; MODEL:STACK says the same: encoder, decoder,
      cross, text or vision
    - remote: of models on the hub, read only what is needed, and keep nothing
    - text: a text
    - text_file: a file of text, in UTF-8
    - tokens: token ids, such as 464,3290, for models without a tokenizer
    - no_special_tokens: run a text without the tokens that its tokenizer puts around one
    - target: of an encoder-decoder: the text of its decoder; the other text is its source
    - target_tokens: token ids of the decoder, from the token with which its texts begin on
    - target_file: a file of targets, line by line those of text_file
    - token_file: a shard of token ids (.bin: header, then uint16)
    - sequences: windows of a file (default: 16, or as many as there are)
    - length: tokens of each window (default: 256, at most the context)
    - sample: random windows drawn with this seed (default: 0 when the file has more windows than
      are measured, else all windows in order)
    - consecutive: windows one after the other from the start of the file, instead of random ones;
      standard errors are then too small
    - lines: each line of the text is an example of its own; no window crosses lines
    - score_positions: positions of the tokens whose prediction counts in losses and means, from 0
      in each example: last, 10-, 3,7 or 5-9; or the file of a mask: text of 0 and 1, one line per
      example, or .npy of bool (default: all)
    - states: the stream before each layer, or after its attention too: layers or layers,mid
      (default: layers)
    - grid: of one text, what each state foretells at each token
    - top: with grid: how many of the likeliest tokens (default: 1)
    - prompts: instead: how much each state prefers the right answer, of prompts in JSON lines
    - threads: threads to work on; they never change a result (default: all cores)
    - memory: of matrices in work at once, such as 2G or 512M; it never changes a result (default: a
      half of what is free)
    - store: keep finished rows in this SQLite file, and compute none that it has
    - progress: whether a line tells how far the run is (default: on a terminal and in a notebook)
    - executor: computes elsewhere: any executor of concurrent.futures, whose workers open the
      models themselves; threads are then those of each worker (default: 1)

    Rows: what a state of the stream foretells over a text.
    - model: the model, by its name in models
    - stack: which stack of the model: encoder, decoder, cross (the decoder's attention to what the
      encoder gives), text or vision; absent where it has one
    - layer: the layer that the state enters, from 0; as many as there are layers: after the last
    - state: layer: what enters it; mid: after its attention
    - places: how many places entropy, kl and agreement are over
    - predicted: how many of them have a token that follows, or is masked
    - loss: −log of the probability of the text's token, mean
    - entropy: of what is foretold, mean over places
    - kl: KL(what the model foretells ‖ what the state does), mean
    - mean_reciprocal_rank: one over the rank of the text's token, mean; 1: always the likeliest
    - median_rank: the rank of the text's token, median
    - top1: share of places whose likeliest token is the text's
    - agreement: share of places whose likeliest token is the model's

    Rows, with grid: what a state of the stream foretells at one token of a text.
    - position: the place of the token in the text, from 0
    - token_id: the token there
    - text: it as readable text; null where no tokenizer knows it
    - top_token: the token that the state takes for the likeliest
    - top_text: it as readable text; null where no tokenizer knows it
    - probability: of the likeliest token
    - rank: of the model's own likeliest token; 1: the likeliest here too
    - entropy: of what is foretold there
    - kl: KL(what the model foretells ‖ what the state does)
    - top_tokens: the likeliest tokens, the first first

    Rows, with prompts: how much a state of the stream prefers the right answers.
    - logit_difference: logit(right) − logit(wrong) after clean prompts, mean
    - logit_difference_error: the standard error of the mean before it; null of one prompt
    - corrupted_logit_difference: the same after corrupted ones; null where there are none
    - share: the difference between clean and corrupted prompts, of that in the end; null where
      there is none
    - share_error: the standard error of that over prompts; null of one prompt
    - right: clean prompts whose right answer is preferred
    - prompts: how many prompts the means are over
    """
    return run("lens", locals())


def ablate(
    models: Models,
    *,
    layout: Path | None = None,
    stack: Literal["encoder", "decoder", "cross", "text", "vision"] | None = None,
    remote: bool = False,
    text: str | None = None,
    text_file: Path | None = None,
    tokens: Ids | None = None,
    no_special_tokens: bool = False,
    target: str | None = None,
    target_tokens: Ids | None = None,
    target_file: Path | None = None,
    token_file: Path | None = None,
    sequences: int | None = None,
    length: int | None = None,
    sample: int | None = None,
    consecutive: bool = False,
    lines: bool = False,
    score_positions: Positions | None = None,
    parts: Literal["all", "heads", "attention", "mlp", "layers"] | None = None,
    how: Literal["mean", "zero", "resample"] | None = None,
    induction: bool = False,
    into: Head | None = None,
    prompts: Path | None = None,
    layers: Layers | None = None,
    threads: int | None = None,
    memory: Size | None = None,
    store: Path | None = None,
    progress: bool | None = None,
    executor: Executor | None = None,
) -> Table:
    """Which heads and layers matter: what the loss on a text is without them.

    - models: folders with config.json and weights, weights files beside their config.json, or names
      on the Hugging Face hub: ORG/NAME, ORG/NAME@REVISION, ORG/NAME@step*
    - layout: a JSON file that describes the checkpoint, in place of config.json
    - stack: of models of several stacks, this one; MODEL:STACK says the same: encoder, decoder,
      cross, text or vision
    - remote: of models on the hub, read only what is needed, and keep nothing
    - text: a text
    - text_file: a file of text, in UTF-8
    - tokens: token ids, such as 464,3290, for models without a tokenizer
    - no_special_tokens: run a text without the tokens that its tokenizer puts around one
    - target: of an encoder-decoder: the text of its decoder; the other text is its source
    - target_tokens: token ids of the decoder, from the token with which its texts begin on
    - target_file: a file of targets, line by line those of text_file
    - token_file: a shard of token ids (.bin: header, then uint16)
    - sequences: windows of a file (default: 16, or as many as there are)
    - length: tokens of each window (default: 256, at most the context)
    - sample: random windows drawn with this seed (default: 0 when the file has more windows than
      are measured, else all windows in order)
    - consecutive: windows one after the other from the start of the file, instead of random ones;
      standard errors are then too small
    - lines: each line of the text is an example of its own; no window crosses lines
    - score_positions: positions of the tokens whose prediction counts in losses and means, from 0
      in each example: last, 10-, 3,7 or 5-9; or the file of a mask: text of 0 and 1, one line per
      example, or .npy of bool (default: all)
    - parts: what is replaced, each alone; layers: their attention and their MLP: all, heads,
      attention, mlp or layers (default: all, or layers of models with more than 200 heads)
    - how: by its mean over the text, by zeros, or by what it gave in the next window: mean, zero or
      resample (default: mean)
    - induction: instead: what heads are worth to those that find a repeated token, on random tokens
      repeated twice
    - into: with induction: taken out of this head's queries, keys or values alone
    - prompts: instead: which parts make the model prefer the right answer, of prompts in JSON lines
    - layers: layers, such as 0-3,-4-, where a negative number counts from the end (default: all)
    - threads: threads to work on; they never change a result (default: all cores)
    - memory: of matrices in work at once, such as 2G or 512M; it never changes a result (default: a
      half of what is free)
    - store: keep finished rows in this SQLite file, and compute none that it has
    - progress: whether a line tells how far the run is (default: on a terminal and in a notebook)
    - executor: computes elsewhere: any executor of concurrent.futures, whose workers open the
      models themselves; threads are then those of each worker (default: 1)

    Rows: what a text's loss is where a part of a layer is replaced.
    - model: the model, by its name in models
    - stack: which stack of the model: encoder, decoder, cross (the decoder's attention to what the
      encoder gives), text or vision; absent where it has one
    - layer: the layer, from 0
    - head: the query head, from 0; null: of the layer
    - component: what is replaced: what one head gives to the output projection, or all of a layer's
      heads, or what its MLP gives
    - how: by what: its mean over the text, zeros, or what it gave in the next window or pair
    - loss_increase: by how much the mean loss rises
    - loss_increase_error: the standard error of that over windows or pairs; null of one
    - kl: KL(the model ‖ the model without it), mean
    - changed: share of places with another likeliest token
    - direct: what it adds itself to the logit of the text's token, less the mean over the
      vocabulary; null where logits are no sum of what parts write, and of an encoder's
    - direct_effect_error: the standard error of that over windows or pairs; null of one
    - loss: the model's own, mean
    - predicted: how many tokens the losses are over

    Rows, with induction: what a later head's induction is without an earlier head.
    - head: the head that is replaced, from 0
    - path: where it is: everywhere, or only in what the later head reads as its queries, its keys
      or its values
    - receiver_layer: the later head's layer; null: there is none
    - receiver_head: the later head
    - induction_before: of the later head as it is: mean weight from a repeated token to the one
      after its first occurrence
    - induction: the same without the earlier head
    - write_change: of a path: by how much what the later head gives to the output projection
      changes, ‖difference‖ / ‖as it is‖; null where heads are replaced everywhere
    - loss_increase: by how much the mean loss of the second half rises; null of a path
    - loss_increase_error: the standard error of that over sequences; null of one sequence and of a
      path
    - loss: the model's own on the second half; null of a path

    Rows, with prompts: what share of the preference for right answers is a part's doing.
    - how: by what: what it gives after the corrupted prompt, its mean over the prompts, or zeros
    - restored: what it brings back after corrupted prompts where it is as after the clean ones;
      null without corrupted ones, or a preference
    - denoising_effect_error: the standard error of that over prompts; null of one prompt
    - destroyed: what is lost after clean prompts where it is replaced; null without a preference
    - noising_effect_error: the standard error of that over prompts; null of one prompt
    - logit_difference: logit(right) − logit(wrong) after clean prompts, mean
    - corrupted_logit_difference: the same after corrupted ones; null where there are none
    - prompts: how many prompts the means are over
    """
    return run("ablate", locals())


def read(
    models: Models,
    *,
    layout: Path | None = None,
    stack: Literal["encoder", "decoder", "cross", "text", "vision"] | None = None,
    remote: bool = False,
    layers: Layers | None = None,
    matrix: Literal["ov", "qk", "o", "up", "gate", "down"] | None = None,
    head: int | None = None,
    directions: int | None = None,
    top: int | None = None,
    names: Literal["auto", "embedding", "mlp0"] | None = None,
    all_tokens: bool = False,
    copying: bool = False,
    pairs: int | None = None,
    text: str | None = None,
    text_file: Path | None = None,
    tokens: Ids | None = None,
    no_special_tokens: bool = False,
    token_file: Path | None = None,
    sequences: int | None = None,
    length: int | None = None,
    sample: int | None = None,
    consecutive: bool = False,
    lines: bool = False,
    threads: int | None = None,
    memory: Size | None = None,
    progress: bool | None = None,
) -> Table:
    """What the directions of heads and matrices mean as tokens, and when nothing.

    - models: folders with config.json and weights, weights files beside their config.json, or names
      on the Hugging Face hub: ORG/NAME, ORG/NAME@REVISION, ORG/NAME@step*
    - layout: a JSON file that describes the checkpoint, in place of config.json
    - stack: of models of several stacks, this one; MODEL:STACK says the same: encoder, decoder,
      cross, text or vision
    - remote: of models on the hub, read only what is needed, and keep nothing
    - layers: layers, such as 0-3,-4-, where a negative number counts from the end (default: all)
    - matrix: whose directions; ov and qk of each head, the others of each layer: one of
      ov,qk,o,up,gate,down (default: ov)
    - head: of ov and qk, one head (default: all)
    - directions: the leading ones of each (default: 3)
    - top: tokens of each list (default: 10)
    - names: inputs named by tokens' embeddings, or by those and the first MLP's output: auto,
      embedding or mlp0 (default: auto, the first of layer 0 and the second of others)
    - all_tokens: let tokens name that training never saw
    - copying: of ov, whether each head's circuit raises the tokens that it reads
    - pairs: instead: of one head, the pairs of tokens that it joins most strongly
    - text: a text, on which to see how far what is read goes with the tokens named
    - text_file: a file of text, in UTF-8
    - tokens: token ids, such as 464,3290, for models without a tokenizer
    - no_special_tokens: run a text without the tokens that its tokenizer puts around one
    - token_file: a shard of token ids (.bin: header, then uint16)
    - sequences: windows of a file (default: 16, or as many as there are)
    - length: tokens of each window (default: 256, at most the context)
    - sample: random windows drawn with this seed (default: 0 when the file has more windows than
      are measured, else all windows in order)
    - consecutive: windows one after the other from the start of the file, instead of random ones;
      standard errors are then too small
    - lines: each line of the text is an example of its own; no window crosses lines
    - threads: threads to work on; they never change a result (default: all cores)
    - memory: of matrices in work at once, such as 2G or 512M; it never changes a result (default: a
      half of what is free)
    - progress: whether a line tells how far the run is (default: on a terminal and in a notebook)

    Rows: the tokens that name one pole of one side of a direction.
    - model: the model, by its name in models
    - stack: which stack of the model: encoder, decoder, cross (the decoder's attention to what the
      encoder gives), text or vision; absent where it has one
    - layer: the layer, from 0
    - head: the query head, from 0; null: of the layer's matrix
    - matrix: whose direction
    - direction: 1: of the largest singular value
    - value: the singular value, norms folded in
    - energy: its square over the sum of all
    - gap: the distance to the nearer singular value, over this one; null of a single one
    - side: which vector: what is read or written, or that of queries or keys
    - pole: which way along it; the poles of one sign of both sides belong together
    - coherence: mean cosine of any two of the first ten tokens' rows
    - random_coherence: what 99 % of random directions stay below
    - named: whether coherence is above that
    - rarity: correlation of the scores with tokens' rarity; null where no token is known that no
      text has
    - text_correlation: of what is read: correlation, over the kinds of tokens of the text, of what the
      direction meets there with the scores that name it; null of writes, where either does not
      vary, and of fewer than ten kinds
    - tokens: the tokens that score highest, the first first
    - token_copying: of a head's circuit of tokens, Σ Re μ / Σ |μ|: 1 would raise each token that is
      read, −1 lower it; null where tokens name no side of it, or it does nothing
    - full_copying: the same of the embeddings of all tokens, whatever its layer reads, and of the
      bias of the norm before it (Elhage et al. 2021)

    Rows, with pairs: a pair of tokens that a head joins more strongly than most.
    - input_token_id: the token that is read; of qk that of the query
    - read_text: it as readable text; null where no tokenizer knows it
    - output_token_id: the token whose logit it raises; of qk that of the key
    - write_text: it as readable text; null where no tokenizer knows it
    - score: of ov: what reading the one adds to the logit of the other, at a final scale of 1; of
      qk: their score, not divided by √d; both tokens less their mean
    """
    return run("read", locals())


def plan(
    models: Models,
    *,
    layout: Path | None = None,
    stack: Literal["encoder", "decoder", "cross", "text", "vision"] | None = None,
    remote: bool = False,
    text_file: Path | None = None,
    token_file: Path | None = None,
    held_out: Path | None = None,
    target_file: Path | None = None,
    eval_target_file: Path | None = None,
    lines: bool = False,
    score_positions: Positions | None = None,
    sequences: int | None = None,
    length: int | None = None,
    sample: int | None = None,
    by: Names | None = None,
    keep: float | str | None = None,
    kv_bytes: float | str | None = None,
    max_perplexity: float | str | None = None,
    set: str | None = None,
    matrix: Names | None = None,
    layers: Layers | None = None,
    round: int | None = None,
    eval_sequences: int | None = None,
    probe_tokens: int | None = None,
    ridge: float | str | None = None,
    method: Literal["kl", "energy", "uniform", "plain"] | None = None,
    threads: int | None = None,
    memory: Size | None = None,
    store: Path | None = None,
    progress: bool | None = None,
    executor: Executor | None = None,
) -> Table:
    """What can be left out of a model, at what cost, measured.

    - models: folders with config.json and weights, weights files beside their config.json, or names
      on the Hugging Face hub: ORG/NAME, ORG/NAME@REVISION, ORG/NAME@step*
    - layout: a JSON file that describes the checkpoint, in place of config.json
    - stack: of models of several stacks, this one; MODEL:STACK says the same: encoder, decoder,
      cross, text or vision
    - remote: of models on the hub, read only what is needed, and keep nothing
    - text_file: the text that the smaller model is fitted to, in UTF-8
    - token_file: or a shard of token ids (.bin: header, then uint16)
    - held_out: the text that every perplexity is measured on, of the same kind (default: the last
      tenth of the text, which is not fitted to)
    - target_file: of encoder-decoders: targets, line by line those of text_file
    - eval_target_file: of encoder-decoders: targets, line by line those of held_out
    - lines: each line of the text is an example of its own; no window crosses lines
    - score_positions: positions of the tokens whose prediction counts in losses and means, from 0
      in each example: last, 10-, 3,7 or 5-9; or the file of a mask: text of 0 and 1, one line per
      example, or .npy of bool (default: all)
    - sequences: windows of the text that are fitted to (default: 16 times as many tokens as the
      widest matrix has inputs)
    - length: tokens of each window (default: the context, at most 2048)
    - sample: random windows by this seed (default: one after the other from the start)
    - by: the form that the smaller model takes, or several, one after another: of
      layers,width,hidden,head-width,kv-heads,heads,latent,experts,ranks (default: all that the
      architecture allows, as a menu)
    - keep: the share of the parameters to keep (of ranks: of the projections', as factors)
    - kv_bytes: the share of the KV cache's bytes a token to keep, or bytes
    - max_perplexity: the smallest model within this perplexity, or so much more: +5%
    - set: exactly this: without=2,4 width=384 hidden=144 head-width=16 kv-heads=1 heads=4
      latent=32+32 experts=6 ranks=0.q:64,3.up:100
    - matrix: of q,k,v,o,gate,up,down,router,shared_gate,shared_up,shared_down,q_a,q_b,kv_a,kv_b,att
      ention_gate,qk,ov,kv,qk_content,qk_rotary,qk_latent,ov_latent (default: of ranks: all
      projections)
    - layers: of ranks: only matrices of these layers (default: all)
    - round: ranks and widths are multiples of it (default: 1)
    - eval_sequences: held-out windows on which orders and the menu are measured; a chosen plan
      is measured on all (default: as many as have 8,192 tokens)
    - probe_tokens: of ranks: tokens on which each matrix is probed (default: 1024)
    - ridge: of ranks: share of the mean second moment that is added to each (default: 0.01)
    - method: how ranks are allocated: by probes, the same share of each matrix's energy, all alike,
      or so without the text: kl, energy, uniform or plain (default: kl)
    - threads: threads to work on; they never change a result (default: all cores)
    - memory: of matrices in work at once, such as 2G or 512M; it never changes a result (default: a
      half of what is free)
    - store: keep finished rows in this SQLite file, and compute none that it has
    - progress: whether a line tells how far the run is (default: on a terminal and in a notebook)
    - executor: computes elsewhere: any executor of concurrent.futures, whose workers open the
      models themselves; threads are then those of each worker (default: 1)

    Rows: a form of a smaller model at one size, measured.
    - model: the model, by its name in models
    - form: the form that the smaller model takes
    - choice: what is left, in words
    - size: what is left, in the form's own unit
    - parameters: of the smaller model; of ranks as factors
    - kv_cache_bytes_per_token: that its cache takes of each token, at 16 bits
    - flops_per_token: to generate a token half way through the context; latents of the tokens
      before it are expanded anew
    - work: flops_per_token over that of the model as it is
    - mean_nll: mean negative log likelihood on the held-out text
    - perplexity: e to mean_nll
    - loss: the rise of mean_nll
    - loadable: whether stock transformers loads it, smaller than before
    - target: what asks for this plan, with its form: the option and its value
    - remark: as what it is loaded; may be empty

    Rows, with target: a layer or matrix of a plan, or the whole.
    - layer: the layer, from 0; null: all
    - matrix: of ranks: the matrix; else null
    - parameters: of the layer, matrix or model
    - parameters_after: what is left of them; of ranks as factors
    - kept: numbers of the neurons, heads or rotary pairs that stay
    - rank: of ranks: the planned rank; null: it stays whole
    - break_even_rank: of ranks: the largest at which factors are smaller
    - max_possible_rank: of ranks: the largest that there can be
    - sensitivity: of ranks: the divergence of the model with the matrix at half its break-even rank
    - predicted_kl: of ranks: what that foretells at the planned rank
    - block_influence: of layers: 1 less the mean cosine of what enters and leaves it
    - attention_influence: of layers: the same of its attention; null where no stream lies between
      that and an MLP
    - mlp_influence: of layers: the same of its MLP; null where no stream lies between the two
    - loss: of layers: the rise of mean_nll where it alone is gone
    - attention_loss: of layers: the rise of mean_nll where its attention adds nothing; null without
      one
    - mlp_loss: of layers: the rise of mean_nll where its MLP adds nothing; null without one
    - order: of layers: 1 of the first to go; null: it stays
    """
    return run("plan", locals())


def shrink(
    models: Models,
    plan: Path,
    *,
    folder: Path,
    layout: Path | None = None,
    stack: Literal["encoder", "decoder", "cross", "text", "vision"] | None = None,
    remote: bool = False,
    dtype: Literal["same", "F32", "BF16", "F16"] | None = None,
    shard_size: Size | None = None,
    text_file: Path | None = None,
    token_file: Path | None = None,
    held_out: Path | None = None,
    target_file: Path | None = None,
    eval_target_file: Path | None = None,
    lines: bool = False,
    score_positions: Positions | None = None,
    threads: int | None = None,
    memory: Size | None = None,
    progress: bool | None = None,
) -> Table:
    """Writes the smaller model that a plan leaves.

    - models: folders with config.json and weights, weights files beside their config.json, or names
      on the Hugging Face hub: ORG/NAME, ORG/NAME@REVISION, ORG/NAME@step*
    - plan: what plan wrote with format json, a form and a target
    - folder: the new folder of the smaller model
    - layout: a JSON file that describes the checkpoint, in place of config.json
    - stack: of models of several stacks, this one; MODEL:STACK says the same: encoder, decoder,
      cross, text or vision
    - remote: of models on the hub, read only what is needed, and keep nothing
    - dtype: of all weights: same, F32, BF16 or F16 (default: same)
    - shard_size: the largest file of weights (default: 5G)
    - text_file: the text that the smaller model is fitted to, in UTF-8
    - token_file: or a shard of token ids (.bin: header, then uint16)
    - held_out: the text that every perplexity is measured on, of the same kind (default: the last
      tenth of the text, which is not fitted to)
    - target_file: of encoder-decoders: targets, line by line those of text_file
    - eval_target_file: of encoder-decoders: targets, line by line those of held_out
    - lines: each line of the text is an example of its own; no window crosses lines
    - score_positions: positions of the tokens whose prediction counts in losses and means, from 0
      in each example: last, 10-, 3,7 or 5-9; or the file of a mask: text of 0 and 1, one line per
      example, or .npy of bool (default: all)
    - threads: threads to work on; they never change a result (default: all cores)
    - memory: of matrices in work at once, such as 2G or 512M; it never changes a result (default: a
      half of what is free)
    - progress: whether a line tells how far the run is (default: on a terminal and in a notebook)

    Rows: a tensor of the smaller model, or of the one before.
    - model: the model, by its name in models
    - tensor: its name in the files
    - shape_before: its shape; null: it is new
    - shape_after: its shape now; null: it is gone
    - change: what became of it
    """
    return run("shrink", locals())


def report(
    models: Models,
    *,
    layout: Path | None = None,
    stack: Literal["encoder", "decoder", "cross", "text", "vision"] | None = None,
    text: str | None = None,
    text_file: Path | None = None,
    tokens: Ids | None = None,
    no_special_tokens: bool = False,
    target: str | None = None,
    target_tokens: Ids | None = None,
    target_file: Path | None = None,
    token_file: Path | None = None,
    sequences: int | None = None,
    length: int | None = None,
    sample: int | None = None,
    consecutive: bool = False,
    lines: bool = False,
    score_positions: Positions | None = None,
    image: Path | Any | None = None,
    pixel_values: Path | Any | None = None,
    audio: Path | None = None,
    features: Path | Any | None = None,
    layers: Layers | None = None,
    threads: int | None = None,
    memory: Size | None = None,
    store: Path | None = None,
    maps: Head | None = None,
    charts: Path | None = None,
    plan_text: Path | None = None,
    base: str | None = None,
    progress: bool | None = None,
) -> Page:
    """Everything about models on one page, an HTML file that needs nothing else.

    - models: folders with config.json and weights, weights files beside their config.json, or names
      on the Hugging Face hub: ORG/NAME, ORG/NAME@REVISION, ORG/NAME@step*
    - layout: a JSON file that describes the checkpoint, in place of config.json
    - stack: of models of several stacks, this one; MODEL:STACK says the same: encoder, decoder,
      cross, text or vision
    - text: a text
    - text_file: a file of text, in UTF-8
    - tokens: token ids, such as 464,3290, for models without a tokenizer
    - no_special_tokens: run a text without the tokens that its tokenizer puts around one
    - target: of an encoder-decoder: the text of its decoder; the other text is its source
    - target_tokens: token ids of the decoder, from the token with which its texts begin on
    - target_file: a file of targets, line by line those of text_file
    - token_file: a shard of token ids (.bin: header, then uint16)
    - sequences: windows of a file (default: 100, or as many as there are; of random tokens 8)
    - length: tokens of each window (default: 100, at most the context)
    - sample: random windows drawn with this seed (default: 0 when the file has more windows than
      are measured, else all windows in order)
    - consecutive: windows one after the other from the start of the file, instead of random ones;
      standard errors are then too small
    - lines: each line of the text is an example of its own; no window crosses lines
    - score_positions: positions of the tokens whose prediction counts in losses and means, from 0
      in each example: last, 10-, 3,7 or 5-9; or the file of a mask: text of 0 and 1, one line per
      example, or .npy of bool (default: all)
    - image: a picture (PNG or JPEG), of models that read images; or one of Pillow
    - pixel_values: pixels as a model reads them (.npy: channels, rows, columns), or of several
      images; or an array
    - audio: a sound (WAV, one channel, 16 kHz), of models that read sound
    - features: sound as a model reads it (.npy: samples, or features and frames), or several; or an
      array
    - layers: layers, such as 0-3,-4-, where a negative number counts from the end (default: all)
    - threads: threads to work on; they never change a result (default: all cores)
    - memory: of matrices in work at once, such as 2G or 512M; it never changes a result (default: a
      half of what is free)
    - store: keep finished rows in this SQLite file, and compute none that it has
    - maps: where not all maps fit, keep that of this head whole
    - charts: every chart as NAME.vl.json (Vega-Lite) and NAME.svg, in this folder
    - plan_text: also what can be left out of each model, at what cost, fitted to this text
    - base: also what was changed in each model since this one, which it was made of
    - progress: whether a line tells how far the run is (default: on a terminal and in a notebook)
    """
    return run_page("report", locals())


def export(
    file: Path,
    *,
    command: str | None = None,
    set: int | None = None,
    model: str | None = None,
    list: bool = False,
) -> Table:
    """The rows that store kept.

    - file: the file that store made
    - command: rows of this command, where the store has those of several
    - set: rows of this set, where a command ran with several parameters
    - model: rows of this model alone
    - list: what the store holds: models, commands, parameters, rows, when

    Rows, with list: what a store holds of one model in one set: the rows of one analysis with the
    same parameters.
    - set: the number by which `export` is told to print the set
    - model: the model, by its name in models
    - command: the command that computed the rows
    - analysis: which of the command's analyses they are of: the name of their view
    - parameters: what was asked, as JSON, as `export` says it: null is what differs between the
      runs of a set
    - revision: which way of counting the numbers are of; it rises when an update of attnscope
      changes them
    - rows: how many rows `export` prints of this model; null of an analysis that this attnscope
      does not know
    - skipped: how many matrices and heads could not be analysed
    - finished: when the last of them was computed, ISO 8601, UTC
    """
    return run("export", locals())


class ModelCommands:
    """The commands of one model."""

    def spectrum(
        self,
        text: str | None = None,
        *,
        stack: Literal["encoder", "decoder", "cross", "text", "vision"] | None = None,
        matrix: Names | None = None,
        per_head: bool = False,
        experts: str | None = None,
        energy: Shares | None = None,
        rank: Ranks | None = None,
        values: bool = False,
        mla: bool = False,
        activations: Path | None = None,
        tensor: str | None = None,
        text_file: Path | None = None,
        tokens: Ids | None = None,
        no_special_tokens: bool = False,
        token_file: Path | None = None,
        sequences: int | None = None,
        length: int | None = None,
        sample: int | None = None,
        consecutive: bool = False,
        layers: Layers | None = None,
        threads: int | None = None,
        memory: Size | None = None,
        store: Path | None = None,
        progress: bool | None = None,
        executor: Executor | None = None,
    ) -> Table:
        """Singular values and ranks of every projection, layer and head.

        - text: of models with latents: a text, on which the mean of what a latent's norm divides by
          stands for it in all circuits
        - stack: of models of several stacks, this one; MODEL:STACK says the same: encoder, decoder,
          cross, text or vision
        - matrix: of q,k,v,o,gate,up,down,router,shared_gate,shared_up,shared_down,q_a,q_b,kv_a,kv_b
          ,attention_gate,qk,ov,kv,qk_content,qk_rotary,qk_latent,ov_latent (default: the
          projections that are there)
        - per_head: a row for each head too
        - experts: of layers with experts, a row for each of these, such as 0-7,12, or all (default:
          a sample of 8)
        - energy: thresholds of the energy ranks (default: 0.9,0.99)
        - rank: also the share of energy kept at these ranks: 512, or 0.1D for a share of the width
        - values: in csv and json: the singular values and their cumulative energy
        - mla: instead: what latent attention with DeepSeek-V2's ranks (q 1536, kv 512) would keep
        - activations: instead: the ranks that matrices have on the text of this file
        - tensor: instead: any 2-D tensor by its name; needs no known architecture
        - text_file: a file of text, in UTF-8
        - tokens: token ids, such as 464,3290, for models without a tokenizer
        - no_special_tokens: run a text without the tokens that its tokenizer puts around one
        - token_file: a shard of token ids (.bin: header, then uint16)
        - sequences: windows of a file (default: 100, or as many as there are; of random tokens 8)
        - length: tokens of each window (default: 100, at most the context)
        - sample: random windows drawn with this seed (default: 0 when the file has more windows
          than are measured, else all windows in order)
        - consecutive: windows one after the other from the start of the file, instead of random
          ones; standard errors are then too small
        - layers: layers, such as 0-3,-4-, where a negative number counts from the end (default:
          all)
        - threads: threads to work on; they never change a result (default: all cores)
        - memory: of matrices in work at once, such as 2G or 512M; it never changes a result
          (default: a half of what is free)
        - store: keep finished rows in this SQLite file, and compute none that it has
        - progress: whether a line tells how far the run is (default: on a terminal and in a
          notebook)
        - executor: computes elsewhere: any executor of concurrent.futures, whose workers open the
          models themselves; threads are then those of each worker (default: 1)
        """
        return run("spectrum", locals())

    def weights(
        self,
        *,
        stack: Literal["encoder", "decoder", "cross", "text", "vision"] | None = None,
        matrix: Names | None = None,
        per_head: bool = False,
        experts: str | None = None,
        histogram: bool = False,
        bins: Bins | None = None,
        range: Range | None = None,
        layers: Layers | None = None,
        threads: int | None = None,
        memory: Size | None = None,
        store: Path | None = None,
        progress: bool | None = None,
        executor: Executor | None = None,
    ) -> Table:
        """Moments, quantiles and histograms of every projection, layer and head.

        - stack: of models of several stacks, this one; MODEL:STACK says the same: encoder, decoder,
          cross, text or vision
        - matrix: of q,k,v,o,gate,up,down,router,shared_gate,shared_up,shared_down,q_a,q_b,kv_a,kv_b
          ,attention_gate (default: those that are there)
        - per_head: a row for each head too
        - experts: of layers with experts, a row for each of these, such as 0-7,12, or all (default:
          a sample of 8)
        - histogram: add histograms: edges, counts, density, and how many fell outside
        - bins: a number of equal bins, or fd for the Freedman-Diaconis rule (default: 80)
        - range: what the bins span (default: -0.8,0.8; with fd from smallest to largest)
        - layers: layers, such as 0-3,-4-, where a negative number counts from the end (default:
          all)
        - threads: threads to work on; they never change a result (default: all cores)
        - memory: of matrices in work at once, such as 2G or 512M; it never changes a result
          (default: a half of what is free)
        - store: keep finished rows in this SQLite file, and compute none that it has
        - progress: whether a line tells how far the run is (default: on a terminal and in a
          notebook)
        - executor: computes elsewhere: any executor of concurrent.futures, whose workers open the
          models themselves; threads are then those of each worker (default: 1)
        """
        return run("weights", locals())

    def similarity(
        self,
        *,
        stack: Literal["encoder", "decoder", "cross", "text", "vision"] | None = None,
        matrix: Names | None = None,
        experts: str | None = None,
        overlap: bool = False,
        head_matrix: Head | None = None,
        histogram: bool = False,
        bins: Bins | None = None,
        range: Range | None = None,
        layers: Layers | None = None,
        threads: int | None = None,
        memory: Size | None = None,
        store: Path | None = None,
        progress: bool | None = None,
        executor: Executor | None = None,
    ) -> Table:
        """Cosines between the weight vectors of heads, and duplicate heads.

        - stack: of models of several stacks, this one; MODEL:STACK says the same: encoder, decoder,
          cross, text or vision
        - matrix: of q,k,v,gate,up,down,router,shared_gate,shared_up,shared_down (default: q,k,v)
        - experts: of layers with experts, a row for each of these, such as 0-7,12, or all (default:
          a sample of 8)
        - overlap: instead: how far the row spaces of heads overlap, a heads x heads matrix a layer
        - head_matrix: instead: all cosines of one head's rows, by layer and head (of k and v: a
          key/value head)
        - histogram: add histograms: edges, counts, density, and how many fell outside
        - bins: a number of equal bins, or fd for the Freedman-Diaconis rule (default: 100)
        - range: what the bins span (default: -0.4,0.4; with fd from smallest to largest)
        - layers: layers, such as 0-3,-4-, where a negative number counts from the end (default:
          all)
        - threads: threads to work on; they never change a result (default: all cores)
        - memory: of matrices in work at once, such as 2G or 512M; it never changes a result
          (default: a half of what is free)
        - store: keep finished rows in this SQLite file, and compute none that it has
        - progress: whether a line tells how far the run is (default: on a terminal and in a
          notebook)
        - executor: computes elsewhere: any executor of concurrent.futures, whose workers open the
          models themselves; threads are then those of each worker (default: 1)
        """
        return run("similarity", locals())

    def experts(
        self,
        text: str | None = None,
        *,
        stack: Literal["encoder", "decoder", "cross", "text", "vision"] | None = None,
        text_file: Path | None = None,
        tokens: Ids | None = None,
        no_special_tokens: bool = False,
        token_file: Path | None = None,
        sequences: int | None = None,
        length: int | None = None,
        sample: int | None = None,
        consecutive: bool = False,
        lines: bool = False,
        score_positions: Positions | None = None,
        experts: str | None = None,
        energy: Shares | None = None,
        layers: Layers | None = None,
        threads: int | None = None,
        memory: Size | None = None,
        store: Path | None = None,
        progress: bool | None = None,
        executor: Executor | None = None,
    ) -> Table:
        """What experts share; on a text, where routers send its tokens.

        - text: a text
        - stack: of models of several stacks, this one; MODEL:STACK says the same: encoder, decoder,
          cross, text or vision
        - text_file: a file of text, in UTF-8
        - tokens: token ids, such as 464,3290, for models without a tokenizer
        - no_special_tokens: run a text without the tokens that its tokenizer puts around one
        - token_file: a shard of token ids (.bin: header, then uint16)
        - sequences: windows of a file (default: 100, or as many as there are; of random tokens 8)
        - length: tokens of each window (default: 100, at most the context)
        - sample: random windows drawn with this seed (default: 0 when the file has more windows
          than are measured, else all windows in order)
        - consecutive: windows one after the other from the start of the file, instead of random
          ones; standard errors are then too small
        - lines: each line of the text is an example of its own; no window crosses lines
        - score_positions: positions of the tokens whose prediction counts in losses and means, from
          0 in each example: last, 10-, 3,7 or 5-9; or the file of a mask: text of 0 and 1, one line
          per example, or .npy of bool (default: all)
        - experts: of layers with experts, a row for each of these, such as 0-7,12, or all (default:
          a sample of 8)
        - energy: thresholds of the energy ranks (default: 0.9,0.99)
        - layers: layers, such as 0-3,-4-, where a negative number counts from the end (default:
          all)
        - threads: threads to work on; they never change a result (default: all cores)
        - memory: of matrices in work at once, such as 2G or 512M; it never changes a result
          (default: a half of what is free)
        - store: keep finished rows in this SQLite file, and compute none that it has
        - progress: whether a line tells how far the run is (default: on a terminal and in a
          notebook)
        - executor: computes elsewhere: any executor of concurrent.futures, whose workers open the
          models themselves; threads are then those of each worker (default: 1)
        """
        return run("experts", locals())

    def matrix(
        self,
        *,
        layer: int,
        matrix: Literal["q", "k", "v", "o", "gate", "up", "down", "router", "shared_gate", "shared_up", "shared_down", "q_a", "q_b", "kv_a", "kv_b", "attention_gate", "qk", "ov", "kv", "qk_content", "qk_rotary", "qk_latent", "ov_latent"],
        head: int | None = None,
        expert: int | None = None,
        stack: Literal["encoder", "decoder", "cross", "text", "vision"] | None = None,
    ) -> Table:
        """One matrix in canonical orientation, as the analyses see it.

        - layer: the layer (negative counts from the end)
        - matrix: one of q,k,v,o,gate,up,down,router,shared_gate,shared_up,shared_down,q_a,q_b,kv_a,
          kv_b,attention_gate,qk,ov,kv,qk_content,qk_rotary,qk_latent,ov_latent
        - head: one head of it: a query head, for k, v and kv a key/value head
        - expert: of layers with experts: whose gate, up or down
        - stack: of models of several stacks, this one; MODEL:STACK says the same: encoder, decoder,
          cross, text or vision
        """
        return run("matrix", locals())

    def circuits(
        self,
        text: str | None = None,
        *,
        stack: Literal["encoder", "decoder", "cross", "text", "vision"] | None = None,
        circuit: Names | None = None,
        energy: Shares | None = None,
        fold_norm: Literal["gain", "centred"] | bool | None = None,
        with_bias: bool = False,
        rope_offset: int | None = None,
        all_eigenvalues: bool = False,
        composition: bool = False,
        text_file: Path | None = None,
        tokens: Ids | None = None,
        no_special_tokens: bool = False,
        token_file: Path | None = None,
        sequences: int | None = None,
        length: int | None = None,
        sample: int | None = None,
        consecutive: bool = False,
        layers: Layers | None = None,
        threads: int | None = None,
        memory: Size | None = None,
        store: Path | None = None,
        progress: bool | None = None,
        executor: Executor | None = None,
    ) -> Table:
        """What the circuits QK and OV of layers and heads are like, by their weights.

        - text: of models with latents: a text, on which the mean of what a latent's norm divides by
          stands for it in all circuits
        - stack: of models of several stacks, this one; MODEL:STACK says the same: encoder, decoder,
          cross, text or vision
        - circuit: of qk,ov (default: both)
        - energy: thresholds of the energy ranks (default: 0.9,0.99)
        - fold_norm: multiply Q, K and V by the gain of the norm that feeds them; centred also takes
          out the means that LayerNorms take out, as TransformerLens does: gain or centred
        - with_bias: take biases of Q, K and V as one more input coordinate
        - rope_offset: of rotary models: the circuit qk at this key position minus query position
          (default: 0)
        - all_eigenvalues: copying scores of sums over heads of order above 1024 too; may take
          minutes
        - composition: instead: how much every head's weights align with what each head of earlier
          layers writes
        - text_file: a file of text, in UTF-8
        - tokens: token ids, such as 464,3290, for models without a tokenizer
        - no_special_tokens: run a text without the tokens that its tokenizer puts around one
        - token_file: a shard of token ids (.bin: header, then uint16)
        - sequences: windows of a file (default: 100, or as many as there are; of random tokens 8)
        - length: tokens of each window (default: 100, at most the context)
        - sample: random windows drawn with this seed (default: 0 when the file has more windows
          than are measured, else all windows in order)
        - consecutive: windows one after the other from the start of the file, instead of random
          ones; standard errors are then too small
        - layers: layers, such as 0-3,-4-, where a negative number counts from the end (default:
          all)
        - threads: threads to work on; they never change a result (default: all cores)
        - memory: of matrices in work at once, such as 2G or 512M; it never changes a result
          (default: a half of what is free)
        - store: keep finished rows in this SQLite file, and compute none that it has
        - progress: whether a line tells how far the run is (default: on a terminal and in a
          notebook)
        - executor: computes elsewhere: any executor of concurrent.futures, whose workers open the
          models themselves; threads are then those of each worker (default: 1)
        """
        return run("circuits", locals())

    def attention(
        self,
        text: str | None = None,
        *,
        stack: Literal["encoder", "decoder", "cross", "text", "vision"] | None = None,
        text_file: Path | None = None,
        tokens: Ids | None = None,
        no_special_tokens: bool = False,
        target: str | None = None,
        target_tokens: Ids | None = None,
        target_file: Path | None = None,
        token_file: Path | None = None,
        sequences: int | None = None,
        length: int | None = None,
        sample: int | None = None,
        consecutive: bool = False,
        lines: bool = False,
        score_positions: Positions | None = None,
        image: Path | Any | None = None,
        pixel_values: Path | Any | None = None,
        audio: Path | None = None,
        features: Path | Any | None = None,
        energy: Shares | None = None,
        exclude_first_token: bool = False,
        induction: bool = False,
        heatmap: Head | None = None,
        maps: Path | bool | None = None,
        maps_of: Literal["first", "mean"] | None = None,
        log: bool = False,
        layers: Layers | None = None,
        threads: int | None = None,
        memory: Size | None = None,
        store: Path | None = None,
        progress: bool | None = None,
        executor: Executor | None = None,
    ) -> Table:
        """What attention maps are like on text: their rank, columns, and where they look.

        - text: a text
        - stack: of models of several stacks, this one; MODEL:STACK says the same: encoder, decoder,
          cross, text or vision
        - text_file: a file of text, in UTF-8
        - tokens: token ids, such as 464,3290, for models without a tokenizer
        - no_special_tokens: run a text without the tokens that its tokenizer puts around one
        - target: of an encoder-decoder: the text of its decoder; the other text is its source
        - target_tokens: token ids of the decoder, from the token with which its texts begin on
        - target_file: a file of targets, line by line those of text_file
        - token_file: a shard of token ids (.bin: header, then uint16)
        - sequences: windows of a file (default: 100, or as many as there are; of random tokens 8)
        - length: tokens of each window (default: 100, at most the context)
        - sample: random windows drawn with this seed (default: 0 when the file has more windows
          than are measured, else all windows in order)
        - consecutive: windows one after the other from the start of the file, instead of random
          ones; standard errors are then too small
        - lines: each line of the text is an example of its own; no window crosses lines
        - score_positions: positions of the tokens whose prediction counts in losses and means, from
          0 in each example: last, 10-, 3,7 or 5-9; or the file of a mask: text of 0 and 1, one line
          per example, or .npy of bool (default: all)
        - image: a picture (PNG or JPEG), of models that read images; or one of Pillow
        - pixel_values: pixels as a model reads them (.npy: channels, rows, columns), or of several
          images; or an array
        - audio: a sound (WAV, one channel, 16 kHz), of models that read sound
        - features: sound as a model reads it (.npy: samples, or features and frames), or several;
          or an array
        - energy: thresholds of the energy ranks (default: 0.9)
        - exclude_first_token: leave key 0 out of ranks and columns: an attention sink hides the rest
        - induction: instead: induction and duplicate-token heads, on random tokens repeated twice
        - heatmap: instead: the map of one head on the first sequence, drawn in a table
        - maps: keep maps in this .safetensors file too
        - maps_of: the first sequence, or the mean over all: first or mean (default: first)
        - log: draw it on a logarithmic scale
        - layers: layers, such as 0-3,-4-, where a negative number counts from the end (default:
          all)
        - threads: threads to work on; they never change a result (default: all cores)
        - memory: of matrices in work at once, such as 2G or 512M; it never changes a result
          (default: a half of what is free)
        - store: keep finished rows in this SQLite file, and compute none that it has
        - progress: whether a line tells how far the run is (default: on a terminal and in a
          notebook)
        - executor: computes elsewhere: any executor of concurrent.futures, whose workers open the
          models themselves; threads are then those of each worker (default: 1)
        """
        return run("attention", locals())

    def predict(
        self,
        text: str | None = None,
        *,
        stack: Literal["encoder", "decoder", "cross", "text", "vision"] | None = None,
        text_file: Path | None = None,
        tokens: Ids | None = None,
        no_special_tokens: bool = False,
        target: str | None = None,
        target_tokens: Ids | None = None,
        image: Path | Any | None = None,
        pixel_values: Path | Any | None = None,
        audio: Path | None = None,
        features: Path | Any | None = None,
        lines: bool = False,
        score_positions: Positions | None = None,
        top: int | None = None,
        generate: int | None = None,
        perplexity: bool = False,
        stride: int | None = None,
        attribution: bool = False,
        token: int | str | None = None,
        against: int | str | None = None,
        prompts: Path | None = None,
        target_file: Path | None = None,
        save: Path | bool | None = None,
        threads: int | None = None,
        memory: Size | None = None,
        progress: bool | None = None,
    ) -> Table:
        """What comes next in a text, what fills a mask, how well a text is foretold, what an image
        shows.

        - text: a text
        - stack: of models of several stacks, this one; MODEL:STACK says the same: encoder, decoder,
          cross, text or vision
        - text_file: a file of text, in UTF-8
        - tokens: token ids, such as 464,3290, for models without a tokenizer
        - no_special_tokens: run a text without the tokens that its tokenizer puts around one
        - target: of an encoder-decoder: the text of its decoder; the other text is its source
        - target_tokens: token ids of the decoder, from the token with which its texts begin on
        - image: a picture (PNG or JPEG), of models that read images; or one of Pillow
        - pixel_values: pixels as a model reads them (.npy: channels, rows, columns), or of several
          images; or an array
        - audio: a sound (WAV, one channel, 16 kHz), of models that read sound
        - features: sound as a model reads it (.npy: samples, or features and frames), or several;
          or an array
        - lines: each line of the text is an example of its own; no window crosses lines
        - score_positions: positions of the tokens whose prediction counts in losses and means, from
          0 in each example: last, 10-, 3,7 or 5-9; or the file of a mask: text of 0 and 1, one line
          per example, or .npy of bool (default: all)
        - top: how many of the likeliest tokens (default: 5)
        - generate: write up to N tokens after the text, always the likeliest
        - perplexity: instead: how well the model foretells the text, in windows of its context
        - stride: tokens from one window to the next; where windows overlap, only new ones count
          (default: the context)
        - attribution: instead: what each part adds to the logits of the tokens that follow
        - token: with attribution: to the logit of this token after the text; digits are an id
        - against: less that of this one, by its text or id
        - prompts: with attribution: to the right answer's logit less the wrong one's, of prompts in
          JSON lines
        - target_file: of perplexity: a file of targets, line by line those of text_file
        - save: write tokens, attentions, hidden states and logits to this .safetensors file
        - threads: threads to work on; they never change a result (default: all cores)
        - memory: of matrices in work at once, such as 2G or 512M; it never changes a result
          (default: a half of what is free)
        - progress: whether a line tells how far the run is (default: on a terminal and in a
          notebook)
        """
        return run("predict", locals())

    def lens(
        self,
        text: str | None = None,
        *,
        stack: Literal["encoder", "decoder", "cross", "text", "vision"] | None = None,
        text_file: Path | None = None,
        tokens: Ids | None = None,
        no_special_tokens: bool = False,
        target: str | None = None,
        target_tokens: Ids | None = None,
        target_file: Path | None = None,
        token_file: Path | None = None,
        sequences: int | None = None,
        length: int | None = None,
        sample: int | None = None,
        consecutive: bool = False,
        lines: bool = False,
        score_positions: Positions | None = None,
        states: Literal["layers", "layers,mid"] | None = None,
        grid: bool = False,
        top: int | None = None,
        prompts: Path | None = None,
        threads: int | None = None,
        memory: Size | None = None,
        store: Path | None = None,
        progress: bool | None = None,
        executor: Executor | None = None,
    ) -> Table:
        """What each layer would foretell if it were the last one.

        - text: a text
        - stack: of models of several stacks, this one; MODEL:STACK says the same: encoder, decoder,
          cross, text or vision
        - text_file: a file of text, in UTF-8
        - tokens: token ids, such as 464,3290, for models without a tokenizer
        - no_special_tokens: run a text without the tokens that its tokenizer puts around one
        - target: of an encoder-decoder: the text of its decoder; the other text is its source
        - target_tokens: token ids of the decoder, from the token with which its texts begin on
        - target_file: a file of targets, line by line those of text_file
        - token_file: a shard of token ids (.bin: header, then uint16)
        - sequences: windows of a file (default: 16, or as many as there are)
        - length: tokens of each window (default: 256, at most the context)
        - sample: random windows drawn with this seed (default: 0 when the file has more windows
          than are measured, else all windows in order)
        - consecutive: windows one after the other from the start of the file, instead of random
          ones; standard errors are then too small
        - lines: each line of the text is an example of its own; no window crosses lines
        - score_positions: positions of the tokens whose prediction counts in losses and means, from
          0 in each example: last, 10-, 3,7 or 5-9; or the file of a mask: text of 0 and 1, one line
          per example, or .npy of bool (default: all)
        - states: the stream before each layer, or after its attention too: layers or layers,mid
          (default: layers)
        - grid: of one text, what each state foretells at each token
        - top: with grid: how many of the likeliest tokens (default: 1)
        - prompts: instead: how much each state prefers the right answer, of prompts in JSON lines
        - threads: threads to work on; they never change a result (default: all cores)
        - memory: of matrices in work at once, such as 2G or 512M; it never changes a result
          (default: a half of what is free)
        - store: keep finished rows in this SQLite file, and compute none that it has
        - progress: whether a line tells how far the run is (default: on a terminal and in a
          notebook)
        - executor: computes elsewhere: any executor of concurrent.futures, whose workers open the
          models themselves; threads are then those of each worker (default: 1)
        """
        return run("lens", locals())

    def ablate(
        self,
        text: str | None = None,
        *,
        stack: Literal["encoder", "decoder", "cross", "text", "vision"] | None = None,
        text_file: Path | None = None,
        tokens: Ids | None = None,
        no_special_tokens: bool = False,
        target: str | None = None,
        target_tokens: Ids | None = None,
        target_file: Path | None = None,
        token_file: Path | None = None,
        sequences: int | None = None,
        length: int | None = None,
        sample: int | None = None,
        consecutive: bool = False,
        lines: bool = False,
        score_positions: Positions | None = None,
        parts: Literal["all", "heads", "attention", "mlp", "layers"] | None = None,
        how: Literal["mean", "zero", "resample"] | None = None,
        induction: bool = False,
        into: Head | None = None,
        prompts: Path | None = None,
        layers: Layers | None = None,
        threads: int | None = None,
        memory: Size | None = None,
        store: Path | None = None,
        progress: bool | None = None,
        executor: Executor | None = None,
    ) -> Table:
        """Which heads and layers matter: what the loss on a text is without them.

        - text: a text
        - stack: of models of several stacks, this one; MODEL:STACK says the same: encoder, decoder,
          cross, text or vision
        - text_file: a file of text, in UTF-8
        - tokens: token ids, such as 464,3290, for models without a tokenizer
        - no_special_tokens: run a text without the tokens that its tokenizer puts around one
        - target: of an encoder-decoder: the text of its decoder; the other text is its source
        - target_tokens: token ids of the decoder, from the token with which its texts begin on
        - target_file: a file of targets, line by line those of text_file
        - token_file: a shard of token ids (.bin: header, then uint16)
        - sequences: windows of a file (default: 16, or as many as there are)
        - length: tokens of each window (default: 256, at most the context)
        - sample: random windows drawn with this seed (default: 0 when the file has more windows
          than are measured, else all windows in order)
        - consecutive: windows one after the other from the start of the file, instead of random
          ones; standard errors are then too small
        - lines: each line of the text is an example of its own; no window crosses lines
        - score_positions: positions of the tokens whose prediction counts in losses and means, from
          0 in each example: last, 10-, 3,7 or 5-9; or the file of a mask: text of 0 and 1, one line
          per example, or .npy of bool (default: all)
        - parts: what is replaced, each alone; layers: their attention and their MLP: all, heads,
          attention, mlp or layers (default: all, or layers of models with more than 200 heads)
        - how: by its mean over the text, by zeros, or by what it gave in the next window: mean,
          zero or resample (default: mean)
        - induction: instead: what heads are worth to those that find a repeated token, on random
          tokens repeated twice
        - into: with induction: taken out of this head's queries, keys or values alone
        - prompts: instead: which parts make the model prefer the right answer, of prompts in JSON
          lines
        - layers: layers, such as 0-3,-4-, where a negative number counts from the end (default:
          all)
        - threads: threads to work on; they never change a result (default: all cores)
        - memory: of matrices in work at once, such as 2G or 512M; it never changes a result
          (default: a half of what is free)
        - store: keep finished rows in this SQLite file, and compute none that it has
        - progress: whether a line tells how far the run is (default: on a terminal and in a
          notebook)
        - executor: computes elsewhere: any executor of concurrent.futures, whose workers open the
          models themselves; threads are then those of each worker (default: 1)
        """
        return run("ablate", locals())

    def read(
        self,
        text: str | None = None,
        *,
        stack: Literal["encoder", "decoder", "cross", "text", "vision"] | None = None,
        layers: Layers | None = None,
        matrix: Literal["ov", "qk", "o", "up", "gate", "down"] | None = None,
        head: int | None = None,
        directions: int | None = None,
        top: int | None = None,
        names: Literal["auto", "embedding", "mlp0"] | None = None,
        all_tokens: bool = False,
        copying: bool = False,
        pairs: int | None = None,
        text_file: Path | None = None,
        tokens: Ids | None = None,
        no_special_tokens: bool = False,
        token_file: Path | None = None,
        sequences: int | None = None,
        length: int | None = None,
        sample: int | None = None,
        consecutive: bool = False,
        lines: bool = False,
        threads: int | None = None,
        memory: Size | None = None,
        progress: bool | None = None,
    ) -> Table:
        """What the directions of heads and matrices mean as tokens, and when nothing.

        - text: a text, on which to see how far what is read goes with the tokens named
        - stack: of models of several stacks, this one; MODEL:STACK says the same: encoder, decoder,
          cross, text or vision
        - layers: layers, such as 0-3,-4-, where a negative number counts from the end (default:
          all)
        - matrix: whose directions; ov and qk of each head, the others of each layer: one of
          ov,qk,o,up,gate,down (default: ov)
        - head: of ov and qk, one head (default: all)
        - directions: the leading ones of each (default: 3)
        - top: tokens of each list (default: 10)
        - names: inputs named by tokens' embeddings, or by those and the first MLP's output: auto,
          embedding or mlp0 (default: auto, the first of layer 0 and the second of others)
        - all_tokens: let tokens name that training never saw
        - copying: of ov, whether each head's circuit raises the tokens that it reads
        - pairs: instead: of one head, the pairs of tokens that it joins most strongly
        - text_file: a file of text, in UTF-8
        - tokens: token ids, such as 464,3290, for models without a tokenizer
        - no_special_tokens: run a text without the tokens that its tokenizer puts around one
        - token_file: a shard of token ids (.bin: header, then uint16)
        - sequences: windows of a file (default: 16, or as many as there are)
        - length: tokens of each window (default: 256, at most the context)
        - sample: random windows drawn with this seed (default: 0 when the file has more windows
          than are measured, else all windows in order)
        - consecutive: windows one after the other from the start of the file, instead of random
          ones; standard errors are then too small
        - lines: each line of the text is an example of its own; no window crosses lines
        - threads: threads to work on; they never change a result (default: all cores)
        - memory: of matrices in work at once, such as 2G or 512M; it never changes a result
          (default: a half of what is free)
        - progress: whether a line tells how far the run is (default: on a terminal and in a
          notebook)
        """
        return run("read", locals())

    def plan(
        self,
        *,
        stack: Literal["encoder", "decoder", "cross", "text", "vision"] | None = None,
        text_file: Path | None = None,
        token_file: Path | None = None,
        held_out: Path | None = None,
        target_file: Path | None = None,
        eval_target_file: Path | None = None,
        lines: bool = False,
        score_positions: Positions | None = None,
        sequences: int | None = None,
        length: int | None = None,
        sample: int | None = None,
        by: Names | None = None,
        keep: float | str | None = None,
        kv_bytes: float | str | None = None,
        max_perplexity: float | str | None = None,
        set: str | None = None,
        matrix: Names | None = None,
        layers: Layers | None = None,
        round: int | None = None,
        eval_sequences: int | None = None,
        probe_tokens: int | None = None,
        ridge: float | str | None = None,
        method: Literal["kl", "energy", "uniform", "plain"] | None = None,
        threads: int | None = None,
        memory: Size | None = None,
        store: Path | None = None,
        progress: bool | None = None,
        executor: Executor | None = None,
    ) -> Table:
        """What can be left out of a model, at what cost, measured.

        - stack: of models of several stacks, this one; MODEL:STACK says the same: encoder, decoder,
          cross, text or vision
        - text_file: the text that the smaller model is fitted to, in UTF-8
        - token_file: or a shard of token ids (.bin: header, then uint16)
        - held_out: the text that every perplexity is measured on, of the same kind (default: the
          last tenth of the text, which is not fitted to)
        - target_file: of encoder-decoders: targets, line by line those of text_file
        - eval_target_file: of encoder-decoders: targets, line by line those of held_out
        - lines: each line of the text is an example of its own; no window crosses lines
        - score_positions: positions of the tokens whose prediction counts in losses and means, from
          0 in each example: last, 10-, 3,7 or 5-9; or the file of a mask: text of 0 and 1, one line
          per example, or .npy of bool (default: all)
        - sequences: windows of the text that are fitted to (default: 16 times as many tokens as the
          widest matrix has inputs)
        - length: tokens of each window (default: the context, at most 2048)
        - sample: random windows by this seed (default: one after the other from the start)
        - by: the form that the smaller model takes, or several, one after another: of
          layers,width,hidden,head-width,kv-heads,heads,latent,experts,ranks (default: all that the
          architecture allows, as a menu)
        - keep: the share of the parameters to keep (of ranks: of the projections', as factors)
        - kv_bytes: the share of the KV cache's bytes a token to keep, or bytes
        - max_perplexity: the smallest model within this perplexity, or so much more: +5%
        - set: exactly this: without=2,4 width=384 hidden=144 head-width=16 kv-heads=1 heads=4
          latent=32+32 experts=6 ranks=0.q:64,3.up:100
        - matrix: of q,k,v,o,gate,up,down,router,shared_gate,shared_up,shared_down,q_a,q_b,kv_a,kv_b
          ,attention_gate,qk,ov,kv,qk_content,qk_rotary,qk_latent,ov_latent (default: of ranks: all
          projections)
        - layers: of ranks: only matrices of these layers (default: all)
        - round: ranks and widths are multiples of it (default: 1)
        - eval_sequences: held-out windows on which orders and the menu are measured; a chosen
          plan is measured on all (default: as many as have 8,192 tokens)
        - probe_tokens: of ranks: tokens on which each matrix is probed (default: 1024)
        - ridge: of ranks: share of the mean second moment that is added to each (default: 0.01)
        - method: how ranks are allocated: by probes, the same share of each matrix's energy, all
          alike, or so without the text: kl, energy, uniform or plain (default: kl)
        - threads: threads to work on; they never change a result (default: all cores)
        - memory: of matrices in work at once, such as 2G or 512M; it never changes a result
          (default: a half of what is free)
        - store: keep finished rows in this SQLite file, and compute none that it has
        - progress: whether a line tells how far the run is (default: on a terminal and in a
          notebook)
        - executor: computes elsewhere: any executor of concurrent.futures, whose workers open the
          models themselves; threads are then those of each worker (default: 1)
        """
        return run("plan", locals())

    def shrink(
        self,
        plan: Path,
        *,
        folder: Path,
        stack: Literal["encoder", "decoder", "cross", "text", "vision"] | None = None,
        dtype: Literal["same", "F32", "BF16", "F16"] | None = None,
        shard_size: Size | None = None,
        text_file: Path | None = None,
        token_file: Path | None = None,
        held_out: Path | None = None,
        target_file: Path | None = None,
        eval_target_file: Path | None = None,
        lines: bool = False,
        score_positions: Positions | None = None,
        threads: int | None = None,
        memory: Size | None = None,
        progress: bool | None = None,
    ) -> Table:
        """Writes the smaller model that a plan leaves.

        - plan: what plan wrote with format json, a form and a target
        - folder: the new folder of the smaller model
        - stack: of models of several stacks, this one; MODEL:STACK says the same: encoder, decoder,
          cross, text or vision
        - dtype: of all weights: same, F32, BF16 or F16 (default: same)
        - shard_size: the largest file of weights (default: 5G)
        - text_file: the text that the smaller model is fitted to, in UTF-8
        - token_file: or a shard of token ids (.bin: header, then uint16)
        - held_out: the text that every perplexity is measured on, of the same kind (default: the
          last tenth of the text, which is not fitted to)
        - target_file: of encoder-decoders: targets, line by line those of text_file
        - eval_target_file: of encoder-decoders: targets, line by line those of held_out
        - lines: each line of the text is an example of its own; no window crosses lines
        - score_positions: positions of the tokens whose prediction counts in losses and means, from
          0 in each example: last, 10-, 3,7 or 5-9; or the file of a mask: text of 0 and 1, one line
          per example, or .npy of bool (default: all)
        - threads: threads to work on; they never change a result (default: all cores)
        - memory: of matrices in work at once, such as 2G or 512M; it never changes a result
          (default: a half of what is free)
        - progress: whether a line tells how far the run is (default: on a terminal and in a
          notebook)
        """
        return run("shrink", locals())

    def report(
        self,
        text: str | None = None,
        *,
        stack: Literal["encoder", "decoder", "cross", "text", "vision"] | None = None,
        text_file: Path | None = None,
        tokens: Ids | None = None,
        no_special_tokens: bool = False,
        target: str | None = None,
        target_tokens: Ids | None = None,
        target_file: Path | None = None,
        token_file: Path | None = None,
        sequences: int | None = None,
        length: int | None = None,
        sample: int | None = None,
        consecutive: bool = False,
        lines: bool = False,
        score_positions: Positions | None = None,
        image: Path | Any | None = None,
        pixel_values: Path | Any | None = None,
        audio: Path | None = None,
        features: Path | Any | None = None,
        layers: Layers | None = None,
        threads: int | None = None,
        memory: Size | None = None,
        store: Path | None = None,
        maps: Head | None = None,
        charts: Path | None = None,
        plan_text: Path | None = None,
        base: str | None = None,
        progress: bool | None = None,
    ) -> Page:
        """Everything about models on one page, an HTML file that needs nothing else.

        - text: a text
        - stack: of models of several stacks, this one; MODEL:STACK says the same: encoder, decoder,
          cross, text or vision
        - text_file: a file of text, in UTF-8
        - tokens: token ids, such as 464,3290, for models without a tokenizer
        - no_special_tokens: run a text without the tokens that its tokenizer puts around one
        - target: of an encoder-decoder: the text of its decoder; the other text is its source
        - target_tokens: token ids of the decoder, from the token with which its texts begin on
        - target_file: a file of targets, line by line those of text_file
        - token_file: a shard of token ids (.bin: header, then uint16)
        - sequences: windows of a file (default: 100, or as many as there are; of random tokens 8)
        - length: tokens of each window (default: 100, at most the context)
        - sample: random windows drawn with this seed (default: 0 when the file has more windows
          than are measured, else all windows in order)
        - consecutive: windows one after the other from the start of the file, instead of random
          ones; standard errors are then too small
        - lines: each line of the text is an example of its own; no window crosses lines
        - score_positions: positions of the tokens whose prediction counts in losses and means, from
          0 in each example: last, 10-, 3,7 or 5-9; or the file of a mask: text of 0 and 1, one line
          per example, or .npy of bool (default: all)
        - image: a picture (PNG or JPEG), of models that read images; or one of Pillow
        - pixel_values: pixels as a model reads them (.npy: channels, rows, columns), or of several
          images; or an array
        - audio: a sound (WAV, one channel, 16 kHz), of models that read sound
        - features: sound as a model reads it (.npy: samples, or features and frames), or several;
          or an array
        - layers: layers, such as 0-3,-4-, where a negative number counts from the end (default:
          all)
        - threads: threads to work on; they never change a result (default: all cores)
        - memory: of matrices in work at once, such as 2G or 512M; it never changes a result
          (default: a half of what is free)
        - store: keep finished rows in this SQLite file, and compute none that it has
        - maps: where not all maps fit, keep that of this head whole
        - charts: every chart as NAME.vl.json (Vega-Lite) and NAME.svg, in this folder
        - plan_text: also what can be left out of each model, at what cost, fitted to this text
        - base: also what was changed in each model since this one, which it was made of
        - progress: whether a line tells how far the run is (default: on a terminal and in a
          notebook)
        """
        return run_page("report", locals())
