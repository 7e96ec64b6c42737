// The rows that a report holds, which of their fields may be null, and which may be absent.
// Written by tools/make_page_types.py; change the descriptions of fields (attnscope/features/*/fields.cpp) instead.
import type { NumberList, NumberMatrix, ScaledSlice } from "./packed";

/** ranks and norms of one matrix or head */
export interface SpectrumRow {
  /** the model, by its name in models */
  model: string;
  /**
   * which stack of the model: encoder, decoder, cross (the decoder's attention to what the encoder gives), text or vision; absent where it
   * has one
   */
  stack?: string;
  /** the layer, from 0 */
  layer: number;
  /** the projection or product, by its name: q, gate, qk, … */
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
  /** the head, from 0 (of k, v and kv a key/value head); null: the whole matrix */
  head: number | null;
  /** the expert whose matrix it is, from 0; absent from rows of other matrices */
  expert?: number;
  /** of a row that sums up the experts of a layer: how many; its numbers are their medians, of two middle ones the lower */
  experts?: number;
  /** rows and columns of the matrix in canonical orientation */
  shape: number[];
  /** the fewest singular values that hold that share of the sum of their squares */
  energy_rank: Readonly<Record<string, number>>;
  /** the energy rank that a Gaussian matrix of this shape is expected to need */
  null_energy_rank: Readonly<Record<string, number>>;
  /** the share of the sum of squares that so many largest singular values hold */
  energy_at_rank?: Readonly<Record<string, number | null>>;
  /** the same share for a Gaussian matrix of this shape */
  null_energy_at_rank?: Readonly<Record<string, number>>;
  /** the sum of squared singular values over the largest square */
  stable_rank: number;
  /** e to the entropy of the singular values as shares of their sum */
  entropy_rank: number;
  /** the squared sum of the squares over the sum of their squares: how many singular values share the energy */
  participation_ratio: number;
  /**
   * number of singular values above eps * max(rows, columns) times the largest, as numpy.linalg.matrix_rank counts them; eps is that of
   * float64 for float64 input, else that of float32
   */
  numerical_rank: number;
  /** the largest rank that a matrix of this shape, or such a product, can have */
  possible_rank: number;
  /** the largest singular value */
  spectral_norm: number;
  /** the square root of the sum of squared entries */
  frobenius_norm: number;
  /** the sum of the singular values */
  nuclear_norm: number;
  /**
   * largest singular value over the smallest; null if the smallest is below 1e-6 of the largest (float64 input: if numerical_rank does not
   * count it)
   */
  condition_number: number | null;
  /**
   * All singular values, descending. Each is accurate to 1e-6 of the largest; for float64 input to a small multiple of 2^-52 of the
   * largest.
   */
  singular_values?: NumberList;
  /** singular values that a random matrix of the same shape and norm would have */
  null_singular_values?: ScaledSlice | readonly number[] | null;
  /** the smallest energy rank of the experts that a row sums up */
  least_energy_rank?: Readonly<Record<string, number>>;
  /** the energy rank that a quarter of them lies below */
  lower_quartile_energy_rank?: Readonly<Record<string, number>>;
  /** the energy rank that a quarter of them lies above */
  upper_quartile_energy_rank?: Readonly<Record<string, number>>;
  /** the largest energy rank of the experts that a row sums up */
  most_energy_rank?: Readonly<Record<string, number>>;
  /** of a matrix that is made of latents: what their norms are taken to divide by */
  latent_rms?: {
    /** that of the latent of queries, where they have one */
    q?: number;
    /** that of the latent of keys and values, where it is in the matrix */
    kv?: number;
  };
}

