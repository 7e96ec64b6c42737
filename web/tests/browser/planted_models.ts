// Random models with planted structure that findings must detect.
import {
  kHeads,
  kHeadWidth,
  kLayers,
  kVocabulary,
  kWidth,
  normal_numbers,
  random_gpt2,
  random_llama,
  random_mixtral,
  random_t5,
  type Checkpoint,
  type Tensor,
} from "./random_models";

interface Matrix {
  get(row: number, column: number): number;
  set(row: number, column: number, value: number): void;
}

function tensor(model: Checkpoint, name: string): Tensor {
  const found = model.tensors.get(name);
  if (!found) throw new Error(`no tensor ${name}`);
  return found;
}

const element_wise = (values: Float32Array, at: (row: number, column: number) => number): Matrix => ({
  get: (row, column) => values[at(row, column)] ?? NaN,
  set: (row, column, value) => void (values[at(row, column)] = value),
});

/** Read and write access to a GPT-2 head's query, key, value or output weights, as (head dimension, hidden size). */
function of_head(model: Checkpoint, layer: number, matrix: "q" | "k" | "v" | "o", head: number): Matrix {
  const name = `h.${layer}.attn.${matrix === "o" ? "c_proj" : "c_attn"}.weight`;
  const first = head * kHeadWidth;
  return matrix === "o"
    ? element_wise(tensor(model, name).values, (row, column) => (first + row) * kWidth + column)
    : element_wise(tensor(model, name).values, (row, column) => column * 3 * kWidth + "qkv".indexOf(matrix) * kWidth + first + row);
}

/** A whole GPT-2 matrix. Rows: inputs; columns: outputs. */
const whole = (model: Checkpoint, name: string): Matrix & { rows: number; columns: number } => {
  const { values, shape } = tensor(model, name);
  const [rows = 0, columns = 0] = shape;
  return { ...element_wise(values, (row, column) => row * columns + column), rows, columns };
};

function fill(matrix: Matrix, value: (row: number, column: number) => number, rows = kHeadWidth, columns = kWidth): void {
  for (let row = 0; row < rows; ++row) for (let column = 0; column < columns; ++column) matrix.set(row, column, value(row, column));
}

const range = (count: number): number[] => Array.from({ length: count }, (_, index) => index);
const zero = (model: Checkpoint, name: string) => tensor(model, name).values.fill(0);

/** Replaces the matrix by `rank` random directions with decreasing weights, plus small noise. */
function of_few_directions(model: Checkpoint, name: string, rank: number, seed: number): void {
  const normal = normal_numbers(seed);
  const matrix = whole(model, name);
  const left = range(matrix.rows).map(() => range(rank).map(normal));
  const right = range(rank).map(() => range(matrix.columns).map(normal));
  const dot = (row: number, column: number) =>
    range(rank).reduce((sum, index) => sum + (left[row]?.[index] ?? 0) * (right[index]?.[column] ?? 0), 0);
  fill(matrix, (row, column) => 0.1 * dot(row, column) + 0.01 * normal(), matrix.rows, matrix.columns);
}

/** Layers and heads of the structure in `planted_weights`. */
export const kPlanted = {
  zero_matrix: 5,
  zero_head: [4, 3],
  twins: [3, 0, 1],
  sharing: [2, 1, 2],
  copies: [0, 5],
  composes: [0, 1, 1, 2],
  heavy: 2,
} as const;

export function planted_weights(): Checkpoint {
  const model = random_gpt2(11, 1);
  const normal = normal_numbers(12);
  zero(model, `h.${kPlanted.zero_matrix}.attn.c_proj.weight`);
  fill(of_head(model, kPlanted.zero_head[0], "v", kPlanted.zero_head[1]), () => 0);

  const [layer_of_similar_experts, one, other] = kPlanted.twins;
  for (const matrix of ["q", "k", "v"] as const) {
    const first = of_head(model, layer_of_similar_experts, matrix, one);
    fill(of_head(model, layer_of_similar_experts, matrix, other), (row, column) => first.get(row, column) + 0.003 * normal());
  }

  const [layer, from, to] = kPlanted.sharing;
  const shared = of_head(model, layer, "k", from);
  fill(of_head(model, layer, "k", to), (row, column) => shared.get(row, column), (3 * kHeadWidth) / 4);

  const reads = of_head(model, kPlanted.copies[0], "v", kPlanted.copies[1]);
  fill(of_head(model, kPlanted.copies[0], "o", kPlanted.copies[1]), (row, column) => reads.get(row, column));

  // One direction, written by the earlier head and read by the keys of the later one.
  const [early, early_head, late, late_head] = kPlanted.composes;
  const direction = range(kWidth).map(normal);
  const along = (row: number, column: number) => (row + 1) * 0.02 * (direction[column] ?? 0);
  fill(of_head(model, early, "o", early_head), along);
  fill(of_head(model, late, "k", late_head), along);

  whole(model, `h.${kPlanted.heavy}.mlp.c_fc.weight`).set(7, 9, 6);
  return model;
}

