// Energy kept by a low-rank latent, by layer.
import { counted_axis } from "../../chart/axis";
import type { LinesChart, Panel } from "../../chart/lines";
import type { Color } from "../../chart/theme";
import { kept_energy } from "../../data/kv_latent";
import { rows_of } from "../../data/report";
import type { Reading } from "../../shaping/reading";

const kSides: readonly { side: "query" | "kv"; words: string; color: Color }[] = [
  { side: "query", words: "queries", color: { role: "q" } },
  { side: "kv", words: "keys and values", color: { role: "kv" } },
];

/** Energy kept by a query latent and by a KV latent, by layer. Undefined if the report has no values. */
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
      ? [{ title: `Latent of rank ${known.rank} for ${words}`, lines: [line("null", "random_energy"), line(side, "energy")] }]
      : [];
  });
  if (panels.length === 0) return undefined;
  return {
    kind: "lines",
    name: "latent-energy",
    title: "Energy kept by a latent",
    note:
      "Fraction of the weights' energy kept by a low-rank latent, as in multi-head latent attention (MLA). Dashed: random matrices of " +
      "the same shapes.",
    x: counted_axis("layer", model.layers),
    y: { title: "energy kept", scale: "linear", domain: [0, 1], format: "percent" },
    series: [
      ...kSides.map(({ side, words, color }) => ({ key: side, label: words, color })),
      { key: "null", label: "random", color: "null" },
    ],
    points: model.layers <= 16,
    panels,
  };
}
