// Small checkpoints with generated weights: random ones, without any structure, and ones with planted structure.
import { cpSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { kWeb } from "./sample_reports";

export interface Tensor {
  shape: readonly number[];
  values: Float32Array;
}

export interface Checkpoint {
  config: object;
  tensors: Map<string, Tensor>;
}

/** Writes the checkpoint, optionally with the examples' tokenizer (1,024 tokens). Returns its folder. */
export function write_checkpoint(name: string, { config, tensors }: Checkpoint, with_tokenizer = true): string {
  const folder = resolve(kWeb, "build/made", name);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const file of with_tokenizer ? ["tokenizer.json", "tokenizer_config.json"] : [])
    cpSync(resolve(kWeb, "../examples/shakespeare-gpt2", file), resolve(folder, file));
  writeFileSync(resolve(folder, "config.json"), JSON.stringify(config));
  let at = 0;
  const header = Object.fromEntries(
    [...tensors].map(([key, { shape, values }]) => [
      key,
      { dtype: "F32", shape, data_offsets: [at, (at += values.byteLength)] as [number, number] },
    ]),
  );
  const text = Buffer.from(JSON.stringify(header));
  const size = Buffer.alloc(8);
  size.writeBigUInt64LE(BigInt(text.length));
  const parts = [...tensors.values()].map(({ values }) => Buffer.from(values.buffer, values.byteOffset, values.byteLength));
  writeFileSync(resolve(folder, "model.safetensors"), Buffer.concat([size, text, ...parts]));
  return folder;
}

/** Standard normal numbers (mulberry32 and Box–Muller). */
export function normal_numbers(seed: number): () => number {
  let state = seed >>> 0;
  const uniform = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let bits = Math.imul(state ^ (state >>> 15), state | 1);
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61);
    return ((bits ^ (bits >>> 14)) >>> 0) / 4294967296;
  };
  return () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());
}

export const kVocabulary = 1024;
export const kWidth = 96;
export const kLayers = 6;
export const kHeads = 6;
export const kHeadWidth = kWidth / kHeads;
const kPositions = 64;

const kExperts = 8;
export const kExpertWidth = 48;

const filled = (shape: readonly number[], value: () => number): Tensor => ({
  shape,
  values: Float32Array.from({ length: shape.reduce((product, each) => product * each, 1) }, value),
});

/** A GPT-2 model with random weights. `scale` 1: standard deviation 1/√hidden size; GPT-2 is initialized with about 0.2. */
export function random_gpt2(seed: number, scale: number): Checkpoint {
  const normal = normal_numbers(seed);
  const random = (...shape: number[]) => filled(shape, () => (scale * normal()) / Math.sqrt(kWidth));
  const same = (value: number, ...shape: number[]) => filled(shape, () => value);
  const tensors = new Map<string, Tensor>([
    ["wte.weight", random(kVocabulary, kWidth)],
    ["wpe.weight", random(kPositions, kWidth)],
    ["ln_f.weight", same(1, kWidth)],
    ["ln_f.bias", same(0, kWidth)],
  ]);
  for (let layer = 0; layer < kLayers; ++layer) {
    const parts: [string, Tensor][] = [
      ["ln_1.weight", same(1, kWidth)],
      ["ln_1.bias", same(0, kWidth)],
      ["attn.c_attn.weight", random(kWidth, 3 * kWidth)],
      ["attn.c_attn.bias", same(0, 3 * kWidth)],
      ["attn.c_proj.weight", random(kWidth, kWidth)],
      ["attn.c_proj.bias", same(0, kWidth)],
      ["ln_2.weight", same(1, kWidth)],
      ["ln_2.bias", same(0, kWidth)],
      ["mlp.c_fc.weight", random(kWidth, 4 * kWidth)],
      ["mlp.c_fc.bias", same(0, 4 * kWidth)],
      ["mlp.c_proj.weight", random(4 * kWidth, kWidth)],
      ["mlp.c_proj.bias", same(0, kWidth)],
    ];
    for (const [name, tensor] of parts) tensors.set(`h.${layer}.${name}`, tensor);
  }
  const config = {
    architectures: ["GPT2LMHeadModel"],
    model_type: "gpt2",
    activation_function: "gelu_new",
    layer_norm_epsilon: 1e-5,
    n_embd: kWidth,
    n_head: kHeads,
    n_layer: kLayers,
    n_positions: kPositions,
    vocab_size: kVocabulary,
    tie_word_embeddings: true,
  };
  return { config, tensors };
}

type Random = (...shape: number[]) => Tensor;

const dense = (random: Random): [string, Tensor][] => [
  ["mlp.gate_proj.weight", random(3 * kWidth, kWidth)],
  ["mlp.up_proj.weight", random(3 * kWidth, kWidth)],
  ["mlp.down_proj.weight", random(kWidth, 3 * kWidth)],
];

const experts = (random: Random): [string, Tensor][] => [
  ["block_sparse_moe.gate.weight", random(kExperts, kWidth)],
  ...Array.from({ length: kExperts }, (_, expert): [string, Tensor][] => [
    [`block_sparse_moe.experts.${expert}.w1.weight`, random(kExpertWidth, kWidth)],
    [`block_sparse_moe.experts.${expert}.w3.weight`, random(kExpertWidth, kWidth)],
    [`block_sparse_moe.experts.${expert}.w2.weight`, random(kWidth, kExpertWidth)],
  ]).flat(),
];