/** Ranks of the MLP's first matrix decrease by layer. Its second matrix has low rank except in the last layer. */
export const kRanks = [80, 60, 44, 32, 20, 8];
export const kSymmetricLayer = 4;
export const kMlaRank = 12;

export function planted_spectra(): Checkpoint {
  const model = random_gpt2(21, 1);
  kRanks.forEach((rank, layer) => {
    of_few_directions(model, `h.${layer}.mlp.c_fc.weight`, rank, 100 + layer);
    if (layer < kLayers - 1) of_few_directions(model, `h.${layer}.mlp.c_proj.weight`, 16, 200 + layer);
    // Keys and values of all heads read from one small subspace.
    const normal = normal_numbers(300 + layer);
    const basis = range(kMlaRank).map(() => range(kWidth).map(normal));
    for (const matrix of ["k", "v"] as const)
      for (const head of range(kHeads)) {
        const factors = range(kHeadWidth).map(() => range(kMlaRank).map(normal));
        const dot = (row: number, column: number) =>
          range(kMlaRank).reduce((sum, index) => sum + (factors[row]?.[index] ?? 0) * (basis[index]?.[column] ?? 0), 0);
        fill(of_head(model, layer, matrix, head), (row, column) => 0.03 * dot(row, column));
      }
  });
  for (const head of range(kHeads)) {
    const queries = of_head(model, kSymmetricLayer, "q", head);
    fill(of_head(model, kSymmetricLayer, "k", head), (row, column) => queries.get(row, column));
  }
  return model;
}

// Residual stream of 96 dimensions: 16 for the position, 40 for the current token, 40 for the next token.
const kPlaces = 16;
const kToken = 40;
const angle = (index: number, position: number) => Math.PI * (((index + 1) * 0.618034) % 1) * position; // angles without a common period

export const kPreviousToken = [0, 0] as const;
export const kSink = [1, 1] as const;
export const kCollapsed = 3;
export const kRaises = [5, 2] as const;
export const kLowers = [5, 3] as const;

type Writer = readonly [readonly [number, number], number]; // a head, and its effect on the logits of attended tokens

/** Five heads that raise these logits slightly, and one that lowers them so much that ablating it lowers the loss. */
export const kOneInTheWay: readonly Writer[] = [...[0, 1, 2, 4, 5].map((head): Writer => [[5, head], 0.15]), [kLowers, -0.6]];