/** what latent attention would keep of one layer */
export interface MlaRow {
  /** the model, by its name in models */
  model: string;
  /**
   * which stack of the model: encoder, decoder, cross (the decoder's attention to what the encoder gives), text or vision; absent where it
   * has one
   */
  stack?: string;
  /** the layer, from 0 */
  layer: number;
  /** of W_Q; null where it was skipped */
  query:
    | {
    /** the largest rank that a matrix of this shape, or such a product, can have */
    possible_rank: number;
    /** the latent rank of DeepSeek-V2 for this half, 1536 or 512, or the model's own */
    rank: number;
    /** the energy kept at that rank */
    energy: number
    | null;
    /** what a Gaussian matrix would keep at it */
    null_energy: number;
    /** DeepSeek-V2's share of this model's width: 0.3 or 0.1 of it */
    share_rank: number;
    /** the energy kept at that share */
    share_energy: number
    | null;
    /** what a Gaussian matrix would keep at it */
    share_null_energy: number;
    /** the fewest singular values that hold that share of the energy */
    energy_rank: Readonly<Record<string, number>>;
    /** the energy rank that a Gaussian matrix is expected to need */
    null_energy_rank: Readonly<Record<string, number>>;
  }
    | null;
  /** of W_K over W_V; null where it was skipped */
  kv:
    | {
    /** the largest rank that a matrix of this shape, or such a product, can have */
    possible_rank: number;
    /** the latent rank of DeepSeek-V2 for this half, 1536 or 512, or the model's own */
    rank: number;
    /** the energy kept at that rank */
    energy: number
    | null;
    /** what a Gaussian matrix would keep at it */
    null_energy: number;
    /** DeepSeek-V2's share of this model's width: 0.3 or 0.1 of it */
    share_rank: number;
    /** the energy kept at that share */
    share_energy: number
    | null;
    /** what a Gaussian matrix would keep at it */
    share_null_energy: number;
    /** the fewest singular values that hold that share of the energy */
    energy_rank: Readonly<Record<string, number>>;
    /** the energy rank that a Gaussian matrix is expected to need */
    null_energy_rank: Readonly<Record<string, number>>;
  }
    | null;
}

/** how the values of one matrix or head are distributed */
export interface WeightsRow {
  /** the model, by its name in models */
  model: string;
  /**
   * which stack of the model: encoder, decoder, cross (the decoder's attention to what the encoder gives), text or vision; absent where it
   * has one
   */
  stack?: string;
  /** the layer, from 0 */
  layer: number;
  /** the projection or product, by its name: q, gate, qk, … */
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
  /** the head, from 0 (of k, v and kv a key/value head); null: the whole matrix */
  head: number | null;
  /** the expert whose matrix it is, from 0; absent from rows of other matrices */
  expert?: number;
  /** of a row that sums up the experts of a layer: how many; its numbers are their medians, of two middle ones the lower */
  experts?: number;
  /** how many values the matrix has */
  count: number;
  /** the mean of the values */
  mean: number;
  /** their standard deviation, of the population */
  std: number;
  /** the smallest value */
  min: number;
  /** the largest value */
  max: number;
  /** their third standardised moment; null where all values are equal */
  skewness: number | null;
  /** their fourth standardised moment less 3, which is 0 for a Gaussian; null where all values are equal */
  excess_kurtosis: number | null;
  /** the values below which that fraction of all values lies */
  quantiles: Readonly<Record<string, number>>;
  /** how many values lie in each bin */
  histogram?:
    | {
    /** the edges of the bins, ascending, one more than bins */
    edges: NumberList;
    /** how many values each bin holds; the last one has both its edges */
    counts: number[];
    /** how many values lie in no bin */
    outside: number;
  }
    | null;
}

/** cosines between the weight vectors of one projection */
export interface SimilarityRow {
  /** the model, by its name in models */
  model: string;
  /**
   * which stack of the model: encoder, decoder, cross (the decoder's attention to what the encoder gives), text or vision; absent where it
   * has one
   */
  stack?: string;
  /** the layer, from 0 */
  layer: number;
  /** the projection or product, by its name: q, gate, qk, … */
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
  /** the expert whose matrix it is, from 0; absent from rows of other matrices */
  expert?: number;
  /** of a row that sums up the experts of a layer: how many; its numbers are their medians, of two middle ones the lower */
  experts?: number;
  /** which pairs: of rows of one head, of two heads, or of all rows */
  scope: "within_head" | "across_head" | "all";
  /** how many pairs of vectors there are */
  pairs: number;
  /** how many vectors have no direction, and are left out of the pairs */
  zero_vectors: number;
  /** the mean of the pairs' cosines; null where there are none */
  mean: number | null;
  /** their standard deviation, of the population; null likewise */
  std: number | null;
  /** how many values lie in each bin */
  histogram?:
    | {
    /** the edges of the bins, ascending, one more than bins */
    edges: NumberList;
    /** how many values each bin holds; the last one has both its edges */
    counts: number[];
    /** how many values lie in no bin */
    outside: number;
  }
    | null;
}

/** how far the heads of one projection read or write the same space */
export interface HeadOverlapRow {
  /** the model, by its name in models */
  model: string;
  /**
   * which stack of the model: encoder, decoder, cross (the decoder's attention to what the encoder gives), text or vision; absent where it
   * has one
   */
  stack?: string;
  /** the layer, from 0 */
  layer: number;
  /** the projection or product, by its name: q, gate, qk, … */
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
  /** for each two heads the mean squared cosine between the spaces of their rows; null beside a zero head */
  overlap: NumberMatrix;
  /** the dimension of each head's space */
  ranks: number[];
}

