// Comparison of several models by relative depth: one chart per measure of an analysis.
import type { Axis } from "../../chart/axis";
import type { LinesChart, Panel } from "../../chart/lines";
import { matrix_words, type Words } from "../../chart/rich_text";
import { overlap_matrix } from "../../data/matrix";
import { at_threshold, matrices_in, rows_of, type Report } from "../../data/report";
import type { AnalysisId, Matrix, Model, RowsOf } from "../../data/report_file";
import { cosine_deviation } from "../../shaping/random_baselines";
import type { Reading } from "../../shaping/reading";
import { all_values, depth_line, has_values, kDepth, model_series } from "../../shaping/relative_depth";

const mean = (values: readonly (number | null | undefined)[]): number | null => {
  const known = values.filter((value): value is number => typeof value === "number");
  return known.length > 0 ? known.reduce((sum, value) => sum + value, 0) / known.length : null;
};

const highest = (values: readonly (number | null | undefined)[]): number | null => {
  const known = values.filter((value): value is number => typeof value === "number");
  return known.length > 0 ? Math.max(...known) : null;
};

interface Measure<Id extends AnalysisId> {
  id: Id;
  name: string;
  title: string;
  note: string;
  y: string;
  rule?: number; // value of a random model
  format?: string;
  /** Panels of rows: a title each, and which rows belong to it. */
  panels(report: Report): { title: Words; of(row: RowsOf[Id]): boolean }[];
  /** The value of a layer from its rows. */
  value(rows: readonly RowsOf[Id][], model: Model, reading: Reading): number | null;
}

/** A panel per matrix that any model has. */
const of_matrices =
  <Id extends "weights" | "similarity" | "overlap" | "experts">(id: Id): Measure<Id>["panels"] =>
  (report) => {
    const rows = report.file.models.flatMap((model) => rows_of(report, id, model.name)) as { matrix: Matrix }[];
    return matrices_in(rows).map((matrix) => ({ title: matrix_words(matrix), of: (row) => (row as { matrix: Matrix }).matrix === matrix }));
  };

/** Mean overlap of two different heads. */
function mean_overlap(matrix: readonly (readonly (number | null)[])[]): number | null {
  return mean(matrix.flatMap((row, one) => row.filter((_, other) => other > one)));
}

const measure = <Id extends AnalysisId>(made: Measure<Id>) => made as unknown as Measure<AnalysisId>;

