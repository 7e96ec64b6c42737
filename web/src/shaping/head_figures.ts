// Six measures of every head, from its weights.
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
    title: circuit === "qk" ? "QK energy rank" : "OV energy rank",
    id: "circuits",
    circuit,
    format: ".0f",
    scale: rank_scale,
    note:
      `Singular values for ${threshold_words(threshold)} of the energy. Maximum: ` +
      `${first?.max_possible_rank ?? model.head_dim}${null_rank === undefined ? "" : `, random: ${null_rank}`}. ` +
      "Stronger color: lower rank.",
    // Two analyses have this value, and a report may contain only one of them.
    value: (place) =>
      at_threshold(circuit_at(reading, circuit, place)?.energy_rank ?? spectrum_at(reading, circuit, place)?.energy_rank, threshold),
  };
}

/** The six measures of every head, in display order. */
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
  const at_offset = offset === undefined ? "" : ` (RoPE at offset ${offset})`;
  return [
    rank_figure(reading, "qk"),
    rank_figure(reading, "ov"),
    {
      ...scores,
      name: "heads-symmetry",
      title: "QK symmetry",
      circuit: "qk",
      note: `+1: two tokens score each other equally; \u22121: with opposite sign${at_offset}.`,
      scale: () => score_scale(1),
      value: of("qk", (row) => row.symmetry),
    },
    {
      ...scores,
      name: "heads-copying",
      title: "OV copying score",
      circuit: "ov",
      note: "+1: all eigenvalues of OV positive; \u22121: all negative. Says nothing about behavior on text.",
      scale: () => score_scale(1),
      value: of("ov", (row) => row.copying_score),
    },
    {
      ...scores,
      name: "heads-identity",
      title: "QK identity cosine",
      circuit: "qk",
      note: `Cosine of QK with the identity. Above 0: similar keys score higher${at_offset}. Maximum for one head: ±${bound.toFixed(2)}.`,
      scale: () => score_scale(bound),
      value: of("qk", (row) => row.identity_cosine),
    },
    {
      name: "heads-overlap",
      title: "Rank drop from K to QK",
      id: "circuits",
      circuit: "qk",
      format: ".0f",
      note: `Energy rank (${threshold_words(threshold)}) of the key weights minus that of QK.`,
      scale: (values) => limit_scale(Math.max(1, Math.ceil(model.head_dim / 2), ...values), ".0f"),
      value: of("qk", (row) => at_threshold(row.rank_drop, threshold)),
    },
  ];
}