/** what one circuit of a layer or head is like, by its weights */
export interface CircuitsRow {
  /** the model, by its name in models */
  model: string;
  /**
   * which stack of the model: encoder, decoder, cross (the decoder's attention to what the encoder gives), text or vision; absent where it
   * has one
   */
  stack?: string;
  /** the layer, from 0 */
  layer: number;
  /** qk: W_Q^T W_K, scores of pairs; ov: W_O W_V, what is written */
  circuit: "qk" | "ov";
  /** the query head, from 0; null: the sum over heads */
  head: number | null;
  /** the fewest singular values of the circuit that hold that share of their squares' sum */
  energy_rank: Readonly<Record<string, number>>;
  /** energy ranks of the circuit's two factors: q and k of qk, o and v of ov */
  factor_rank: Readonly<Record<string, {
    /** energy rank of the queries' factor, of qk */
    q?: number;
    /** energy rank of the keys' factor, of qk */
    k?: number;
    /** energy rank of the output's factor, of ov */
    o?: number;
    /** energy rank of the values' factor, of ov */
    v?: number;
  }>>;
  /** energy rank of the product the other way round, in the heads' space; null where the circuit is not square */
  head_space_rank: Readonly<Record<string, number | null>>;
  /** rank of K (of V) less the circuit's; may be negative */
  overlap: Readonly<Record<string, number>>;
  /** rank of Q (of O) less that in the heads' space, likewise */
  head_space_overlap: Readonly<Record<string, number | null>>;
  /** cosine between the circuit and the identity, -1 to 1 */
  identity_cosine: number | null;
  /** what the magnitude of that cosine cannot exceed, by the circuit's possible rank */
  identity_cosine_bound: number | null;
  /** distance to the nearest multiple of the identity, over the circuit's norm */
  identity_distance: number | null;
  /** that multiple */
  identity_scale: number | null;
  /** distance to the identity itself, over that one's norm */
  identity_residual: number | null;
  /** 1: symmetric, -1: antisymmetric */
  symmetry: number | null;
  /** positive share of the eigenvalues of the symmetric part, 0 to 1 */
  positive_fraction: number | null;
  /** sum of the real parts of the eigenvalues over the sum of their magnitudes, -1 to 1 */
  copying_score: number | null;
  /** the square root of the sum of squared entries */
  frobenius_norm: number;
  /** the largest rank that a matrix of this shape, or such a product, can have */
  possible_rank: number;
  /** of a matrix that is made of latents: what their norms are taken to divide by */
  latent_rms?: {
    /** that of the latent of queries, where they have one */
    q?: number;
    /** that of the latent of keys and values, where it is in the matrix */
    kv?: number;
  };
}

/** how much a later head's weights align with an earlier one's */
export interface CompositionRow {
  /** the model, by its name in models */
  model: string;
  /**
   * which stack of the model: encoder, decoder, cross (the decoder's attention to what the encoder gives), text or vision; absent where it
   * has one
   */
  stack?: string;
  /** the later head's side: its queries, keys or values */
  kind: "q" | "k" | "v";
  /** the earlier head's layer, from 0 */
  layer: number;
  /** the earlier head, from 0 */
  head: number;
  /** the later head's layer, from 0 */
  to_layer: number;
  /** the later head, from 0 */
  to_head: number;
  /** norm of the product of both circuits over both norms, 0 to 1 */
  score: number | null;
  /** the score less what random heads give */
  excess: number | null;
}