/** A Mixtral model with random weights: the Llama below with 8 experts per layer, 2 per token. */
export const random_mixtral = (seed: number, scale: number): Checkpoint => random_llama(seed, scale, true);

/** A Llama model with random weights: RoPE, grouped-query attention, untied LM head. */
export function random_llama(seed: number, scale: number, with_experts = false): Checkpoint {
  const normal = normal_numbers(seed);
  const random = (...shape: number[]) => filled(shape, () => (scale * normal()) / Math.sqrt(kWidth));
  const ones = () => filled([kWidth], () => 1);
  const tensors = new Map<string, Tensor>([
    ["model.embed_tokens.weight", random(kVocabulary, kWidth)],
    ["model.norm.weight", ones()],
    ["lm_head.weight", random(kVocabulary, kWidth)],
  ]);
  const kv_heads = kHeads / 2;
  for (let layer = 0; layer < kLayers; ++layer) {
    const parts: [string, Tensor][] = [
      ["input_layernorm.weight", ones()],
      ["self_attn.q_proj.weight", random(kWidth, kWidth)],
      ["self_attn.k_proj.weight", random(kv_heads * kHeadWidth, kWidth)],
      ["self_attn.v_proj.weight", random(kv_heads * kHeadWidth, kWidth)],
      ["self_attn.o_proj.weight", random(kWidth, kWidth)],
      ["post_attention_layernorm.weight", ones()],
      ...(with_experts ? experts(random) : dense(random)),
    ];
    for (const [name, tensor] of parts) tensors.set(`model.layers.${layer}.${name}`, tensor);
  }
  const config = {
    architectures: [with_experts ? "MixtralForCausalLM" : "LlamaForCausalLM"],
    model_type: with_experts ? "mixtral" : "llama",
    ...(with_experts ? { num_local_experts: kExperts, num_experts_per_tok: 2 } : {}),
    hidden_act: "silu",
    rms_norm_eps: 1e-6,
    rope_theta: 10000,
    hidden_size: kWidth,
    intermediate_size: with_experts ? kExpertWidth : 3 * kWidth,
    num_attention_heads: kHeads,
    num_key_value_heads: kv_heads,
    num_hidden_layers: kLayers,
    max_position_embeddings: kPositions,
    vocab_size: kVocabulary,
    tie_word_embeddings: false,
  };
  return { config, tensors };
}

const kStackLayers = { encoder: 2, decoder: 3 };

/** A T5 model with random weights: encoder, decoder with cross-attention, untied LM head. */
export function random_t5(seed: number, scale: number): Checkpoint {
  const normal = normal_numbers(seed);
  const random = (...shape: number[]) => filled(shape, () => (scale * normal()) / Math.sqrt(kWidth));
  const ones = () => filled([kWidth], () => 1);
  const tensors = new Map<string, Tensor>([
    ["shared.weight", random(kVocabulary, kWidth)],
    ["lm_head.weight", random(kVocabulary, kWidth)],
  ]);
  for (const [stack, layers] of Object.entries(kStackLayers)) {
    const attentions = stack === "decoder" ? ["SelfAttention", "EncDecAttention"] : ["SelfAttention"];
    const mlp = attentions.length;
    for (let layer = 0; layer < layers; ++layer) {
      const parts: [string, Tensor][] = [
        ...attentions.flatMap((attention, branch): [string, Tensor][] => [
          [`${branch}.layer_norm.weight`, ones()],
          ...["q", "k", "v", "o"].map((matrix): [string, Tensor] => [`${branch}.${attention}.${matrix}.weight`, random(kWidth, kWidth)]),
        ]),
        [`${mlp}.layer_norm.weight`, ones()],
        [`${mlp}.DenseReluDense.wi.weight`, random(4 * kWidth, kWidth)],
        [`${mlp}.DenseReluDense.wo.weight`, random(kWidth, 4 * kWidth)],
      ];
      for (const [name, tensor] of parts) tensors.set(`${stack}.block.${layer}.layer.${name}`, tensor);
    }
    tensors.set(`${stack}.block.0.layer.0.SelfAttention.relative_attention_bias.weight`, random(32, kHeads));
    tensors.set(`${stack}.final_layer_norm.weight`, ones());
  }
  const config = {
    architectures: ["T5ForConditionalGeneration"],
    model_type: "t5",
    feed_forward_proj: "relu",
    layer_norm_epsilon: 1e-6,
    d_model: kWidth,
    d_kv: kHeadWidth,
    d_ff: 4 * kWidth,
    num_heads: kHeads,
    num_layers: kStackLayers.encoder,
    num_decoder_layers: kStackLayers.decoder,
    relative_attention_num_buckets: 32,
    decoder_start_token_id: 0,
    vocab_size: kVocabulary,
    is_encoder_decoder: true,
    tie_word_embeddings: false,
  };
  return { config, tensors };
}
