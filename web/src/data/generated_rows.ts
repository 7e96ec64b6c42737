// The rows that a report holds, which of their fields may be null, and which may be absent.
// Written by tools/make_page_types.py; change the descriptions of fields (attnscope/features/*/fields.cpp) instead.
import type { NumberList, NumberMatrix, ScaledSlice } from "./packed";

/** ranks and norms of one matrix or head */
export interface SpectrumRow {
  /** model name, as in models */
  model: string;
  /**
   * stack of the model: encoder, decoder, cross (the decoder's cross-attention), text or vision. Absent if the model has a single stack.
   */
  stack?: string;
  /** layer index, from 0 */
  layer: number;
  /** weight matrix or product: q, gate, qk, … */
  matrix:
    | "q"
    | "k"
    | "v"
    | "o"
    | "gate"
    | "up"
    | "down"
    | "router"
    | "shared_gate"
    | "shared_up"
    | "shared_down"
    | "q_a"
    | "q_b"
    | "kv_a"
    | "kv_b"
    | "attention_gate"
    | "qk"
    | "ov"
    | "kv"
    | "qk_content"
    | "qk_rotary"
    | "qk_latent"
    | "ov_latent";
  /** head index, from 0; a key/value head for k, v and kv. Null for the whole matrix. */
  head: number | null;
  /** expert index, from 0. Absent if the matrix does not belong to an expert. */
  expert?: number;
  /**
   * number of experts that this row summarizes. Its values are medians over them (the lower of two middle values). Absent from other rows.
   */
  experts?: number;
  /** rows and columns of the matrix in canonical orientation */
  shape: number[];
  /** number of singular values needed for the given share of the energy (sum of squared singular values) */
  energy_rank: Readonly<Record<string, number>>;
  /** expected energy rank of a Gaussian matrix of the same shape */
  random_energy_rank: Readonly<Record<string, number>>;
  /** share of the energy (sum of squares) in the given number of largest singular values; null for a zero matrix */
  energy_at_rank?: Readonly<Record<string, number | null>>;
  /** expected share of the energy at the given rank for a Gaussian matrix of the same shape */
  random_energy_at_rank?: Readonly<Record<string, number>>;
  /** sum of squared singular values divided by the largest square */
  stable_rank: number;
  /** exponential of the entropy of the singular values, normalized to sum 1 (Roy & Vetterli 2007) */
  effective_rank: number;
  /** squared sum of the squared singular values, divided by the sum of their fourth powers: how many singular values share the energy */
  participation_ratio: number;
  /**
   * Number of singular values above eps × max(rows, columns) × the largest, as in numpy.linalg.matrix_rank. eps is float64's for float64
   * input, else float32's.
   */
  numerical_rank: number;
  /** maximum possible rank of a matrix or product of this shape */
  max_possible_rank: number;
  /** largest singular value */
  spectral_norm: number;
  /** Frobenius norm: square root of the sum of squared entries */
  frobenius_norm: number;
  /** sum of the singular values */
  nuclear_norm: number;
  /**
   * Largest singular value divided by the smallest. Null if the smallest is below 1e-6 of the largest (float64 input: if numerical_rank
   * does not count it).
   */
  condition_number: number | null;
  /** All singular values, descending. Accurate to 1e-6 of the largest; for float64 input, to a small multiple of 2^-52 of the largest. */
  singular_values?: NumberList;
  /** expected singular values of a Gaussian matrix with the same shape and Frobenius norm */
  random_singular_values?: ScaledSlice | readonly number[] | null;
  /** lowest energy rank of the experts that the row summarizes */
  least_energy_rank?: Readonly<Record<string, number>>;
  /** lower quartile of the energy ranks of the experts that the row summarizes */
  lower_quartile_energy_rank?: Readonly<Record<string, number>>;
  /** upper quartile of the energy ranks of the experts that the row summarizes */
  upper_quartile_energy_rank?: Readonly<Record<string, number>>;
  /** highest energy rank of the experts that the row summarizes */
  most_energy_rank?: Readonly<Record<string, number>>;
  /** RMS of the MLA latents that is used as the divisor of their RMSNorms. Absent if the matrix contains no latent projection. */
  latent_rms?: {
    /** RMS used for the query latent. Absent if queries have no latent. */
    q?: number;
    /** RMS used for the key/value latent. Absent if the matrix does not use it. */
    kv?: number;
  };
}

