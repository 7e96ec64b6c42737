// Random models with something planted in their weights, which a sentence of the overview has to find.
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

/** What a head of GPT-2 reads by its queries, keys or values, or writes: (head width, width), both ways. */
function of_head(model: Checkpoint, layer: number, matrix: "q" | "k" | "v" | "o", head: number): Matrix {
  const name = `h.${layer}.attn.${matrix === "o" ? "c_proj" : "c_attn"}.weight`;
  const first = head * kHeadWidth;
  return matrix === "o"
    ? element_wise(tensor(model, name).values, (row, column) => (first + row) * kWidth + column)
    : element_wise(tensor(model, name).values, (row, column) => column * 3 * kWidth + "qkv".indexOf(matrix) * kWidth + first + row);
}

/** A whole matrix of GPT-2: what is read down, what is written across. */
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

/** Makes the matrix a sum of `rank` random directions of falling weight, and a little of everything. */
function of_few_directions(model: Checkpoint, name: string, rank: number, seed: number): void {
  const normal = normal_numbers(seed);
  const matrix = whole(model, name);
  const left = range(matrix.rows).map(() => range(rank).map(normal));
  const right = range(rank).map(() => range(matrix.columns).map(normal));
  const dot = (row: number, column: number) =>
    range(rank).reduce((sum, index) => sum + (left[row]?.[index] ?? 0) * (right[index]?.[column] ?? 0), 0);
  fill(matrix, (row, column) => 0.1 * dot(row, column) + 0.01 * normal(), matrix.rows, matrix.columns);
}

/** Layer and head of what stands in the weights of heads and matrices of `planted_weights`. */
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

  // One direction, which the earlier head writes and the keys of the later one read.
  const [early, early_head, late, late_head] = kPlanted.composes;
  const direction = range(kWidth).map(normal);
  const along = (row: number, column: number) => (row + 1) * 0.02 * (direction[column] ?? 0);
  fill(of_head(model, early, "o", early_head), along);
  fill(of_head(model, late, "k", late_head), along);

  whole(model, `h.${kPlanted.heavy}.mlp.c_fc.weight`).set(7, 9, 6);
  return model;
}

/** `rank` of the MLP's first matrix by layer, falling; its second matrix has few directions but in the last layer. */
export const kRanks = [80, 60, 44, 32, 20, 8];
export const kSymmetricLayer = 4;
export const kMlaRank = 12;

export function planted_spectra(): Checkpoint {
  const model = random_gpt2(21, 1);
  kRanks.forEach((rank, layer) => {
    of_few_directions(model, `h.${layer}.mlp.c_fc.weight`, rank, 100 + layer);
    if (layer < kLayers - 1) of_few_directions(model, `h.${layer}.mlp.c_proj.weight`, 16, 200 + layer);
    // Keys and values of all heads read one small space.
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

// Of a stream of 96 numbers the first 16 say where a token stands, 40 which it is, and 40 which is to come.
const kPlaces = 16;
const kToken = 40;
const angle = (index: number, position: number) => Math.PI * (((index + 1) * 0.618034) % 1) * position; // that come round together never

export const kPreviousToken = [0, 0] as const;
export const kSink = [1, 1] as const;
export const kCollapsed = 3;
export const kRaises = [5, 2] as const;
export const kLowers = [5, 3] as const;

type Writer = readonly [readonly [number, number], number]; // a head, and by what it raises the tokens that it reads

/** Five heads that raise them a little, and one that lowers them so much that the text's loss falls without it. */
export const kOneInTheWay: readonly Writer[] = [...[0, 1, 2, 4, 5].map((head): Writer => [[5, head], 0.15]), [kLowers, -0.6]];

/** Heads that look one back, at the first token, and at everything, of which some raise or lower the tokens that they read. */
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

  // Keys say where they stand; queries the same, turned one step back.
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

/** A text in which what was read comes again, for a while: paragraphs of a few words each, over and over. */
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

/** One head's output scaled to 1e-4, and one dimension of the stream that is +400 from a layer on. */
export function planted_activations(): Checkpoint {
  const model = random_gpt2(81, 1);
  const [layer, head] = kDeadHead;
  const output = of_head(model, layer, "o", head);
  fill(output, (row, column) => 1e-4 * output.get(row, column));
  tensor(model, `h.${kMassive.layer}.mlp.c_proj.bias`).values[kMassive.dimension] = kMassive.value;
  return model;
}

/** Scores that are far from even in the first layer and nearly equal in the last: so maps lose rank. */
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

  // All tokens have much of the first number, of which the router's row for that expert has the opposite alone.
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

/** A Llama, and the same after a change of two directions, and after one of random numbers. */
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
const kMarker = { text: ",", token: 12 }; // of the examples' tokenizer; it begins each source

/**
 * A T5 whose decoder can only predict by cross-attention. The first numbers of the residual stream hold a token's embedding, and the
 * output head reads the next ones: kCopiesSource attends uniformly and copies from the former to the latter. kAttendsToMarker attends to
 * the comma.
 */
export function planted_cross_attention(): Checkpoint {
  const model = random_t5(91, 0.05);
  const normal = normal_numbers(92);
  const embedding = whole(model, "shared.weight");
  const output_head = whole(model, "lm_head.weight");
  const [for_marker, for_all] = [kWidth - 1, kWidth - 2]; // not 0 in the embedding of the marker, and of every token
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

/** A pair of lines per word: it again and again, and again in the target; with `related` false the target has another pair's word. */
export function pairs_of_copies(related: boolean): { sources: string; targets: string } {
  const words = kWordsOfOneToken;
  const line = (word: string | undefined, times: number) => ` ${word}`.repeat(times);
  const others = words.map((word, index) => (related ? word : words[(index + 4) % words.length]));
  return {
    sources: words.map((word) => kMarker.text + line(word, 9)).join("\n"),
    targets: others.map((word) => line(word, 6)).join("\n"),
  };
}