/** what the attention maps of one head, or of a layer, are like on text or images */
export interface AttentionRow {
  /** the model, by its name in models */
  model: string;
  /**
   * which stack of the model: encoder, decoder, cross (the decoder's attention to what the encoder gives), text or vision; absent where it
   * has one
   */
  stack?: string;
  /** the layer, from 0 */
  layer: number;
  /** the query head, from 0; null: the layer as a whole */
  head: number | null;
  /** how many sequences the means are over */
  sequences: number;
  /** of a head: singular values of its map that hold `energy` of the sum of their squares */
  energy_rank?: number | null;
  /** the standard error of the mean before it; null of one sequence */
  energy_rank_error?: number | null;
  /** of a head: fewest columns (keys) that hold `energy` of all squared weights */
  columns?: number | null;
  /** the standard error of the mean before it; null of one sequence */
  columns_error?: number | null;
  /** of a head: the columns that were among those most often, from 0 */
  top_columns?: number[];
  /** of a head: share of all squared weights in the column that has most of them */
  first_column_share?: number | null;
  /** the standard error of the mean before it; null of one sequence */
  first_column_share_error?: number | null;
  /** of a head: entropy of a query's weights, mean over queries */
  entropy?: number | null;
  /** the standard error of the mean before it; null of one sequence */
  entropy_error?: number | null;
  /** of a head: mean weight on key 0 */
  sink_mass?: number | null;
  /** the standard error of the mean before it; null of one sequence */
  sink_mass_error?: number | null;
  /** of a head: that of even attention */
  null_sink_mass?: number;
  /** of a head: mean weight on the key before the query; null of texts of one token */
  previous_token?: number | null;
  /** the standard error of the mean before it; null of one sequence */
  previous_token_error?: number | null;
  /** of a head: that of even attention; null of texts of one token */
  null_previous_token?: number | null;
  /** of a head: mean weight on the query's own key */
  diagonal?: number | null;
  /** the standard error of the mean before it; null of one sequence */
  diagonal_error?: number | null;
  /** of a head: mean distance from query to key, by weight */
  mean_distance?: number | null;
  /** the standard error of the mean before it; null of one sequence */
  mean_distance_error?: number | null;
  /** of a head: weight that a query gives to no key, mean over queries; 0 without learned sinks */
  unattended?: number | null;
  /** the standard error of the mean before it; null of one sequence */
  unattended_error?: number | null;
  /** of a head, on images: mean distance from a patch to the patches that it looks at, by weight */
  patch_distance?: number | null;
  /** the standard error of the mean before it; null of one sequence */
  patch_distance_error?: number | null;
  /** of a head, on images: that of even attention */
  null_patch_distance?: number;
  /**
   * of a head of cross attention: how near its weights are to the line from the first token of both texts to the last; null of a source of
   * one token
   */
  diagonality?: number | null;
  /** the standard error of the mean before it; null of one sequence */
  diagonality_error?: number | null;
  /** of a head of cross attention: that of even attention; null of a source of one token */
  null_diagonality?: number | null;
  /** of a head of cross attention: share of pairs of target tokens that look at the source in their own order; null of one token */
  monotonicity?: number | null;
  /** the standard error of the mean before it; null of one sequence */
  monotonicity_error?: number | null;
  /** of a head of cross attention: that of even attention, 0.5 */
  null_monotonicity?: number;
  /**
   * of a head: what it adds directly to the logits of the tokens that it reads, against the text's mean token, mean over queries; null
   * where logits are no sum of what heads write, or the run ends before the last layer
   */
  raises?: number | null;
  /** the standard error of the mean before it; null of one sequence */
  raises_error?: number | null;
  /** Of a head: norm of its output over the norm of the residual stream that enters the layer, mean over tokens. Null for given maps. */
  output_ratio?: number | null;
  /** the standard error of the mean before it; null of one sequence */
  output_ratio_error?: number | null;
  /** of a layer: the largest of its heads' mean energy ranks */
  max_rank?: number | null;
  /** of a layer: the largest energy rank among its heads, mean over sequences */
  mean_max_rank?: number | null;
  /** the standard error of the layer's mean before it; null of one sequence */
  mean_max_rank_error?: number | null;
  /** of a layer: columns, mean over heads and sequences */
  mean_columns?: number | null;
  /** the standard error of the layer's mean before it; null of one sequence */
  mean_columns_error?: number | null;
  /** of a layer: columns of even attention */
  null_columns?: number;
  /**
   * of a layer: whether mean_max_rank and mean_columns are below 2; null: not judged, at another energy than 0.9 or of fewer than 16 keys
   */
  collapsed?: boolean | null;
  /** Of a layer: largest absolute activation of the residual stream after it. Null for cross-attention and given maps. */
  max_activation?: number | null;
  /**
   * Of a layer: that activation over the median absolute activation of its sequence. Null if the median is 0, for cross-attention and given
   * maps.
   */
  activation_ratio?: number | null;
  /** Of a layer: dimension of the residual stream with that activation, from 0. Null for cross-attention and given maps. */
  activation_dimension?: number | null;
  /** Of a layer: position with that activation, from 0. Null for cross-attention and given maps. */
  activation_position?: number | null;
  /**
   * Of a layer: number of dimensions of its attention's input whose magnitude is at least 6 at 6% of the positions. Null for cross-
   * attention and given maps.
   */
  outlier_count?: number | null;
  /** Of a layer: those dimensions, the most frequent first, at most 16. Null for cross-attention and given maps. */
  outlier_dimensions?: number[] | null;
}

