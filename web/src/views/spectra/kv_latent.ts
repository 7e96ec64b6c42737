// What a low-rank latent would keep, layer by layer.
import { counted_axis } from "../../chart/axis";
import type { LinesChart, Panel } from "../../chart/lines";
import type { Color } from "../../chart/theme";
import { kept_energy } from "../../data/kv_latent";
import { rows_of } from "../../data/report";
import type { Reading } from "../../shaping/reading";

const kSides: readonly { side: "query" | "kv"; words: string; colour: Color }[] = [
  { side: "query", words: "queries", colour: { role: "q" } },
  { side: "kv", words: "keys and values", colour: { role: "kv" } },
];

/** The energy that latents of queries and of keys and values keep, against the layer; undefined where the report says nothing of them. */
export function mla_chart({ report, model }: Reading): LinesChart | undefined {
  const rows = rows_of(report, "mla", model.name).sort((a, b) => a.layer - b.layer);
  const panels = kSides.flatMap(({ side, words }): Panel[] => {
    const of_layers = rows.map((row) => kept_energy(row[side]));
    const known = of_layers.find((each) => each !== undefined);
    const line = (series: string, value: "energy" | "random_energy") => ({
      series,
      x: rows.map(({ layer }) => layer),
      y: of_layers.map((each) => each?.[value] ?? null),
    });
    return known
      ? [{ title: `A latent of ${known.rank} for the ${words}`, lines: [line("null", "random_energy"), line(side, "energy")] }]
      : [];
  });
  if (panels.length === 0) return undefined;
  return {
    kind: "lines",
    name: "latent-energy",
    title: "What a latent keeps",
    note:
      "The share of the weights' energy that a low-rank factor keeps, as multi-head latent attention has it. Dashed: of " +
      "random matrices of these shapes.",
    x: counted_axis("layer", model.layers),
    y: { title: "energy kept", scale: "linear", domain: [0, 1], format: "percent" },
    series: [
      ...kSides.map(({ side, words, colour }) => ({ key: side, label: words, colour })),
      { key: "null", label: "null", colour: "null" },
    ],
    points: model.layers <= 16,
    panels,
  };
}