/** share of the energy that multi-head latent attention (MLA) would keep in one layer */
export interface MlaRow {
  /** model name, as in models */
  model: string;
  /**
   * stack of the model: encoder, decoder, cross (the decoder's cross-attention), text or vision. Absent if the model has a single stack.
   */
  stack?: string;
  /** layer index, from 0 */
  layer: number;
  /** energy of W_Q that an MLA query latent would keep; null if skipped */
  query:
    | {
    /** maximum possible rank of a matrix or product of this shape */
    max_possible_rank: number;
    /** latent rank of DeepSeek-V2 (1536 for queries, 512 for keys and values), or of the model's own latent */
    rank: number;
    /** share of the energy kept at the latent rank `rank` */
    energy: number
    | null;
    /** expected share of the energy that a Gaussian matrix keeps at the same rank */
    random_energy: number;
    /** latent rank with DeepSeek-V2's ratio to the hidden size: 0.3 for queries, 0.1 for keys and values */
    share_rank: number;
    /** share of the energy kept at the latent rank `share_rank` */
    share_energy: number
    | null;
    /** expected share of the energy that a Gaussian matrix keeps at the same rank */
    share_random_energy: number;
    /** number of singular values needed for the given share of the energy */
    energy_rank: Readonly<Record<string, number>>;
    /** expected energy rank of a Gaussian matrix of the same shape */
    random_energy_rank: Readonly<Record<string, number>>;
  }
    | null;
  /** energy of stacked W_K and W_V that an MLA KV latent would keep; null if skipped */
  kv:
    | {
    /** maximum possible rank of a matrix or product of this shape */
    max_possible_rank: number;
    /** latent rank of DeepSeek-V2 (1536 for queries, 512 for keys and values), or of the model's own latent */
    rank: number;
    /** share of the energy kept at the latent rank `rank` */
    energy: number
    | null;
    /** expected share of the energy that a Gaussian matrix keeps at the same rank */
    random_energy: number;
    /** latent rank with DeepSeek-V2's ratio to the hidden size: 0.3 for queries, 0.1 for keys and values */
    share_rank: number;
    /** share of the energy kept at the latent rank `share_rank` */
    share_energy: number
    | null;
    /** expected share of the energy that a Gaussian matrix keeps at the same rank */
    share_random_energy: number;
    /** number of singular values needed for the given share of the energy */
    energy_rank: Readonly<Record<string, number>>;
    /** expected energy rank of a Gaussian matrix of the same shape */
    random_energy_rank: Readonly<Record<string, number>>;
  }
    | null;
}

/** distribution of the values of one matrix or head */
export interface WeightsRow {
  /** model name, as in models */
  model: string;
  /**
   * stack of the model: encoder, decoder, cross (the decoder's cross-attention), text or vision. Absent if the model has a single stack.
   */
  stack?: string;
  /** layer index, from 0 */
  layer: number;
  /** weight matrix or product: q, gate, qk, … */
  matrix:
    | "q"
    | "k"
    | "v"
    | "o"
    | "gate"
    | "up"
    | "down"
    | "router"
    | "shared_gate"
    | "shared_up"
    | "shared_down"
    | "q_a"
    | "q_b"
    | "kv_a"
    | "kv_b"
    | "attention_gate"
    | "qk"
    | "ov"
    | "kv"
    | "qk_content"
    | "qk_rotary"
    | "qk_latent"
    | "ov_latent";
  /** head index, from 0; a key/value head for k, v and kv. Null for the whole matrix. */
  head: number | null;
  /** expert index, from 0. Absent if the matrix does not belong to an expert. */
  expert?: number;
  /**
   * number of experts that this row summarizes. Its values are medians over them (the lower of two middle values). Absent from other rows.
   */
  experts?: number;
  /** number of values */
  count: number;
  /** mean of the values */
  mean: number;
  /** population standard deviation of the values */
  std: number;
  /** smallest value */
  min: number;
  /** largest value */
  max: number;
  /** third standardized moment of the values; null if all values are equal */
  skewness: number | null;
  /** fourth standardized moment of the values minus 3 (0 for a Gaussian); null if all values are equal */
  excess_kurtosis: number | null;
  /** quantiles of the values: the value below which the given fraction of all values lies */
  quantiles: Readonly<Record<string, number>>;
  /** histogram of the values */
  histogram?:
    | {
    /** bin edges in ascending order, one more than there are bins */
    edges: NumberList;
    /** number of values per bin; the last bin includes both edges */
    counts: number[];
    /** number of values outside all bins */
    outside: number;
  }
    | null;
}

/** distribution of the cosines between weight vectors of one projection */
export interface SimilarityRow {
  /** model name, as in models */
  model: string;
  /**
   * stack of the model: encoder, decoder, cross (the decoder's cross-attention), text or vision. Absent if the model has a single stack.
   */
  stack?: string;
  /** layer index, from 0 */
  layer: number;
  /** weight matrix or product: q, gate, qk, … */
  matrix:
    | "q"
    | "k"
    | "v"
    | "o"
    | "gate"
    | "up"
    | "down"
    | "router"
    | "shared_gate"
    | "shared_up"
    | "shared_down"
    | "q_a"
    | "q_b"
    | "kv_a"
    | "kv_b"
    | "attention_gate"
    | "qk"
    | "ov"
    | "kv"
    | "qk_content"
    | "qk_rotary"
    | "qk_latent"
    | "ov_latent";
  /** expert index, from 0. Absent if the matrix does not belong to an expert. */
  expert?: number;
  /**
   * number of experts that this row summarizes. Its values are medians over them (the lower of two middle values). Absent from other rows.
   */
  experts?: number;
  /** pairs of rows that are compared: within one head, across two heads, or all */
  scope: "within_head" | "across_head" | "all";
  /** number of pairs of weight vectors */
  pairs: number;
  /** number of zero vectors, which are excluded from the pairs */
  zero_vectors: number;
  /** mean cosine over all pairs; null if there are no pairs */
  mean: number | null;
  /** population standard deviation of the cosines; null if there are no pairs */
  std: number | null;
  /** histogram of the values */
  histogram?:
    | {
    /** bin edges in ascending order, one more than there are bins */
    edges: NumberList;
    /** number of values per bin; the last bin includes both edges */
    counts: number[];
    /** number of values outside all bins */
    outside: number;
  }
    | null;
}

