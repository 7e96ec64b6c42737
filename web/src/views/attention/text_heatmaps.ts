// What every head does on a text: a heatmap a measure.
import type { HeatmapChart } from "../../chart/heatmap";
import { format_number } from "../../chart/number_format";
import { rows_of } from "../../data/report";
import type { AttentionHeadRow } from "../../data/report_file";
import type { InductionRow } from "../../data/generated_rows";
import { limit_scale, attention_heads, head_chart, type HeadIndex, type HeadFigure } from "../../shaping/head_grid";
import type { Reading } from "../../shaping/reading";
import { text_facts } from "../../shaping/texts";
import { axes_of, kOfText } from "./axes";
import { part_of, type AttentionChoice } from "./charts";

/** What every head does on the text, and with repeated tokens where that was measured. */
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
      note: "Nats; high: looks everywhere.",
      format: ".1f",
      scale: (values) => limit_scale(Math.max(length > 1 ? Math.log(length) : 0, most(values)), ".1f"),
      value: on_text((row) => row.entropy),
    },
    {
      ...share,
      name: "attention-first",
      title: `${first.charAt(0).toUpperCase()}${first.slice(1)}`,
      note: axes?.of === "two texts" ? "Share of weight on token 0 of the source." : `Share of weight on ${noun} 0: the sink.`,
      value: on_text((row) => row.sink_mass),
    },
    {
      ...share,
      name: "attention-previous",
      title: `Previous ${noun}`,
      note: `Share of weight on the ${noun} before.`,
      value: on_text((row) => row.previous_token),
    },
    {
      id: part_of(choice),
      name: "attention-rank",
      title: "Rank of the map",
      note: `At ${Math.round(energy * 100)}\u202f% of the energy.`,
      format: ".0f",
      scale: (values) => ({ kind: "sequential", domain: [1, Math.max(2, most(values))], transform: "log", format: ".0f" }),
      value: on_text((row) => row.energy_rank),
    },
    {
      ...share,
      name: "attention-itself",
      title: "Itself",
      note: `Share of weight on the ${noun} itself.`,
      value: on_text((row) => row.diagonal),
    },
    {
      id: part_of(choice),
      name: "attention-distance",
      title: "Distance",
      note: `${noun === "frame" ? "Frames" : "Tokens"} between, by weight.`,
      format: ".0f",
      scale: (values) => limit_scale(Math.max(length / 2, most(values)), ".0f"),
      value: on_text((row) => row.mean_distance),
    },
    {
      id: part_of(choice),
      name: "attention-patches",
      title: "Distance in patches",
      note: "From a patch to the patches that it looks at, by weight.",
      format: ".1f",
      scale: (values) => limit_scale(most(values), ".1f"),
      value: on_text((row) => row.patch_distance),
    },
  ];
  // Across two texts: how a head aligns them, beside what even attention has.
  const even = [...rows.values()].map((row) => row.uniform_diagonality).find((value) => value != null) ?? 0;
  figures.push(
    {
      id: part_of(choice),
      name: "attention-diagonality",
      title: "Diagonal",
      note: `1: all weight on the line from the first tokens to the last; even attention has ${format_number(even, ".2f")}.`,
      format: "share",
      scale: (values) => ({ kind: "sequential", domain: [Math.min(even, ...values), 1], format: ".2f" }),
      value: on_text((row) => row.diagonality),
    },
    {
      id: part_of(choice),
      name: "attention-monotonicity",
      title: "Monotone",
      note: "1: later tokens of the target look at later ones of the source; 0: at earlier ones; even attention has .50.",
      format: "share",
      scale: () => ({ kind: "diverging", domain: [0, 1], format: ".1f" }),
      value: on_text((row) => row.monotonicity),
    },
  );
  // In an image, the order of tokens is no line.
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
            note: "On the token after an earlier copy; random tokens, repeated.",
            value: repeated((row) => row.induction),
          },
          {
            ...share,
            id: "induction",
            name: "attention-duplicate",
            title: "Duplicate token",
            note: "On the earlier copy itself.",
            value: repeated((row) => row.duplicate_token),
          },
        ];
  // Of maps across two texts, or of texts, some have no value in any head.
  const places = [...rows.values()];
  const here = axes?.of === "image" ? figures.filter(({ name }) => !of_order.includes(name)) : figures;
  const measured = here.filter(({ value }) => places.some((place) => value(place) != null));
  return [...measured, ...of_induction].map((figure) => head_chart(reading, figure, choice.place));
}