/** how much a head looks at what followed a token before */
export interface InductionRow {
  /** the model, by its name in models */
  model: string;
  /**
   * which stack of the model: encoder, decoder, cross (the decoder's attention to what the encoder gives), text or vision; absent where it
   * has one
   */
  stack?: string;
  /** the layer, from 0 */
  layer: number;
  /** the query head, from 0 */
  head: number;
  /** mean weight from a repeated token to the one after its first occurrence */
  induction: number | null;
  /** the standard error of the mean before it; null of one sequence */
  induction_error: number | null;
  /** that of even attention */
  null_induction: number;
  /** mean weight from a repeated token to its first occurrence */
  duplicate_token: number | null;
  /** the standard error of the mean before it; null of one sequence */
  duplicate_token_error: number | null;
  /** that of even attention */
  null_duplicate_token: number;
}

/** what the experts of a layer have in common, or the rows of its router */
export interface ExpertsRow {
  /** the model, by its name in models */
  model: string;
  /**
   * which stack of the model: encoder, decoder, cross (the decoder's attention to what the encoder gives), text or vision; absent where it
   * has one
   */
  stack?: string;
  /** the layer, from 0 */
  layer: number;
  /** the projection or product, by its name: q, gate, qk, … */
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
  /** how many experts were compared */
  experts: number;
  /** rows and columns of all of them stacked */
  shape: number[];
  /** the energy rank of all of them stacked */
  energy_rank: Readonly<Record<string, number>>;
  /** that of a Gaussian matrix of this shape */
  null_energy_rank: Readonly<Record<string, number>>;
  /** the median energy rank of one of them; null: of a router */
  single_energy_rank: Readonly<Record<string, number>> | null;
  /** the mean over pairs: of experts the cosine of what they do to the stream's second moments, of a router's rows their cosine */
  mean_similarity: number | null;
  /** that of the least similar pair */
  least_similarity: number | null;
  /** that of the most similar pair */
  most_similarity: number | null;
  /** that of independent Gaussian matrices */
  null_similarity: number | null;
}

/** where the router of a layer sends the tokens of a text */
export interface RoutingRow {
  /** the model, by its name in models */
  model: string;
  /**
   * which stack of the model: encoder, decoder, cross (the decoder's attention to what the encoder gives), text or vision; absent where it
   * has one
   */
  stack?: string;
  /** the layer, from 0 */
  layer: number;
  /** how many experts there are to choose from */
  experts: number;
  /** how many experts each token passes */
  chosen: number;
  /** how many tokens were routed */
  tokens: number;
  /** for how many of them an expert that was not chosen had as large a score as one that was: of equal ones the lower is taken */
  ties: number;
  /** the share of all choices that fell on each expert */
  load: NumberList;
  /** e to the entropy of the load */
  effective_experts: number;
  /** the load of the expert that was chosen most */
  largest_load: number;
  /** the mean over tokens of the entropy of the softmax of all logits */
  router_entropy: number;
  /** the mean weight of the best expert of a token, of the second, … */
  mean_weights: NumberList;
  /** the two experts that most tokens chose both; null where each token chooses one */
  top_pair: number[] | null;
  /** how many times as many tokens chose both as if independently */
  top_pair_lift: number | null;
  /** for each two experts the share of tokens that chose both; of an expert with itself, that chose it */
  together: NumberMatrix;
}