/** overlap between the subspaces that heads of one projection read or write */
export interface HeadOverlapRow {
  /** model name, as in models */
  model: string;
  /**
   * stack of the model: encoder, decoder, cross (the decoder's cross-attention), text or vision. Absent if the model has a single stack.
   */
  stack?: string;
  /** layer index, from 0 */
  layer: number;
  /** weight matrix or product: q, gate, qk, … */
  matrix:
    | "q"
    | "k"
    | "v"
    | "o"
    | "gate"
    | "up"
    | "down"
    | "router"
    | "shared_gate"
    | "shared_up"
    | "shared_down"
    | "q_a"
    | "q_b"
    | "kv_a"
    | "kv_b"
    | "attention_gate"
    | "qk"
    | "ov"
    | "kv"
    | "qk_content"
    | "qk_rotary"
    | "qk_latent"
    | "ov_latent";
  /** mean squared cosine of the principal angles between the row spaces of each two heads; null for a zero head */
  overlap: NumberMatrix;
  /** dimension of each head's row space */
  ranks: number[];
}

/** measures of one circuit of a layer or head, from the weights */
export interface CircuitsRow {
  /** model name, as in models */
  model: string;
  /**
   * stack of the model: encoder, decoder, cross (the decoder's cross-attention), text or vision. Absent if the model has a single stack.
   */
  stack?: string;
  /** layer index, from 0 */
  layer: number;
  /** circuit: qk (W_Qᵀ W_K, determines attention scores) or ov (W_O W_V, determines the head output) */
  circuit: "qk" | "ov";
  /** query head index, from 0. Null for the sum over heads. */
  head: number | null;
  /** energy rank of the circuit: number of singular values needed for this share of the energy */
  energy_rank: Readonly<Record<string, number>>;
  /** energy ranks of the two factors of the circuit: q and k for qk, o and v for ov */
  factor_rank: Readonly<Record<string, {
    /** energy rank of W_Q (qk circuit) */
    q?: number;
    /** energy rank of W_K (qk circuit) */
    k?: number;
    /** energy rank of W_O (ov circuit) */
    o?: number;
    /** energy rank of W_V (ov circuit) */
    v?: number;
  }>>;
  /** energy rank of the product in reverse order, in head space: W_K W_Qᵀ or W_V W_O. Null if the circuit is not square. */
  head_space_rank: Readonly<Record<string, number | null>>;
  /** rank drop of the product: rank W_K (or W_V) − rank of the circuit, as energy ranks. May be negative. */
  rank_drop: Readonly<Record<string, number>>;
  /** rank drop in head space: rank W_Q (or W_O) − head_space_rank. May be negative. Null if the circuit is not square. */
  head_space_rank_drop: Readonly<Record<string, number | null>>;
  /** cosine similarity of the circuit with the identity, -1 to 1 */
  identity_cosine: number | null;
  /** upper bound of the magnitude of identity_cosine, given the maximum possible rank */
  identity_cosine_bound: number | null;
  /** Frobenius distance to the nearest multiple of the identity, divided by the circuit's norm */
  identity_distance: number | null;
  /** factor of the nearest multiple of the identity */
  identity_scale: number | null;
  /** Frobenius distance to the identity, divided by the norm of the identity */
  identity_residual: number | null;
  /** symmetry of the circuit, from 1 (symmetric) to -1 (antisymmetric) */
  symmetry: number | null;
  /** share of the positive eigenvalues in the sum of eigenvalue magnitudes of the symmetric part, 0 to 1 */
  positive_fraction: number | null;
  /** copying score: sum of the real parts of the eigenvalues divided by the sum of their magnitudes, -1 to 1 */
  copying_score: number | null;
  /** Frobenius norm: square root of the sum of squared entries */
  frobenius_norm: number;
  /** maximum possible rank of a matrix or product of this shape */
  max_possible_rank: number;
  /** RMS of the MLA latents that is used as the divisor of their RMSNorms. Absent if the matrix contains no latent projection. */
  latent_rms?: {
    /** RMS used for the query latent. Absent if queries have no latent. */
    q?: number;
    /** RMS used for the key/value latent. Absent if the matrix does not use it. */
    kv?: number;
  };
}

/** composition score of one pair of heads, from the weights */
export interface CompositionRow {
  /** model name, as in models */
  model: string;
  /**
   * stack of the model: encoder, decoder, cross (the decoder's cross-attention), text or vision. Absent if the model has a single stack.
   */
  stack?: string;
  /** type of composition: Q-, K- or V-composition (into the queries, keys or values of the later head) */
  kind: "q" | "k" | "v";
  /** layer of the earlier head (the sender), from 0 */
  layer: number;
  /** index of the earlier head (the sender), from 0 */
  head: number;
  /** layer of the later head (the receiver), from 0 */
  receiver_layer: number;
  /** index of the later head (the receiver), from 0 */
  receiver_head: number;
  /**
   * composition score: Frobenius norm of the product of both circuits divided by the product of their norms, 0 to 1. Null if a circuit is
   * zero.
   */
  score: number | null;
  /** composition score minus the expected score of random heads. Null if the score is null. */
  excess: number | null;
}