const kMeasures: readonly Measure<AnalysisId>[] = [
  measure<"weights">({
    id: "weights",
    name: "models-weights-std",
    title: "Standard deviation of weights",
    note: "Standard deviation of the entries of each matrix.",
    y: "standard deviation",
    panels: of_matrices("weights"),
    value: (rows) => mean(rows.filter((row) => row.head === null).map((row) => row.std)),
  }),
  measure<"weights">({
    id: "weights",
    name: "models-weights-excess-kurtosis",
    title: "Excess kurtosis of weights",
    note: "Excess kurtosis of the entries of each matrix. 0: normal distribution; higher: heavier tails.",
    y: "excess kurtosis",
    rule: 0,
    panels: of_matrices("weights"),
    value: (rows) => mean(rows.filter((row) => row.head === null).map((row) => row.excess_kurtosis)),
  }),
  measure<"similarity">({
    id: "similarity",
    name: "models-similarity",
    title: "Cosines between weight vectors, relative to random",
    note: "Standard deviation of the cosines within a head, or of all pairs, divided by that of random directions. 1: random.",
    y: "std / random",
    rule: 1,
    panels: of_matrices("similarity"),
    value: (rows, model) => {
      const row = rows.find((each) => each.scope === "within_head") ?? rows.find((each) => each.scope === "all");
      return row?.std == null ? null : row.std / cosine_deviation(model.hidden_size);
    },
  }),
  measure<"overlap">({
    id: "overlap",
    name: "models-overlap",
    title: "Subspace overlap of heads",
    note: "Mean overlap of two heads of a layer. 0: orthogonal subspaces; 1: equal.",
    y: "overlap",
    panels: of_matrices("overlap"),
    value: (rows, _, { report }) => mean(rows.map((row) => mean_overlap(overlap_matrix(report, row)))),
  }),
  measure<"experts">({
    id: "experts",
    name: "models-experts",
    title: "Energy rank of all experts together, relative to random",
    note: "Energy rank of the stacked matrices of all experts, divided by that of a random matrix. 1: random.",
    y: "rank / random",
    rule: 1,
    panels: of_matrices("experts"),
    value: (rows, _, { threshold }) =>
      mean(
        rows.map((row) => {
          const [rank, random] = [at_threshold(row.energy_rank, threshold), at_threshold(row.random_energy_rank, threshold)];
          return rank !== undefined && random ? rank / random : null;
        }),
      ),
  }),
  measure<"routing">({
    id: "routing",
    name: "models-routing",
    title: "Effective number of experts",
    note: "Effective number of experts that the router uses, divided by the number of experts. 1: equal load.",
    y: "share of experts",
    format: "percent",
    panels: () => [{ title: "effective experts", of: () => true }],
    value: (rows) => mean(rows.map((row) => row.effective_experts / row.experts)),
  }),
  measure<"induction">({
    id: "induction",
    name: "models-induction",
    title: "Induction score",
    note: "Highest score of any head in a layer, on repeated random tokens.",
    y: "score",
    panels: () => [{ title: "highest induction score", of: () => true }],
    value: (rows) => highest(rows.map((row) => row.induction)),
  }),
  measure<"lens">({
    id: "lens",
    name: "models-lens",
    title: "Logit lens",
    note: "Loss of the prediction that is decoded from the residual stream before each layer.",
    y: "nats",
    panels: () => [{ title: "loss", of: (row) => row.state === "resid_pre" }],
    value: (rows) => mean(rows.map((row) => row.loss)),
  }),
  measure<"ablate">({
    id: "ablate",
    name: "models-ablation",
    title: "Ablation effect",
    note: "Loss increase when one component is ablated. Heads: the highest of any head in the layer.",
    y: "loss increase",
    panels: (report) =>
      (["head", "attention", "mlp", "layer"] as const)
        .filter((component) =>
          report.file.models.some((model) => rows_of(report, "ablate", model.name).some((row) => row.component === component)),
        )
        .map((component) => ({ title: component, of: (row) => row.component === component })),
    value: (rows) => highest(rows.map((row) => row.loss_increase)),
  }),
];

function chart_of(
  reading: Reading,
  { id, name, title, note, y, rule, format, panels, value }: Measure<AnalysisId>,
): LinesChart | undefined {
  const { report } = reading;
  const drawn = panels(report)
    .map(({ title: of_panel, of }): Panel => ({
      title: of_panel,
      lines: report.file.models
        .map((model, index) => {
          const rows = rows_of(report, id, model.name).filter(of) as (RowsOf[AnalysisId] & { layer: number | null })[];
          return depth_line(model, index, (layer) => {
            const of_layer = rows.filter((row) => row.layer === layer);
            return of_layer.length > 0 ? value(of_layer, model, reading) : null;
          });
        })
        .filter(has_values),
    }))
    .filter((panel) => panel.lines.length > 0);
  if (drawn.length === 0) return undefined;
  const values = [...all_values(drawn), ...(rule === undefined ? [] : [rule])];
  const [least, most] = [Math.min(0, ...values), Math.max(0, ...values)];
  const axis: Axis = { title: y, scale: "linear", domain: [1.05 * least, 1.05 * most || 1], format: format ?? "tick" };
  return {
    kind: "lines",
    name,
    title,
    note,
    x: kDepth,
    y: axis,
    ...(rule === undefined ? {} : { rule }),
    series: model_series(report),
    panels: drawn,
    points: Math.max(...report.file.models.map((model) => model.layers)) <= 16,
  };
}

/** Charts of all measures that have rows, for two models or more. */
export function comparison_charts(reading: Reading): LinesChart[] {
  if (reading.report.file.models.length < 2) return [];
  return kMeasures.map((each) => chart_of(reading, each)).filter((chart) => chart !== undefined);
}