/** the tokens that name one pole of one side of a direction */
export interface ReadRow {
  /** the model, by its name in models */
  model: string;
  /**
   * which stack of the model: encoder, decoder, cross (the decoder's attention to what the encoder gives), text or vision; absent where it
   * has one
   */
  stack?: string;
  /** the layer, from 0 */
  layer: number;
  /** the query head, from 0; null: of the layer's matrix */
  head: number | null;
  /** whose direction */
  matrix: "ov" | "qk" | "o" | "up" | "gate" | "down";
  /** 1: of the largest singular value */
  direction: number;
  /** the singular value, norms folded in */
  value: number;
  /** its square over the sum of all */
  energy: number;
  /** the distance to the nearer singular value, over this one; null of a single one */
  gap: number | null;
  /** which vector: what is read or written, or that of queries or keys */
  side: "read" | "write" | "query" | "key";
  /** which way along it; the poles of one sign of both sides belong together */
  pole: "+" | "-";
  /** mean cosine of any two of the first ten tokens' rows */
  coherence: number;
  /** what 99 % of random directions stay below */
  null_coherence: number;
  /** whether coherence is above that */
  named: boolean;
  /** correlation of the scores with tokens' rarity; null where no token is known that no text has */
  rarity: number | null;
  /**
   * of what is read: correlation, over the kinds of tokens of the text, of what the direction meets there with the scores that name it;
   * null of writes, where either does not vary, and of fewer than ten kinds
   */
  names_hold?: number | null;
  /** the tokens that score highest, the first first */
  tokens:
    | ({
    /** the token's id */
    token_id: number;
    /** it as readable text; null where no tokenizer knows it */
    text: string
    | null;
    /** of a write: logits for a unit written at a final scale of 1; else units of the normed input */
    score: number;
    /** of the token's row with the direction */
    cosine: number;
  })[];
  /**
   * of a head's circuit of tokens, Σ Re μ / Σ |μ|: 1 would raise each token that is read, −1 lower it; null where tokens name no side of
   * it, or it does nothing
   */
  token_copying?: number | null;
  /** the same of the embeddings of all tokens, whatever its layer reads, and of the bias of the norm before it (Elhage et al. 2021) */
  full_copying?: number | null;
}

/** what a state of the stream foretells over a text */
export interface LensRow {
  /** the model, by its name in models */
  model: string;
  /**
   * which stack of the model: encoder, decoder, cross (the decoder's attention to what the encoder gives), text or vision; absent where it
   * has one
   */
  stack?: string;
  /** the layer that the state enters, from 0; as many as there are layers: after the last */
  layer: number;
  /** layer: what enters it; mid: after its attention */
  state: "layer" | "mid";
  /** how many places entropy, kl and agreement are over */
  places: number;
  /** how many of them have a token that follows, or is masked */
  predicted: number;
  /** −log of the probability of the text's token, mean */
  loss: number;
  /** of what is foretold, mean over places */
  entropy: number;
  /** KL(what the model foretells ‖ what the state does), mean */
  kl: number;
  /** one over the rank of the text's token, mean; 1: always the likeliest */
  mean_reciprocal_rank: number;
  /** the rank of the text's token, median */
  median_rank: number;
  /** share of places whose likeliest token is the text's */
  top1: number;
  /** share of places whose likeliest token is the model's */
  agreement: number;
}

/** what a state of the stream foretells at one token of a text */
export interface LensGridRow {
  /** the model, by its name in models */
  model: string;
  /**
   * which stack of the model: encoder, decoder, cross (the decoder's attention to what the encoder gives), text or vision; absent where it
   * has one
   */
  stack?: string;
  /** the layer that the state enters, from 0; as many as there are layers: after the last */
  layer: number;
  /** layer: what enters it; mid: after its attention */
  state: "layer" | "mid";
  /** the place of the token in the text, from 0 */
  position: number;
  /** the token there */
  token_id: number;
  /** it as readable text; null where no tokenizer knows it */
  text: string | null;
  /** the token that the state takes for the likeliest */
  top_token: number;
  /** it as readable text; null where no tokenizer knows it */
  top_text: string | null;
  /** of the likeliest token */
  probability: number;
  /** of the model's own likeliest token; 1: the likeliest here too */
  rank: number;
  /** of what is foretold there */
  entropy: number;
  /** KL(what the model foretells ‖ what the state does) */
  kl: number;
  /** the likeliest tokens, the first first */
  top_tokens?:
    | ({
    /** the token's id */
    token_id: number;
    /** it as readable text; null where no tokenizer knows it */
    text: string
    | null;
    /** what the head gives for it */
    logit: number;
    /** softmax of the logits of all tokens */
    probability: number;
  })[];
}