/** measures of the attention maps of one head or layer on the input */
export interface AttentionRow {
  /** model name, as in models */
  model: string;
  /**
   * stack of the model: encoder, decoder, cross (the decoder's cross-attention), text or vision. Absent if the model has a single stack.
   */
  stack?: string;
  /** layer index, from 0 */
  layer: number;
  /** query head index, from 0. Null for rows of a whole layer. */
  head: number | null;
  /** number of sequences in the means */
  sequences: number;
  /**
   * head: energy rank of its attention map, the number of singular values needed for the share `energy` of the energy (squared Frobenius
   * norm)
   */
  energy_rank?: number | null;
  /** head: standard error over sequences of the field of the same name without _error. Null for one sequence. */
  energy_rank_error?: number | null;
  /** head: smallest number of columns (keys) that hold the share `energy` of all squared attention weights */
  energy_columns?: number | null;
  /** head: standard error over sequences of the field of the same name without _error. Null for one sequence. */
  energy_columns_error?: number | null;
  /** head: columns (keys) that are most often among its energy_columns, from 0 */
  top_columns?: number[];
  /** head: share of all squared attention weights in the largest column */
  first_column_share?: number | null;
  /** head: standard error over sequences of the field of the same name without _error. Null for one sequence. */
  first_column_share_error?: number | null;
  /** head: attention entropy per query, mean over queries */
  entropy?: number | null;
  /** head: standard error over sequences of the field of the same name without _error. Null for one sequence. */
  entropy_error?: number | null;
  /** head: mean attention to the first key */
  sink_mass?: number | null;
  /** head: standard error over sequences of the field of the same name without _error. Null for one sequence. */
  sink_mass_error?: number | null;
  /** head: sink_mass under uniform attention */
  uniform_sink_mass?: number;
  /** head: mean attention to the previous token. Null for texts of one token. */
  previous_token?: number | null;
  /** head: standard error over sequences of the field of the same name without _error. Null for one sequence. */
  previous_token_error?: number | null;
  /** head: previous_token under uniform attention. Null for texts of one token. */
  uniform_previous_token?: number | null;
  /** head: mean attention to the current token (the query's own position) */
  current_token?: number | null;
  /** head: standard error over sequences of the field of the same name without _error. Null for one sequence. */
  current_token_error?: number | null;
  /** head: mean distance from query to key, weighted by attention */
  mean_distance?: number | null;
  /** head: standard error over sequences of the field of the same name without _error. Null for one sequence. */
  mean_distance_error?: number | null;
  /** head: attention mass on the learned sink, mean over queries. 0 without learned sinks. */
  learned_sink_mass?: number | null;
  /** head: standard error over sequences of the field of the same name without _error. Null for one sequence. */
  learned_sink_mass_error?: number | null;
  /** head, image inputs: mean distance from a patch to the attended patches, weighted by attention */
  patch_distance?: number | null;
  /** head: standard error over sequences of the field of the same name without _error. Null for one sequence. */
  patch_distance_error?: number | null;
  /** head, image inputs: patch_distance under uniform attention */
  uniform_patch_distance?: number;
  /**
   * head, cross-attention: how close its attention is to the diagonal from the first to the last token of source and target. 1 if all
   * attention is on the diagonal. Null for a source of one token.
   */
  diagonality?: number | null;
  /** head: standard error over sequences of the field of the same name without _error. Null for one sequence. */
  diagonality_error?: number | null;
  /** head, cross-attention: diagonality under uniform attention. Null for a source of one token. */
  uniform_diagonality?: number | null;
  /**
   * head, cross-attention: share of pairs of target tokens whose mean attended source positions are in the same order. Null if source or
   * target has one token.
   */
  monotonicity?: number | null;
  /** head: standard error over sequences of the field of the same name without _error. Null for one sequence. */
  monotonicity_error?: number | null;
  /** head, cross-attention: monotonicity under uniform attention, 0.5 */
  uniform_monotonicity?: number;
  /**
   * head: direct effect on the attended token's logit, relative to the mean over the text's tokens, averaged over queries. Null if the
   * logits are not a sum of component outputs, or the last layer is not run.
   */
  attended_token_effect?: number | null;
  /** head: standard error over sequences of the field of the same name without _error. Null for one sequence. */
  attended_token_effect_error?: number | null;
  /** head: norm of the head output divided by the norm of the residual stream before the layer, mean over tokens. Null for given maps. */
  output_ratio?: number | null;
  /** head: standard error over sequences of the field of the same name without _error. Null for one sequence. */
  output_ratio_error?: number | null;
  /** layer: largest mean energy rank of its heads */
  max_rank?: number | null;
  /** layer: largest energy rank of its heads in each sequence, mean over sequences */
  mean_max_rank?: number | null;
  /** layer: standard error over sequences of the field of the same name without _error. Null for one sequence. */
  mean_max_rank_error?: number | null;
  /** layer: energy_columns, mean over heads and sequences */
  mean_energy_columns?: number | null;
  /** layer: standard error over sequences of the field of the same name without _error. Null for one sequence. */
  mean_energy_columns_error?: number | null;
  /** layer: energy_columns under uniform attention */
  uniform_energy_columns?: number;
  /** layer: true if mean_max_rank and mean_energy_columns are both below 2. Null if `energy` is not 0.9 or there are fewer than 16 keys. */
  collapsed?: boolean | null;
  /** layer: largest absolute activation of the residual stream after the layer. Null for cross-attention and given maps. */
  max_activation?: number | null;
  /**
   * layer: max_activation divided by the median absolute activation of its sequence. Null if the median is 0, for cross-attention and for
   * given maps.
   */
  activation_ratio?: number | null;
  /** layer: dimension of the residual stream with the largest absolute activation, from 0. Null for cross-attention and given maps. */
  activation_dimension?: number | null;
  /** layer: position with the largest absolute activation, from 0. Null for cross-attention and given maps. */
  activation_position?: number | null;
  /**
   * layer: number of dimensions of the attention input whose magnitude is at least 6 at 6% of the positions. Null for cross-attention and
   * given maps.
   */
  outlier_count?: number | null;
  /** layer: outlier dimensions of the attention input, most frequent first, at most 16. Null for cross-attention and given maps. */
  outlier_dimensions?: number[] | null;
}