/** Previous-token, attention-sink and uniform heads, some of which raise or lower the logits of attended tokens. */
export function planted_heads(
  writers: readonly Writer[] = [
    [kRaises, 0.8],
    [kLowers, -0.2],
  ],
): Checkpoint {
  const model = random_gpt2(31, 0.05);
  const normal = normal_numbers(32);
  Object.assign(model.config, { tie_word_embeddings: false });
  const embedding = whole(model, "wte.weight");
  const head: Tensor = { shape: [kVocabulary, kWidth], values: new Float32Array(kVocabulary * kWidth) };
  model.tensors.set("lm_head.weight", head);
  fill(
    embedding,
    (token, column) => {
      const value = column < kPlaces || column >= kPlaces + kToken ? 0 : normal();
      if (value !== 0) head.values[token * kWidth + column + kToken] = 0.3 * value;
      return value;
    },
    kVocabulary,
    kWidth,
  );
  const positions = whole(model, "wpe.weight");
  const turned = (position: number, column: number) => {
    if (column >= kPlaces) return 0;
    const of = angle(column >> 1, position);
    return 2 * (column % 2 === 0 ? Math.cos(of) : Math.sin(of));
  };
  fill(positions, turned, positions.rows, kWidth);

  // Keys encode the position; queries encode the previous position.
  const [layer, looking] = kPreviousToken;
  fill(of_head(model, layer, "k", looking), (row, column) => (row === column ? 4 : 0));
  fill(of_head(model, layer, "q", looking), (row, column) => {
    if (column >> 1 !== row >> 1 || column >= kPlaces) return 0;
    const [cos, sin] = [Math.cos(angle(row >> 1, 1)), Math.sin(angle(row >> 1, 1))];
    return 4 * (row === column ? cos : row % 2 === 0 ? sin : -sin);
  });

  const sinks = [kSink, ...range(kHeads).map((each) => [kCollapsed, each] as const)];
  for (const [at, each] of sinks) {
    fill(of_head(model, at, "q", each), () => 0);
    tensor(model, `h.${at}.attn.c_attn.bias`).values[each * kHeadWidth] = 20;
    fill(of_head(model, at, "k", each), (row, column) => (row === 0 && column < kPlaces && column % 2 === 0 ? 1 : 0));
  }

  for (const [[at, each], factor] of writers) {
    fill(of_head(model, at, "q", each), () => 0);
    fill(of_head(model, at, "v", each), (row, column) => (column === kPlaces + row ? 1 : 0));
    fill(of_head(model, at, "o", each), (row, column) => (column === kPlaces + kToken + row ? factor : 0));
  }
  return model;
}

const kWords = "king queen night day sword heart crown blood love death father brother morning garden river window candle letter".split(
  " ",
);

/** A repetitive text: paragraphs that each repeat a few words. */
export function repetitive_text(): string {
  const normal = normal_numbers(71);
  const any = <T>(of: readonly T[]): T => of[Math.floor(Math.abs(normal()) * 1e6) % of.length]!;
  return range(60)
    .map(() => {
      const few = range(4).map(() => any(kWords));
      return range(30)
        .map(() => any(few))
        .join(" ");
    })
    .join("\n");
}

export const kDeadHead = [1, 4] as const;
export const kMassive = { layer: 2, dimension: 7, value: 400 } as const;

/** One head with output scaled by 1e-4, and one residual dimension at +400 from a layer on. */
export function planted_activations(): Checkpoint {
  const model = random_gpt2(81, 1);
  const [layer, head] = kDeadHead;
  const output = of_head(model, layer, "o", head);
  fill(output, (row, column) => 1e-4 * output.get(row, column));
  tensor(model, `h.${kMassive.layer}.mlp.c_proj.bias`).values[kMassive.dimension] = kMassive.value;
  return model;
}

/** Attention scores that vary strongly in the first layer and are nearly equal in the last, so that the rank of maps falls. */
export function planted_depth(): Checkpoint {
  const model = random_gpt2(41, 2);
  for (const layer of range(kLayers)) {
    const left = 1 - layer / kLayers;
    for (const head of range(kHeads)) {
      const queries = of_head(model, layer, "q", head);
      fill(queries, (row, column) => left * queries.get(row, column));
    }
  }
  return model;
}

export const kDeadExpert = [0, 3] as const;
export const kSimilarExperts = [1, 0, 5] as const;
export const kOneSpace = 2;

export function planted_experts(): Checkpoint {
  const model = random_mixtral(51, 1);
  const normal = normal_numbers(52);
  const of_expert = (layer: number, expert: number, matrix: string) =>
    tensor(model, `model.layers.${layer}.block_sparse_moe.experts.${expert}.${matrix}.weight`).values;

  // All tokens have a large first component, and this expert's router row is its negative only.
  const embedding = tensor(model, "model.embed_tokens.weight").values;
  embedding.forEach((value, index) => (embedding[index] = index % kWidth === 0 ? 3 : 10 * value));
  for (const layer of range(kLayers)) {
    const router = whole(model, `model.layers.${layer}.block_sparse_moe.gate.weight`);
    for (const expert of range(router.rows)) router.set(expert, 0, 0);
    if (layer === kDeadExpert[0]) for (const column of range(kWidth)) router.set(kDeadExpert[1], column, column === 0 ? -9 : 0);
  }

  const [layer, one, other] = kSimilarExperts;
  for (const matrix of ["w1", "w2", "w3"]) of_expert(layer, other, matrix).set(of_expert(layer, one, matrix));

  const basis = range(12).map(() => range(kWidth).map(normal));
  for (const expert of range(8)) {
    const gate = of_expert(kOneSpace, expert, "w1");
    for (let row = 0; row < gate.length / kWidth; ++row) {
      const factors = range(12).map(normal);
      for (const column of range(kWidth))
        gate[row * kWidth + column] =
          0.05 * range(12).reduce((sum, index) => sum + (factors[index] ?? 0) * (basis[index]?.[column] ?? 0), 0);
    }
  }
  return model;
}