/** what a text's loss is where a part of a layer is replaced */
export interface AblateRow {
  /** the model, by its name in models */
  model: string;
  /**
   * which stack of the model: encoder, decoder, cross (the decoder's attention to what the encoder gives), text or vision; absent where it
   * has one
   */
  stack?: string;
  /** the layer, from 0 */
  layer: number;
  /** the query head, from 0; null: of the layer */
  head: number | null;
  /** what is replaced: what one head gives to the output projection, or all of a layer's heads, or what its MLP gives */
  component: "head" | "attention" | "mlp";
  /** by what: its mean over the text, zeros, or what it gave in the next window or pair */
  how: "mean" | "zero" | "resample";
  /** by how much the mean loss rises */
  loss_increase: number;
  /** the standard error of that over windows or pairs; null of one */
  loss_increase_error: number | null;
  /** KL(the model ‖ the model without it), mean */
  kl: number;
  /** share of places with another likeliest token */
  changed: number;
  /**
   * what it adds itself to the logit of the text's token, less the mean over the vocabulary; null where logits are no sum of what parts
   * write, and of an encoder's
   */
  direct: number | null;
  /** the standard error of that over windows or pairs; null of one */
  direct_error: number | null;
  /** the model's own, mean */
  loss: number;
  /** how many tokens the losses are over */
  predicted: number;
}

/** a form of a smaller model at one size, measured */
export interface PlanRow {
  /** the model, by its name in models */
  model: string;
  /** the form that the smaller model takes */
  form: "layers" | "width" | "hidden" | "head-width" | "kv-heads" | "heads" | "latent" | "experts" | "ranks";
  /** what is left, in words */
  choice: string;
  /** what is left, in the form's own unit */
  size: number;
  /** of the smaller model; of ranks as factors */
  parameters: number;
  /** that its cache takes of each token, at 16 bits */
  kv_cache_bytes_per_token: number;
  /** to generate a token half way through the context; latents of the tokens before it are expanded anew */
  flops_per_token: number;
  /** flops_per_token over that of the model as it is */
  work: number;
  /** mean negative log likelihood on the held-out text */
  mean_nll: number;
  /** e to mean_nll */
  perplexity: number;
  /** the rise of mean_nll */
  loss: number;
  /** whether stock transformers loads it, smaller than before */
  loadable: boolean;
  /** what asks for this plan, with its form: the option and its value */
  target: string;
  /** as what it is loaded; may be empty */
  remark: string;
}

/** a layer or matrix of a plan, or the whole */
export interface PlanPartRow {
  /** the model, by its name in models */
  model: string;
  /** the form that the smaller model takes */
  form: "layers" | "width" | "hidden" | "head-width" | "kv-heads" | "heads" | "latent" | "experts" | "ranks";
  /** the layer, from 0; null: all */
  layer: number | null;
  /** of ranks: the matrix; else null */
  matrix: string | null;
  /** of the layer, matrix or model */
  parameters: number;
  /** what is left of them; of ranks as factors */
  parameters_after: number;
  /** numbers of the neurons, heads or rotary pairs that stay */
  kept: number[] | null;
  /** of ranks: the planned rank; null: it stays whole */
  rank: number | null;
  /** of ranks: the largest at which factors are smaller */
  break_even_rank: number | null;
  /** of ranks: the largest that there can be */
  possible_rank: number | null;
  /** of ranks: the divergence of the model with the matrix at half its break-even rank */
  sensitivity: number | null;
  /** of ranks: what that foretells at the planned rank */
  expected_loss: number | null;
  /** of layers: 1 less the mean cosine of what enters and leaves it */
  block_influence: number | null;
  /** of layers: the same of its attention; null where no stream lies between that and an MLP */
  attention_influence: number | null;
  /** of layers: the same of its MLP; null where no stream lies between the two */
  mlp_influence: number | null;
  /** of layers: the rise of mean_nll where it alone is gone */
  loss: number | null;
  /** of layers: the rise of mean_nll where its attention adds nothing; null without one */
  attention_loss: number | null;
  /** of layers: the rise of mean_nll where its MLP adds nothing; null without one */
  mlp_loss: number | null;
  /** of layers: 1 of the first to go; null: it stays */
  order: number | null;
}