/** induction and duplicate-token scores of one head */
export interface InductionRow {
  /** model name, as in models */
  model: string;
  /**
   * stack of the model: encoder, decoder, cross (the decoder's cross-attention), text or vision. Absent if the model has a single stack.
   */
  stack?: string;
  /** layer index, from 0 */
  layer: number;
  /** query head index, from 0 */
  head: number;
  /** induction score: mean attention from a repeated token to the token after its first occurrence */
  induction: number | null;
  /** head: standard error over sequences of the field of the same name without _error. Null for one sequence. */
  induction_error: number | null;
  /** induction score under uniform attention */
  uniform_induction: number;
  /** duplicate-token score: mean attention from a repeated token to its first occurrence */
  duplicate_token: number | null;
  /** head: standard error over sequences of the field of the same name without _error. Null for one sequence. */
  duplicate_token_error: number | null;
  /** duplicate-token score under uniform attention */
  uniform_duplicate_token: number;
}

/** joint rank and similarity of the experts of one layer, or of the rows of its router */
export interface ExpertsRow {
  /** model name, as in models */
  model: string;
  /**
   * stack of the model: encoder, decoder, cross (the decoder's cross-attention), text or vision. Absent if the model has a single stack.
   */
  stack?: string;
  /** layer index, from 0 */
  layer: number;
  /** weight matrix or product: q, gate, qk, … */
  matrix:
    | "q"
    | "k"
    | "v"
    | "o"
    | "gate"
    | "up"
    | "down"
    | "router"
    | "shared_gate"
    | "shared_up"
    | "shared_down"
    | "q_a"
    | "q_b"
    | "kv_a"
    | "kv_b"
    | "attention_gate"
    | "qk"
    | "ov"
    | "kv"
    | "qk_content"
    | "qk_rotary"
    | "qk_latent"
    | "ov_latent";
  /** number of compared experts */
  experts: number;
  /** rows and columns of all compared experts, stacked */
  shape: number[];
  /** energy rank of all compared experts, stacked */
  energy_rank: Readonly<Record<string, number>>;
  /** expected energy rank of a Gaussian matrix with the shape of the stacked experts */
  random_energy_rank: Readonly<Record<string, number>>;
  /** median energy rank of a single expert; null for a router */
  single_energy_rank: Readonly<Record<string, number>> | null;
  /** Mean similarity over all pairs. Experts: cosine between the Gram matrices (WᵀW) of their weights. Router: cosine between its rows. */
  mean_similarity: number | null;
  /** lowest similarity of any two experts */
  least_similarity: number | null;
  /** highest similarity of any two experts */
  most_similarity: number | null;
  /** expected similarity of two independent Gaussian matrices */
  random_similarity: number | null;
}

/** routing statistics of one layer on a text */
export interface RoutingRow {
  /** model name, as in models */
  model: string;
  /**
   * stack of the model: encoder, decoder, cross (the decoder's cross-attention), text or vision. Absent if the model has a single stack.
   */
  stack?: string;
  /** layer index, from 0 */
  layer: number;
  /** number of routed experts in the layer */
  experts: number;
  /** number of routed experts per token */
  experts_per_token: number;
  /** number of routed tokens */
  tokens: number;
  /**
   * Number of tokens for which an expert that was not selected scored as high as a selected one. Among equal scores, the lower index is
   * selected.
   */
  ties: number;
  /** share of all selections that went to each expert */
  load: NumberList;
  /** exponential of the entropy of the load: effective number of experts in use */
  effective_experts: number;
  /** load of the most frequently selected expert */
  largest_load: number;
  /** entropy of the softmax over all router logits, mean over tokens */
  router_entropy: number;
  /** mean routing weight of each token's top expert, of its second, … */
  mean_weights: NumberList;
  /** pair of experts that is selected together for the most tokens; null if each token selects one expert */
  top_pair: number[] | null;
  /**
   * co-activation of the top pair, divided by its value if both experts were selected independently; null if each token selects one expert
   */
  top_pair_lift: number | null;
  /** share of tokens that selected both experts of each pair; on the diagonal, the share that selected the expert */
  coactivation: NumberMatrix;
}

