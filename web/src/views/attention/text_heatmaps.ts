// Heatmaps of attention measures over all heads.
import type { HeatmapChart } from "../../chart/heatmap";
import { format_number, type Format } from "../../chart/number_format";
import { rows_of } from "../../data/report";
import type { AttentionHeadRow } from "../../data/report_file";
import type { InductionRow } from "../../data/generated_rows";
import { limit_scale, attention_heads, head_chart, type HeadIndex, type HeadFigure } from "../../shaping/head_grid";
import type { Reading } from "../../shaping/reading";
import { text_facts } from "../../shaping/texts";
import { axes_of, kOfText } from "./axes";
import { part_of, type AttentionChoice } from "./charts";

/** The smallest and the largest value of uniform attention. It differs between layers if some have a sliding window. */
function uniform_range(values: readonly (number | null | undefined)[]): [number, number] {
  const known = values.filter((value): value is number => value != null);
  return known.length === 0 ? [0, 0] : [Math.min(...known), Math.max(...known)];
}

function range_text([least, most]: [number, number], format: Format): string {
  const [from, to] = [format_number(least, format), format_number(most, format)];
  return from === to ? from : `${from} to ${to}, depending on the layer`;
}

/** One heatmap per measure on the text, and on repeated tokens if they were measured. */
export function text_heatmaps(reading: Reading, choice: AttentionChoice): HeatmapChart[] {
  const { report, model } = reading;
  const { length, energy } = text_facts(reading);
  const axes = axes_of(reading);
  const { first, noun } = axes ?? kOfText;
  const index = <Row extends HeadIndex>(rows: readonly Row[]) => new Map(rows.map((row) => [`${row.layer}/${row.head}`, row]));
  const rows = index(attention_heads(report, model.name, part_of(choice)));
  const induction = index(rows_of(report, "induction", model.name));
  const on_text =
    (read: (row: AttentionHeadRow) => number | null | undefined) =>
    ({ layer, head }: HeadIndex) => {
      const row = rows.get(`${layer}/${head}`);
      return row && read(row);
    };
  const repeated =
    (read: (row: InductionRow) => number | null) =>
    ({ layer, head }: HeadIndex) => {
      const row = induction.get(`${layer}/${head}`);
      return row && read(row);
    };
  const share: Pick<HeadFigure, "id" | "format" | "scale"> = {
    id: part_of(choice),
    format: "share",
    scale: () => ({ ...limit_scale(1, "share"), transform: "sqrt" }),
  };
  const most = (values: readonly number[]) => Math.max(1, ...values);
  const figures: HeadFigure[] = [
    {
      id: part_of(choice),
      name: "attention-entropy",
      title: "Entropy",
      note: "Attention entropy in nats. High: broad attention.",
      format: ".1f",
      scale: (values) => limit_scale(Math.max(length > 1 ? Math.log(length) : 0, most(values)), ".1f"),
      value: on_text((row) => row.entropy),
    },
    {
      ...share,
      name: "attention-first",
      title: `${first.charAt(0).toUpperCase()}${first.slice(1)}`,
      note: axes?.of === "two texts" ? "Attention on token 0 of the source." : `Attention on ${noun} 0, the usual attention sink.`,
      value: on_text((row) => row.sink_mass),
    },
    {
      ...share,
      name: "attention-previous",
      title: `Previous ${noun}`,
      note: `Attention on the previous ${noun}.`,
      value: on_text((row) => row.previous_token),
    },
    {
      id: part_of(choice),
      name: "attention-rank",
      title: "Energy rank of the map",
      note: `Number of singular values for ${Math.round(energy * 100)}% of the energy.`,
      format: ".0f",
      scale: (values) => ({ kind: "sequential", domain: [1, Math.max(2, most(values))], transform: "log", format: ".0f" }),
      value: on_text((row) => row.energy_rank),
    },
    {
      ...share,
      name: "attention-itself",
      title: `Current ${noun}`,
      note: `Attention of a query on its own ${noun}.`,
      value: on_text((row) => row.current_token),
    },
    {
      id: part_of(choice),
      name: "attention-distance",
      title: "Mean distance",
      note: `Distance in ${noun}s, weighted by attention.`,
      format: ".0f",
      scale: (values) => limit_scale(Math.max(length / 2, most(values)), ".0f"),
      value: on_text((row) => row.mean_distance),
    },
    {
      id: part_of(choice),
      name: "attention-patches",
      title: "Mean distance in patches",
      note: "Distance from a patch to attended patches, weighted by attention.",
      format: ".1f",
      scale: (values) => limit_scale(most(values), ".1f"),
      value: on_text((row) => row.patch_distance),
    },
  ];
  // Cross-attention: how a head aligns the two texts, with the uniform baseline.
  const uniform = uniform_range([...rows.values()].map((row) => row.uniform_diagonality));
  figures.push(
    {
      id: part_of(choice),
      name: "attention-diagonality",
      title: "Diagonality",
      note: `1: all attention on the diagonal from the first to the last tokens. Uniform: ${range_text(uniform, ".2f")}.`,
      format: "share",
      scale: (values) => ({ kind: "sequential", domain: [Math.min(uniform[0], ...values), 1], format: ".2f" }),
      value: on_text((row) => row.diagonality),
    },
    {
      id: part_of(choice),
      name: "attention-monotonicity",
      title: "Monotonicity",
      note: "1: later target tokens attend to later source tokens; 0: to earlier ones. Uniform: 0.50.",
      format: "share",
      scale: () => ({ kind: "diverging", domain: [0, 1], format: ".1f" }),
      value: on_text((row) => row.monotonicity),
    },
  );
  // Pairs of texts: attention from one text to the other one, with the uniform baseline.
  const baseline = (read: (row: AttentionHeadRow) => number | null | undefined) =>
    range_text(uniform_range([...rows.values()].map(read)), "percent");
  figures.push(
    {
      ...share,
      name: "attention-a-to-b",
      title: "A → B",
      note: `Attention of tokens of text A on all tokens of text B. Uniform: ${baseline((row) => row.uniform_a_to_b)}.`,
      value: on_text((row) => row.a_to_b),
    },
    {
      ...share,
      name: "attention-b-to-a",
      title: "B → A",
      note: `Attention of tokens of text B on all tokens of text A. Uniform: ${baseline((row) => row.uniform_b_to_a)}.`,
      value: on_text((row) => row.b_to_a),
    },
  );
  // Image tokens have no linear order.
  const of_order = ["attention-previous", "attention-distance"];
  const of_induction: HeadFigure[] =
    induction.size === 0
      ? []
      : [
          {
            ...share,
            id: "induction",
            name: "attention-induction",
            title: "Induction",
            note: "Attention on the token after the previous occurrence, on repeated random tokens.",
            value: repeated((row) => row.induction),
          },
          {
            ...share,
            id: "induction",
            name: "attention-duplicate",
            title: "Duplicate token",
            note: "Attention on the previous occurrence of the same token.",
            value: repeated((row) => row.duplicate_token),
          },
        ];
  // Some measures have no value for cross-attention, others none for self-attention.
  const places = [...rows.values()];
  const here = axes?.of === "image" ? figures.filter(({ name }) => !of_order.includes(name)) : figures;
  const measured = here.filter(({ value }) => places.some((place) => value(place) != null));
  return [...measured, ...of_induction].map((figure) => head_chart(reading, figure, choice.place));
}