/** what changed in one matrix or head between a base and a fine-tuned model */
export interface DiffRow {
  /** the model, by its name in models */
  model: string;
  /**
   * which stack of the model: encoder, decoder, cross (the decoder's attention to what the encoder gives), text or vision; absent where it
   * has one
   */
  stack?: string;
  /** the layer, from 0 */
  layer: number;
  /** the projection or product, by its name: q, gate, qk, … */
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
  /** the head, from 0 (of k, v and kv a key/value head); null: the whole matrix */
  head: number | null;
  /** rows and columns of the matrix in canonical orientation */
  shape: number[];
  /** the Frobenius norm of the change over that of the base's matrix; null where that is zero */
  relative_change: number | null;
  /** the Frobenius norm of the change */
  change_norm: number;
  /** the Frobenius norm of the base's matrix */
  weight_norm: number;
  /** the fewest singular values that hold that share of the change's squared sum */
  energy_rank: Readonly<Record<string, number>>;
  /** the energy rank that a Gaussian matrix of this shape is expected to need */
  null_energy_rank: Readonly<Record<string, number>>;
  /** the energy rank of the base's matrix */
  weight_energy_rank: Readonly<Record<string, number>>;
  /** the largest rank that a matrix of this shape, or such a product, can have */
  possible_rank: number;
  /**
   * how the outputs that the change reaches lie in those that the base's matrix reaches, both at the first threshold; null for heads, and
   * where nothing changed
   */
  output_space:
    | {
    /** the mean squared cosine of the principal angles: 1 where the smaller space lies in the other */
    overlap: number;
    /** what is expected of a random space of that dimension */
    null_overlap: number;
    /** the smallest principal angle */
    angle: number;
  }
    | null;
  /** the same of the inputs that they read */
  input_space:
    | {
    /** the mean squared cosine of the principal angles: 1 where the smaller space lies in the other */
    overlap: number;
    /** what is expected of a random space of that dimension */
    null_overlap: number;
    /** the smallest principal angle */
    angle: number;
  }
    | null;
}

/** what is known of a model before it is analysed */
export interface ModelFacts {
  /** that the model's rows carry: its folder or file */
  name: string;
  /** the family that the weights are read as */
  architecture: string;
  /** all weights and biases; tied and shared ones once, buffers left out */
  parameters: number | null;
  /** those of Q, K, V and O, with their biases */
  attention_parameters: number | null;
  /** how many layers there are */
  layers: number;
  /** query heads of a layer */
  heads: number;
  /** key/value heads of a layer, fewer than heads where queries share them */
  kv_heads: number | null;
  /** the dimension of a head's queries and keys */
  head_dim: number | null;
  /** the width of the residual stream */
  width: number | null;
  /** the inner width of a layer's MLP */
  mlp_width: number | null;
  /** how many tokens the model knows */
  vocabulary: number | null;
  /** the longest input that the model was made for */
  context: number | null;
  /** the type that most of the weights' bytes have */
  dtype: string | null;
  /** the size of the files that hold the weights */
  bytes: number | null;
  /** what all layers keep of a token, in 16 bits; null where tokens see both ways */
  kv_cache_bytes_per_token: number | null;
  /** Whether the output head is the embedding. Null if the model has no output head over tokens. */
  tied_embedding: boolean | null;
  /** whether a token sees none after it; false for encoders, and for decoders whose config lets tokens see both ways */
  causal: boolean;
  /** whether positions turn queries and keys, in some layers or in all */
  rotary: boolean | null;
  /**
   * which stack of a model with several this is, as if a model of its own: encoder, decoder, cross, text, vision; absent where a model has
   * one
   */
  stack?: string;
  /** experts of each layer that has some; absent where no layer has */
  experts?: number;
  /** how many layers have experts */
  expert_layers?: number;
  /** the inner width of one expert */
  expert_width?: number;
  /** the inner width of the experts that every token passes, together */
  shared_width?: number;
  /** how many experts of a layer a token passes */
  chosen_experts?: number;
  /** parameters without those of the experts that a token does not pass */
  active_parameters?: number;
  /** the layers that have attention, from 0; absent where no layer has anything else */
  attention_layers?: number[];
  /** what other layers have in place of attention, or layers beside it */
  mixer?: string;
  /** the latents that queries, keys and values are made of; absent where W_Q, W_K and W_V are stored */
  latent?:
    | {
    /** the width of the queries' latent; null where they have none */
    query_rank: number
    | null;
    /** the width of the latent that keys and values are made of */
    rank: number;
    /** the width of the rotary key beside it, which all heads share */
    rotary_dim: number;
    /** what all layers would keep of a token, in 16 bits, if it were keys and values of all heads in place of the latent */
    kv_cache_bytes_of_heads: number;
  };
  /** which layers have one and the same matrix, as ALBERT's do; absent where each layer has its own */
  shared_weights?: ({
    /** the matrices that these layers share */
    matrices: string[];
    /** the layers that share them, ascending, from 0 */
    layers: number[];
  })[];
}

/** what could not be analysed */
export interface Skipped {
  /** the model, by its name in models */
  model: string;
  /** the layer, from 0 */
  layer: number | null;
  /** the projection or product, by its name: q, gate, qk, … */
  matrix: string;
  /** the head, from 0 (of k, v and kv a key/value head); null: the whole matrix */
  head: number | null;
  /** why it could not be analysed */
  reason: string;
}