/** top tokens of one singular vector, for one sign */
export interface DirectionsRow {
  /** model name, as in models */
  model: string;
  /**
   * stack of the model: encoder, decoder, cross (the decoder's cross-attention), text or vision. Absent if the model has a single stack.
   */
  stack?: string;
  /** layer index, from 0 */
  layer: number;
  /** query head index, from 0. Null for matrices that are not per head. */
  head: number | null;
  /** matrix or circuit of the singular vector */
  matrix: "ov" | "qk" | "o" | "up" | "gate" | "down";
  /** index of the direction, from 1 (largest singular value) */
  direction: number;
  /** singular value, with norms folded in */
  value: number;
  /** share of the energy: squared singular value divided by the sum of all squares */
  energy: number;
  /** relative gap: distance to the nearest other singular value, divided by this one. Null if there is only one. */
  gap: number | null;
  /** singular vector: input or output vector of ov and weight matrices, query or key vector of qk */
  singular_vector: "input" | "output" | "query" | "key";
  /** sign of the singular vector; an input vector pairs with the output vector of the same sign */
  sign: "+" | "-";
  /** mean pairwise cosine similarity of the vectors of the ten top tokens */
  coherence: number;
  /** 99% quantile of the coherence of random directions */
  random_coherence: number;
  /** true if coherence is above random_coherence */
  named: boolean;
  /** correlation of the token scores with token rarity. Null if no untrained tokens are known. */
  rarity: number | null;
  /**
   * Input directions: correlation, over distinct tokens of the text, between the mean projection onto the direction and the token's score.
   * Null for output directions, constant values, and fewer than 10 distinct tokens.
   */
  text_correlation?: number | null;
  /** top tokens of the direction, highest score first */
  tokens:
    | ({
    /** token id */
    token_id: number;
    /** text of the token. Null if the tokenizer does not know it. */
    text: string
    | null;
    /**
     * token score along the signed direction. Output vectors: logits per unit written at a final norm scale of 1; else projection of the
     * normalized input.
     */
    score: number;
    /** cosine similarity of the token's vector with the signed direction */
    cosine: number;
  })[];
  /**
   * copying score Σ Re μ / Σ |μ| over the eigenvalues μ of the head's token-to-token circuit: 1 raises the logits of attended tokens, −1
   * lowers them. Null if the circuit is zero, or if tokens cannot describe its input or output.
   */
  token_copying?: number | null;
  /** copying score computed from all token embeddings and the bias of the preceding norm (Elhage et al. 2021) */
  full_copying?: number | null;
}

/** quality of the predictions decoded from one residual-stream state over a text */
export interface LensRow {
  /** model name, as in models */
  model: string;
  /**
   * stack of the model: encoder, decoder, cross (the decoder's cross-attention), text or vision. Absent if the model has a single stack.
   */
  stack?: string;
  /** Layer of the state, from 0. */
  layer: number;
  /**
   * Where the residual stream is read. resid_pre: before the layer. resid_mid: after its attention. resid_mid_cross: after its cross-
   * attention. resid_post: after the last layer.
   */
  state: "resid_pre" | "resid_mid" | "resid_mid_cross" | "resid_post";
  /** number of positions over which entropy, kl and agreement are averaged */
  positions: number;
  /** number of positions with a target token: the next token, or the masked one */
  predicted: number;
  /** mean negative log-probability of the text's token */
  loss: number;
  /** mean entropy of the predicted distribution */
  entropy: number;
  /** mean KL divergence KL(model's final prediction ‖ prediction decoded from the state) */
  kl: number;
  /** mean reciprocal rank of the text's token; 1: always the top-1 token */
  mean_reciprocal_rank: number;
  /** median rank of the text's token */
  median_rank: number;
  /** share of positions whose top-1 token is the text's token */
  top1: number;
  /** share of positions whose top-1 token is also the top-1 token of the model's final prediction */
  agreement: number;
}

/** prediction decoded from one residual-stream state at one token of a text */
export interface LensGridRow {
  /** model name, as in models */
  model: string;
  /**
   * stack of the model: encoder, decoder, cross (the decoder's cross-attention), text or vision. Absent if the model has a single stack.
   */
  stack?: string;
  /** Layer of the state, from 0. */
  layer: number;
  /**
   * Where the residual stream is read. resid_pre: before the layer. resid_mid: after its attention. resid_mid_cross: after its cross-
   * attention. resid_post: after the last layer.
   */
  state: "resid_pre" | "resid_mid" | "resid_mid_cross" | "resid_post";
  /** position of the token in the text, from 0 */
  position: number;
  /** id of the token at this position */
  token_id: number;
  /** text of the token at this position; null if no tokenizer can decode it */
  text: string | null;
  /** id of the top-1 token decoded from the state */
  top_token: number;
  /** text of the top-1 token; null if no tokenizer can decode it */
  top_text: string | null;
  /** probability of the top-1 token */
  probability: number;
  /** rank, in the decoded state, of the top-1 token of the model's final prediction; 1: both agree */
  rank: number;
  /** entropy of the distribution decoded from the state */
  entropy: number;
  /** KL divergence KL(model's final prediction ‖ prediction decoded from the state) */
  kl: number;
  /** most likely tokens, in descending order */
  top_tokens?:
    | ({
    /** id of the token */
    token_id: number;
    /** text of the token; null if no tokenizer can decode it */
    text: string
    | null;
    /** logit of the token */
    logit: number;
    /** probability of the token: softmax over the vocabulary */
    probability: number;
  })[];
}

