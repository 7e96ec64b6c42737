// Top singular vectors of a head's OV circuit, with the top tokens of input and output vectors.
import { rows_of } from "../data/report";
import type { DirectionsRow } from "../data/report_file";
import { format_number } from "../chart/number_format";
import type { HeadIndex } from "../shaping/head_grid";
import { shown_token } from "../shaping/tokens";
import { h } from "./elements";
import { absent_analysis } from "./view_parts";
import type { Context } from "./view";

const kMostTokens = 6;

function list(row: DirectionsRow | undefined): HTMLElement | null {
  if (!row) return null;
  const tokens = row.tokens.slice(0, kMostTokens).map(({ text, token_id }) => (text === null ? `#${token_id}` : shown_token(text)));
  const chance =
    `${row.named ? "above" : "not above"} chance: token coherence ${format_number(row.coherence, ".2f")}, ` +
    `99% of random directions are below ${format_number(row.random_coherence, ".2f")}`;
  return h(
    "span",
    { class: row.named ? "direction-list" : "direction-list unnamed", title: chance },
    h("span", { class: "direction-mark", role: "img", "aria-label": chance }, row.named ? "●" : "·"),
    // Not a <code> element, which is reserved for commands that a reader can run.
    tokens.map((token) => [" ", h("span", { class: "direction-token" }, token)]).flat(),
  );
}

/** Correlation, on the report's text, between the projection onto the input direction and its token scores. */
export function correlation_words(correlation: number): string {
  return `correlation with token scores on this text: ${format_number(correlation, ".2f")}`;
}

/** Up to three directions with both signs, or a placeholder if the report has none. */
export function directions_part(context: Context, { layer, head }: HeadIndex): HTMLElement | null {
  const all = rows_of(context.report, "directions", context.model.name);
  if (all.length === 0) return absent_analysis(context, "Top tokens of the head's singular vectors", "directions");
  const rows = all.filter((row) => row.layer === layer && row.head === head);
  const directions = [...new Set(rows.map((row) => row.direction))].sort((a, b) => a - b).slice(0, 3);
  const of = (direction: number, side: DirectionsRow["singular_vector"], pole: DirectionsRow["sign"]) =>
    rows.find((row) => row.direction === direction && row.singular_vector === side && row.sign === pole);
  const pole = (direction: number, sign: DirectionsRow["sign"]) => {
    const [input, output] = [list(of(direction, "input", sign)), list(of(direction, "output", sign))];
    return h(
      "p",
      { class: "direction-pole" },
      input ? ["input ", input] : null,
      input && output ? " → " : null,
      output ? ["output ", output] : null,
    );
  };
  return h(
    "section",
    { class: "directions", "aria-label": "singular vectors" },
    h("h3", {}, "Singular vectors"),
    h(
      "p",
      { class: "note" },
      rows.length > 0
        ? "Top tokens of the OV circuit's singular vectors, for both signs. ●: more coherent than 99% of random directions. ·: " +
            "not above chance."
        : "The OV circuit is zero, or its directions cannot be projected to the vocabulary.",
    ),
    directions.map((direction) => {
      const energy = rows.find((row) => row.direction === direction)?.energy ?? 0;
      const hold = of(direction, "input", "+")?.text_correlation ?? null;
      return h(
        "div",
        { class: "direction" },
        h(
          "p",
          { class: "direction-share" },
          `${direction} · ${format_number(energy, "percent")} of the energy`,
          hold === null ? null : ` · ${correlation_words(hold)}`,
        ),
        pole(direction, "+"),
        pole(direction, "-"),
      );
    }),
  );
}
