// Incomplete checkpoints made from the examples. Their reports must open.
import { cpSync, existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { kWeb } from "./sample_reports";

interface Tensor {
  dtype: string;
  shape: number[];
  data_offsets: [number, number];
}

type Header = Record<string, Tensor>;

interface Broken {
  name: string;
  base: "shakespeare-llama" | "shakespeare-gpt2";
  without?: RegExp; // missing tensors
  fill?: readonly [RegExp, number]; // tensors filled with this byte: 0xff is NaN in every float type
  config?: object;
  tokenizer?: false;
  text?: readonly string[]; // arguments of `report`
}

const kRoles = {
  q: "self_attn.q_proj",
  k: "self_attn.k_proj",
  v: "self_attn.v_proj",
  o: "self_attn.o_proj",
  gate: "mlp.gate_proj",
  up: "mlp.up_proj",
  down: "mlp.down_proj",
};
const of_role = Object.entries(kRoles);
const tensor = (name: string, layer = "1") => new RegExp(`layers\\.${layer}\\.${name.replace(".", "\\.")}\\.weight$`);

export const kBroken: readonly Broken[] = [
  ...of_role.flatMap(([role, name]): Broken[] => [
    { name: `without-${role}`, base: "shakespeare-llama", without: tensor(name) },
    { name: `nan-${role}`, base: "shakespeare-llama", fill: [tensor(name), 0xff] },
  ]),
  { name: "without-k-anywhere", base: "shakespeare-llama", without: tensor(kRoles.k, "\\d") },
  { name: "nan-everywhere", base: "shakespeare-llama", fill: [/proj\.weight$/, 0xff] },
  { name: "zero-q", base: "shakespeare-llama", fill: [tensor(kRoles.q), 0] },
  { name: "without-fused-qkv", base: "shakespeare-gpt2", without: /h\.1\.attn\.c_attn\.weight$/ },
  { name: "without-embedding", base: "shakespeare-gpt2", without: /wte\.weight$/ },
  { name: "one-layer", base: "shakespeare-llama", config: { num_hidden_layers: 1 } },
  { name: "one-head", base: "shakespeare-gpt2", config: { n_head: 1 } },
  { name: "one-layer-one-head", base: "shakespeare-gpt2", config: { n_head: 1, n_layer: 1 } },
  { name: "without-tokenizer", base: "shakespeare-gpt2", tokenizer: false },
  { name: "one-token", base: "shakespeare-gpt2", text: ["--tokens", "5"] },
  { name: "two-tokens", base: "shakespeare-gpt2", text: ["--tokens", "5,6"] },
];

/** Writes the checkpoint and returns its folder, which no concurrent test file uses. */
export function broken_model({ name, base, without, fill, config, tokenizer }: Broken): string {
  const folder = resolve(kWeb, `build/broken/${process.env.VITEST_POOL_ID}`, name);
  rmSync(folder, { recursive: true, force: true });
  cpSync(resolve(kWeb, "../examples", base), folder, { recursive: true });
  if (tokenizer === false)
    for (const file of ["tokenizer.json", "tokenizer_config.json"]) if (existsSync(join(folder, file))) rmSync(join(folder, file));
  const settings = join(folder, "config.json");
  writeFileSync(settings, JSON.stringify({ ...(JSON.parse(readFileSync(settings, "utf8")) as object), ...config }));
  const weights = join(folder, "model.safetensors");
  const bytes = readFileSync(weights);
  const length = Number(bytes.readBigUInt64LE(0));
  const header = JSON.parse(bytes.subarray(8, 8 + length).toString()) as Header;
  const kept: Header = {};
  let found = 0;
  const parts: Buffer[] = [];
  let at = 0;
  for (const [key, each] of Object.entries(header)) {
    if (without?.test(key)) {
      ++found;
      continue;
    }
    if (key === "__metadata__") {
      kept[key] = each;
      continue;
    }
    const data = Buffer.from(bytes.subarray(8 + length + each.data_offsets[0], 8 + length + each.data_offsets[1]));
    if (fill?.[0].test(key)) {
      ++found;
      data.fill(fill[1]);
    }
    kept[key] = { ...each, data_offsets: [at, at + data.length] };
    at += data.length;
    parts.push(data);
  }
  if ((without || fill) && found === 0) throw new Error(`${name}: no tensor of ${base} matches`);
  const text = Buffer.from(JSON.stringify(kept).padEnd(Math.ceil(JSON.stringify(kept).length / 8) * 8));
  const size = Buffer.alloc(8);
  size.writeBigUInt64LE(BigInt(text.length));
  writeFileSync(weights, Buffer.concat([size, text, ...parts]));
  return folder;
}