/** effect of ablating one component on the loss of a text */
export interface AblateRow {
  /** model name, as in models */
  model: string;
  /**
   * stack of the model: encoder, decoder, cross (the decoder's cross-attention), text or vision. Absent if the model has a single stack.
   */
  stack?: string;
  /** layer index, from 0 */
  layer: number;
  /** query head index, from 0. Null for rows of a whole layer. */
  head: number | null;
  /**
   * ablated component: the output of one head before the output projection (head), of all heads of a layer (attention), or of its MLP (mlp)
   */
  component: "head" | "attention" | "mlp";
  /**
   * ablation: replace the output of the component by its mean over the text (mean), by zeros (zero), or by its output on the next window or
   * pair (resample)
   */
  ablation: "mean" | "zero" | "resample";
  /** increase of the mean loss when the component is ablated */
  loss_increase: number;
  /** standard error of loss_increase over windows or pairs. Null for a single one. */
  loss_increase_error: number | null;
  /** mean KL divergence of the ablated model's predictions from the original: KL(original ‖ ablated) */
  kl: number;
  /** share of positions whose top-1 token changes when the component is ablated */
  top_token_changed: number;
  /**
   * direct effect of the component on the logit of the correct token, relative to the mean over the vocabulary. Null if the logits are not
   * a sum of component outputs, and for encoders.
   */
  direct_effect: number | null;
  /** standard error of direct_effect over windows or pairs. Null for a single one. */
  direct_effect_error: number | null;
  /** mean loss of the unmodified model */
  loss: number;
  /** number of predicted tokens in the mean losses */
  predicted: number;
}

/** one compression method at one size, measured */
export interface PlanRow {
  /** model name, as in models */
  model: string;
  /** compression method */
  method: "depth" | "mlp" | "hidden-size" | "head-dim" | "kv-heads" | "heads" | "mla" | "experts" | "low-rank";
  /** what the method keeps, such as "6 → 5 (without 2)" */
  description: string;
  /** remaining size in the unit of the method, such as layers or neurons */
  size: number;
  /** parameters of the compressed model; low-rank: counted as factors */
  parameters: number;
  /** KV-cache bytes per token of the compressed model, at 16 bits */
  kv_cache_bytes_per_token: number;
  /**
   * FLOPs per token, generating halfway through the context; with MLA, keys and values of earlier tokens are recomputed from their latents
   */
  flops_per_token: number;
  /** FLOPs per token of the compressed model, divided by those of the original model */
  relative_flops: number;
  /** mean negative log-likelihood of the compressed model on the evaluation text */
  mean_nll: number;
  /** perplexity of the compressed model on the evaluation text */
  perplexity: number;
  /** increase in mean negative log-likelihood compared with the original model */
  loss_increase: number;
  /** whether transformers loads the compressed model at its smaller size */
  loadable: boolean;
  /** option and value that select this plan for its method, such as "keep 0.75" */
  target: string;
  /** how transformers loads the model, or why it cannot; may be empty */
  note: string;
}

/** one layer or matrix of a plan, or the whole model */
export interface PlanPartRow {
  /** model name, as in models */
  model: string;
  /** compression method */
  method: "depth" | "mlp" | "hidden-size" | "head-dim" | "kv-heads" | "heads" | "mla" | "experts" | "low-rank";
  /** layer, from 0; null: whole model */
  layer: number | null;
  /** low-rank: matrix; null for other methods */
  matrix: string | null;
  /** parameters of the layer, matrix or model before compression */
  parameters: number;
  /** parameters that remain after compression; low-rank: counted as factors */
  parameters_after: number;
  /** indices of the kept neurons, heads, experts or rotary pairs; null for methods without such a list */
  kept: number[] | null;
  /** low-rank: planned rank; null if the matrix is not factored */
  rank: number | null;
  /** low-rank: largest rank at which the factors are smaller than the matrix */
  break_even_rank: number | null;
  /** low-rank: maximum possible rank, min(rows, columns) */
  max_possible_rank: number | null;
  /** low-rank: KL divergence from the original model if only this matrix is reduced to half its break-even rank */
  sensitivity: number | null;
  /** low-rank: KL divergence predicted from the sensitivity at the planned rank */
  predicted_kl: number | null;
  /** depth: 1 − mean cosine similarity of the layer's input and output */
  block_influence: number | null;
  /** depth: 1 − mean cosine similarity of the residual stream before and after attention; null if attention and MLP run in parallel */
  attention_influence: number | null;
  /** depth: 1 − mean cosine similarity of the residual stream before and after the MLP; null if attention and MLP run in parallel */
  mlp_influence: number | null;
  /** depth: loss increase if only this layer is removed */
  loss_increase: number | null;
  /** depth: loss increase if only this layer's attention output is zero; null without attention */
  attention_loss_increase: number | null;
  /** depth: loss increase if only this layer's MLP output is zero; null without an MLP */
  mlp_loss_increase: number | null;
  /** depth: removal order, from 1; 0 if the plan has no order; null if the layer is kept */
  order: number | null;
}

