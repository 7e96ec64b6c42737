// Optional parts of a report for shakespeare-gpt2, as written by the program.
import type { ReportFile } from "../../src/data/report_file";

const kModel = "shakespeare-gpt2";
const kMatrices = ["q", "k", "v", "o", "up", "down"] as const;
const kLayers = 6;

const form = (name: string, description: string, share: number, loss: number, target: string) => ({
  model: kModel,
  method: name,
  description,
  size: 1,
  parameters: share,
  kv_cache_bytes_per_token: 4608,
  mean_nll: 3.1 + loss,
  perplexity: Math.exp(3.1 + loss),
  loss_increase: loss,
  loadable: name !== "low-rank",
  target,
  note: name === "low-rank" ? "factors need a custom runtime" : "",
});

export function add_plan_and_difference(results: ReportFile): void {
  const whole = results.models.find(({ name }) => name === kModel)?.parameters ?? 0;
  const places = Array.from({ length: kLayers }, (_, layer) => kMatrices.map((matrix) => ({ model: kModel, layer, matrix }))).flat();
  const add = (id: string, command: string, again: string, rows: object[], parameters: object = {}) =>
    results.reports.push({ id, model: kModel, command, again, parameters, rows, skipped: [] } as never);
  const fitted = "attnscope plan examples/shakespeare-gpt2 --calibration-file book.txt";
  add(
    "plan",
    "plan",
    fitted,
    [
      form("mlp", "MLP 768 → 691", Math.round(0.93 * whole), 0.005, "set mlp=691"),
      form("mlp", "MLP 768 → 576", Math.round(0.83 * whole), 0.026, "set mlp=576"),
      form("depth", "6 → 5 (without 3)", Math.round(0.84 * whole), 0.066, "set remove-layers=3"),
      form("low-rank", "30 matrices as factors", Math.round(0.79 * whole), 0.03, "keep 0.75"),
    ],
    { eval_windows: 60, eval_sequences: 32, length: 128 },
  );
  add(
    "plan_layers",
    "plan",
    `${fitted} --method depth --keep 0.999`,
    [3.6, 0.12, 0.05, 0.048, 0.066, 0.12].map((loss, layer) => ({
      model: kModel,
      layer,
      matrix: null,
      loss_increase: loss,
      attention_loss_increase: loss / 3,
      mlp_loss_increase: 0.9 * loss,
      block_influence: 0.1 + loss / 5,
      attention_influence: 0.05 + loss / 10,
      mlp_influence: 0.05 + loss / 8,
      order: layer === 3 ? 1 : null,
    })),
  );
  add(
    "plan_ranks",
    "plan",
    `${fitted} --method low-rank --keep 0.8`,
    places.map((place, index) => ({
      ...place,
      rank: index % 4 === 0 ? null : 20 + index,
      max_possible_rank: 192,
      loss_increase: null,
      block_influence: null,
    })),
    { target: "keep 0.8" },
  );
  const ranks = (least: number) => ({ "0.6": least, "0.8": 2 * least, "0.9": 3 * least, "0.99": 5 * least });
  const space = { overlap: 0.4, random_overlap: 0.2, angle: 0.3 };
  add(
    "diff",
    "diff",
    "attnscope diff base examples/shakespeare-gpt2 --energy 0.6,0.8,0.9,0.99",
    places.map((place, index) => ({
      ...place,
      head: null,
      shape: [192, 192],
      relative_change: 0.02 + index / 1000,
      change_norm: 1,
      weight_norm: 10,
      energy_rank: ranks(5),
      random_energy_rank: ranks(32),
      weight_energy_rank: ranks(20),
      max_possible_rank: 192,
      output_space: index % 5 === 0 ? null : space,
      input_space: space,
    })),
  );
}
