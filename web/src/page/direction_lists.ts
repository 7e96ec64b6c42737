// The leading directions of a head's OV circuit by the tokens that name them: what is read, and what is written then.
import { rows_of } from "../data/report";
import type { ReadRow } from "../data/report_file";
import { format_number } from "../chart/number_format";
import type { HeadIndex } from "../shaping/head_grid";
import { shown_token } from "../shaping/tokens";
import { h } from "./elements";
import { absent_analysis } from "./view_parts";
import type { Context } from "./view";

const kMostTokens = 6;

function list(row: ReadRow | undefined): HTMLElement | null {
  if (!row) return null;
  const tokens = row.tokens.slice(0, kMostTokens).map(({ text, token_id }) => (text === null ? `#${token_id}` : shown_token(text)));
  const chance =
    `${row.named ? "above" : "not above"} chance: coherence ${format_number(row.coherence, ".2f")}, ` +
    `99\u202f% of random directions stay below ${format_number(row.random_coherence, ".2f")}`;
  return h(
    "span",
    { class: row.named ? "direction-list" : "direction-list unnamed", title: chance },
    h("span", { class: "direction-mark", role: "img", "aria-label": chance }, row.named ? "●" : "·"),
    // No code: what stands in that on a page is a command, which a reader may run.
    tokens.map((token) => [" ", h("span", { class: "direction-token" }, token)]).flat(),
  );
}

/** How far the names of what is read go with what is met on the report's text; a correlation. */
export function correlation_words(correlation: number): string {
  const how = correlation >= 0.7 ? "hold" : correlation >= 0.3 ? "hold in part" : "hardly hold";
  return `names of what it reads ${how} on this text (correlation ${format_number(correlation, ".2f")})`;
}

/** Up to three directions, both poles of each; null of what the report was not asked for. */
export function directions_part(context: Context, { layer, head }: HeadIndex): HTMLElement | null {
  const all = rows_of(context.report, "read", context.model.name);
  if (all.length === 0) return absent_analysis(context, "What the head's directions mean as tokens", "read");
  const rows = all.filter((row) => row.layer === layer && row.head === head);
  const directions = [...new Set(rows.map((row) => row.direction))].sort((a, b) => a - b).slice(0, 3);
  const of = (direction: number, side: ReadRow["side"], pole: ReadRow["pole"]) =>
    rows.find((row) => row.direction === direction && row.side === side && row.pole === pole);
  const pole = (direction: number, sign: ReadRow["pole"]) => {
    const [read, write] = [list(of(direction, "read", sign)), list(of(direction, "write", sign))];
    return h(
      "p",
      { class: "direction-pole" },
      read ? ["reads ", read] : null,
      read && write ? " → " : null,
      write ? ["writes ", write] : null,
    );
  };
  return h(
    "section",
    { class: "directions", "aria-label": "directions" },
    h("h3", {}, "Directions"),
    h(
      "p",
      { class: "note" },
      rows.length > 0
        ? "Of its OV circuit, both ways. ● names more alike than 99\u202f% of random directions; · and grey: not above chance."
        : "Its OV circuit is zero, or has no directions that tokens could name.",
    ),
    directions.map((direction) => {
      const energy = rows.find((row) => row.direction === direction)?.energy ?? 0;
      const hold = of(direction, "read", "+")?.text_correlation ?? null;
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
