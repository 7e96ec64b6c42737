// Six figures of every head, from its weights.
import { at_threshold, row_at, rows_of } from "../data/report";
import type { CircuitsRow, SpectrumRow } from "../data/report_file";
import { limit_scale, rank_scale, score_scale, type HeadFigure, type HeadIndex } from "./head_grid";
import type { Reading } from "./reading";
import { rotary_offset } from "./rotary";
import { threshold_words } from "./shared_words";

type Circuit = "qk" | "ov";

export const circuit_at = ({ report, model }: Reading, circuit: Circuit, { layer, head }: HeadIndex): CircuitsRow | undefined =>
  row_at(report, "circuits", { model: model.name, layer, head, circuit });

export const spectrum_at = ({ report, model }: Reading, matrix: Circuit, { layer, head }: HeadIndex): SpectrumRow | undefined =>
  row_at(report, "spectrum", { model: model.name, layer, head, matrix });

function rank_figure(reading: Reading, circuit: Circuit): HeadFigure {
  const { threshold, model } = reading;
  const first = rows_of(reading.report, "spectrum", model.name).find((row) => row.matrix === circuit && row.head !== null);
  const null_rank = at_threshold(first?.random_energy_rank, threshold);
  return {
    name: `heads-${circuit}-rank`,
    title: circuit === "qk" ? "QK rank" : "OV rank",
    id: "circuits",
    circuit,
    format: ".0f",
    scale: rank_scale,
    note:
      `Directions for ${threshold_words(threshold)} of the energy, of ` +
      `${first?.max_possible_rank ?? model.head_dim}${null_rank === undefined ? "" : `; random numbers need ${null_rank}`}. Stronger: fewer.`,
    // Both analyses have it: a report may hold only one of them.
    value: (place) =>
      at_threshold(circuit_at(reading, circuit, place)?.energy_rank ?? spectrum_at(reading, circuit, place)?.energy_rank, threshold),
  };
}

/** The six figures of every head, in the order in which they are shown. */
export function head_figures(reading: Reading): HeadFigure[] {
  const { report, model, threshold } = reading;
  const bound =
    rows_of(report, "circuits", model.name).find((row) => row.circuit === "qk" && row.head !== null)?.identity_cosine_bound ?? 1;
  const of = (circuit: Circuit, read: (row: CircuitsRow) => number | null | undefined) => (place: HeadIndex) => {
    const row = circuit_at(reading, circuit, place);
    return row && read(row);
  };
  const scores = { id: "circuits", format: "score" } as const;
  const offset = rotary_offset(reading);
  const at_offset = offset === undefined ? "" : `, at rotary offset ${offset}`;
  return [
    rank_figure(reading, "qk"),
    rank_figure(reading, "ov"),
    {
      ...scores,
      name: "heads-symmetry",
      title: "QK symmetry",
      circuit: "qk",
      note: `+1: two tokens score each other alike; \u22121: oppositely${at_offset}.`,
      scale: () => score_scale(1),
      value: of("qk", (row) => row.symmetry),
    },
    {
      ...scores,
      name: "heads-copying",
      title: "OV copying score",
      circuit: "ov",
      note: "Eigenvalues of OV, +1: all positive; \u22121: all negative. What the head does on text they do not tell.",
      scale: () => score_scale(1),
      value: of("ov", (row) => row.copying_score),
    },
    {
      ...scores,
      name: "heads-identity",
      title: "QK likeness to identity",
      circuit: "qk",
      note: `Cosine with I: above 0, keys like the query score higher${at_offset}. A head of this size can reach ±${bound.toFixed(2)}.`,
      scale: () => score_scale(bound),
      value: of("qk", (row) => row.identity_cosine),
    },
    {
      name: "heads-overlap",
      title: "Rank lost from K to QK",
      id: "circuits",
      circuit: "qk",
      format: ".0f",
      note: `Rank of the keys less that of QK, at ${threshold_words(threshold)} of the energy.`,
      scale: (values) => limit_scale(Math.max(1, Math.ceil(model.head_dim / 2), ...values), ".0f"),
      value: of("qk", (row) => at_threshold(row.overlap, threshold)),
    },
  ];
}