/** A Llama model, and copies with a rank-2 change and with a random change. */
export function planted_change(): { base: Checkpoint; small: Checkpoint; random: Checkpoint } {
  const [base, small, random] = [random_llama(61, 1), random_llama(61, 1), random_llama(61, 1)];
  const normal = normal_numbers(62);
  for (const layer of range(kLayers)) {
    const name = `model.layers.${layer}.self_attn.q_proj.weight`;
    for (let direction = 0; direction < 2; ++direction) {
      const [left, right] = [range(kWidth).map(normal), range(kWidth).map(normal)];
      tensor(small, name).values.forEach((value, index, all) => {
        all[index] = value + 0.01 * (left[Math.floor(index / kWidth)] ?? 0) * (right[index % kWidth] ?? 0);
      });
    }
    tensor(random, name).values.forEach((value, index, all) => (all[index] = value + 0.01 * normal()));
  }
  return { base, small, random };
}

export const kCopiesSource = [1, 2] as const;
export const kAttendsToMarker = [2, 4] as const;
const kMarker = { text: ",", token: 12 }; // in the examples' tokenizer; first token of each source

/**
 * A T5 model whose decoder can predict only through cross-attention. The first residual dimensions contain the token embedding, and the LM
 * head reads the next ones. kCopiesSource attends uniformly and copies from the former to the latter. kAttendsToMarker attends to the
 * comma.
 */
export function planted_cross_attention(): Checkpoint {
  const model = random_t5(91, 0.05);
  const normal = normal_numbers(92);
  const embedding = whole(model, "shared.weight");
  const output_head = whole(model, "lm_head.weight");
  const [for_marker, for_all] = [kWidth - 1, kWidth - 2]; // nonzero in the embedding of the marker, and of every token
  for (const token of range(kVocabulary)) {
    for (const column of range(kHeadWidth)) {
      const value = normal();
      embedding.set(token, column, value);
      output_head.set(token, kHeadWidth + column, 0.6 * value);
    }
    embedding.set(token, for_marker, token === kMarker.token ? 3 : 0);
    embedding.set(token, for_all, 3);
  }
  const cross = (layer: number, matrix: string) => whole(model, `decoder.block.${layer}.layer.1.EncDecAttention.${matrix}.weight`);

  const [layer, head] = kCopiesSource;
  const of_copy = { q: cross(layer, "q"), v: cross(layer, "v"), o: cross(layer, "o") };
  for (const row of range(kHeadWidth))
    for (const column of range(kWidth)) {
      of_copy.q.set(head * kHeadWidth + row, column, 0);
      of_copy.v.set(head * kHeadWidth + row, column, row === column ? 1 : 0);
      of_copy.o.set(column, head * kHeadWidth + row, column === kHeadWidth + row ? 2 : 0);
    }

  const [sharp_layer, sharp_head] = kAttendsToMarker;
  cross(sharp_layer, "q").set(sharp_head * kHeadWidth, for_all, 5);
  cross(sharp_layer, "k").set(sharp_head * kHeadWidth, for_marker, 5);
  return model;
}

const kWordsOfOneToken = "king queen night day heart crown blood love death father brother".split(" ");

/** One pair of lines per word, which source and target repeat. With `related` false, the target has the word of another pair. */
export function pairs_of_copies(related: boolean): { sources: string; targets: string } {
  const words = kWordsOfOneToken;
  const line = (word: string | undefined, times: number) => ` ${word}`.repeat(times);
  const others = words.map((word, index) => (related ? word : words[(index + 4) % words.length]));
  return {
    sources: words.map((word) => kMarker.text + line(word, 9)).join("\n"),
    targets: others.map((word) => line(word, 6)).join("\n"),
  };
}