/** change of one matrix or head between a base and a fine-tuned model */
export interface DiffRow {
  /** model name, as in models */
  model: string;
  /**
   * stack of the model: encoder, decoder, cross (the decoder's cross-attention), text or vision. Absent if the model has a single stack.
   */
  stack?: string;
  /** layer index, from 0 */
  layer: number;
  /** weight matrix or product: q, gate, qk, … */
  matrix:
    | "q"
    | "k"
    | "v"
    | "o"
    | "gate"
    | "up"
    | "down"
    | "router"
    | "shared_gate"
    | "shared_up"
    | "shared_down"
    | "q_a"
    | "q_b"
    | "kv_a"
    | "kv_b"
    | "attention_gate"
    | "qk"
    | "ov"
    | "kv"
    | "qk_content"
    | "qk_rotary"
    | "qk_latent"
    | "ov_latent";
  /** head index, from 0; a key/value head for k, v and kv. Null for the whole matrix. */
  head: number | null;
  /** number of rows and columns of the matrix in canonical orientation */
  shape: number[];
  /** Frobenius norm of the change divided by the Frobenius norm of the base matrix. Null if the base matrix is zero. */
  relative_change: number | null;
  /** Frobenius norm of the change */
  change_norm: number;
  /** Frobenius norm of the base matrix */
  weight_norm: number;
  /** energy rank of the change: number of singular values needed for this share of its energy */
  energy_rank: Readonly<Record<string, number>>;
  /** expected energy rank of a random Gaussian matrix of the same shape */
  random_energy_rank: Readonly<Record<string, number>>;
  /** energy rank of the base matrix */
  weight_energy_rank: Readonly<Record<string, number>>;
  /** maximum possible rank of a matrix or product of this shape */
  max_possible_rank: number;
  /**
   * overlap of the output spaces (leading left singular vectors) of the change and the base matrix, both at the first threshold. Null for
   * heads, and if nothing changed.
   */
  output_space:
    | {
    /** subspace overlap: mean squared cosine of the principal angles. 1 if the smaller space lies inside the other. */
    overlap: number;
    /** expected subspace overlap with a random space of the same dimension */
    random_overlap: number;
    /** smallest principal angle of the two spaces */
    angle: number;
  }
    | null;
  /**
   * overlap of the input spaces (leading right singular vectors) of the change and the base matrix, both at the first threshold. Null for
   * heads, and if nothing changed.
   */
  input_space:
    | {
    /** subspace overlap: mean squared cosine of the principal angles. 1 if the smaller space lies inside the other. */
    overlap: number;
    /** expected subspace overlap with a random space of the same dimension */
    random_overlap: number;
    /** smallest principal angle of the two spaces */
    angle: number;
  }
    | null;
}

/** what is known of a model before it is analysed */
export interface ModelFacts {
  /** name of the model in all rows: its folder or file name */
  name: string;
  /** architecture family that defines how the weights are interpreted */
  architecture: string;
  /** number of weights and biases; tied and shared ones counted once, buffers excluded */
  parameters: number | null;
  /** number of weights and biases of Q, K, V and O */
  attention_parameters: number | null;
  /** number of layers */
  layers: number;
  /** number of query heads per layer */
  heads: number;
  /** number of key/value heads per layer; fewer than query heads with grouped-query attention */
  kv_heads: number | null;
  /** dimension of each head's queries and keys */
  head_dim: number | null;
  /** dimension of the residual stream */
  hidden_size: number | null;
  /** intermediate dimension of each layer's MLP */
  intermediate_size: number | null;
  /** number of tokens in the vocabulary */
  vocab_size: number | null;
  /** maximum input length that the model was built for, in tokens */
  context_length: number | null;
  /** dtype of most of the weights, by bytes */
  dtype: string | null;
  /** total size of the weights files */
  bytes: number | null;
  /** KV cache size per token over all layers, at 16 bits per value; null for bidirectional attention */
  kv_cache_bytes_per_token: number | null;
  /** Whether the LM head (unembedding) shares the matrix of the token embedding. Null if the model has no LM head over tokens. */
  tied_embedding: boolean | null;
  /**
   * Whether tokens attend only to themselves and earlier tokens. False for encoders, and for decoders configured with bidirectional
   * attention.
   */
  causal: boolean;
  /** whether some or all layers rotate queries and keys by position (RoPE) */
  rotary: boolean | null;
  /**
   * Stack of a model that has several: encoder, decoder, cross, text or vision. Each stack is reported as a separate model. Absent if the
   * model has a single stack.
   */
  stack?: string;
  /** number of routed experts per MoE layer; absent for dense models */
  experts?: number;
  /** number of MoE layers; absent for dense models */
  expert_layers?: number;
  /** intermediate dimension of one routed expert; absent for dense models */
  moe_intermediate_size?: number;
  /** total intermediate dimension of the shared experts, which process every token; absent for dense models */
  shared_expert_intermediate_size?: number;
  /** number of routed experts per token in an MoE layer; absent for dense models, or if the forward pass is not described */
  experts_per_token?: number;
  /** number of parameters that one token uses; excludes the experts that it is not routed to */
  active_parameters?: number;
  /** layers that have attention, counted from 0; absent if every layer has attention */
  attention_layers?: number[];
  /** token mixer (such as a state-space layer) used in place of attention, or in parallel with it */
  mixer?: string;
  /** Multi-head latent attention (MLA): width of the query latent. Null if queries have none. Absent for other models. */
  q_lora_rank?: number | null;
  /** MLA: width of the latent that keys and values are computed from. Absent for other models. */
  kv_lora_rank?: number;
  /** MLA: width of the rotary key that all heads share. Absent for other models. */
  qk_rope_head_dim?: number;
  /**
   * MLA: size of the KV cache per token, in 16 bits, if it held the keys and values of all heads instead of the latent. Absent for other
   * models.
   */
  mha_kv_cache_bytes_per_token?: number;
  /** Groups of layers that share the same matrices, as in ALBERT. Absent if each layer has its own. */
  shared_weights?: ({
    /** matrices that the layers of this group share */
    matrices: string[];
    /** layers that share the matrices, ascending, counted from 0 */
    layers: number[];
  })[];
}

/** what could not be analysed */
export interface Skipped {
  /** model name, as in models */
  model: string;
  /** layer index, from 0 */
  layer: number | null;
  /** weight matrix or product: q, gate, qk, … */
  matrix: string;
  /** head index, from 0; a key/value head for k, v and kv. Null for the whole matrix. */
  head: number | null;
  /** reason why the matrix, head or tensor was skipped */
  reason: string;
}
