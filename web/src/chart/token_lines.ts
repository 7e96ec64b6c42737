// Attention between two columns of tokens, as in BertViz: queries on the left, keys on the right, and a line per weight.
import { one_line } from "./rich_text";
import { kFont, kMono, type Theme } from "./theme";
import { s, type Tree } from "./svg_tree";

/** A token of one of the columns. */
export interface TokenPlace {
  side: "query" | "key";
  index: number;
}

export interface LinesOfHead {
  color: string;
  weight(query: number, key: number): number;
}

export interface TokenLines {
  queries: readonly string[];
  keys: readonly string[];
  heads: readonly LinesOfHead[];
  shown(query: number, key: number): boolean; // whether the direction of the weight is selected
  place?: TokenPlace; // only lines of this token are drawn
}

const kRow = 20; // pixels
const kTop = 24;
const kFontSize = 12;
const kGlyph = 0.61; // width of a monospaced glyph, relative to its size
const kLongest = 22; // letters of a token
const kStrip = 9; // width of the strip of one head next to a token
const kMostLines = 4000; // of all tokens together
const kLeast = 0.004; // weights whose lines would be invisible

export function token_lines_layout({ queries, keys, heads }: TokenLines, width: number) {
  const letters = (names: readonly string[]) => Math.min(kLongest, Math.max(1, ...names.map((name) => [...name].length)));
  const room = (names: readonly string[]) => letters(names) * kFontSize * kGlyph + 14 + kStrip * heads.length;
  const [left, right] = [room(queries), room(keys)];
  const between = Math.max(60, Math.min(260, width - left - right));
  return { width: left + between + right, height: kTop + kRow * Math.max(queries.length, keys.length) + 6, left, between };
}

interface Link {
  query: number;
  key: number;
  weight: number;
  color: string;
}

function links_of({ queries, keys, heads, shown, place }: TokenLines): Link[] {
  const links: Link[] = [];
  const add = (query: number, key: number) => {
    if (!shown(query, key)) return;
    for (const { color, weight } of heads) {
      const value = weight(query, key);
      if (value >= kLeast) links.push({ query, key, weight: value, color });
    }
  };
  if (place?.side === "query") keys.forEach((_, key) => add(place.index, key));
  else if (place) queries.forEach((_, query) => add(query, place.index));
  else queries.forEach((_, query) => keys.forEach((__, key) => add(query, key)));
  links.sort((a, b) => a.weight - b.weight); // strong lines are drawn last
  return links.slice(-kMostLines);
}

/** Sum of the selected weights of each token of a column, for one head. With a place: the weights of its links. */
function strength(chart: TokenLines, head: LinesOfHead, side: TokenPlace["side"], index: number): number {
  const { place, queries, keys } = chart;
  const value = (query: number, key: number) => (chart.shown(query, key) ? head.weight(query, key) : 0);
  if (place && place.side === side) return place.index === index ? 1 : 0;
  if (place) return side === "key" ? value(place.index, index) : value(index, place.index);
  let sum = 0;
  if (side === "query") for (let key = 0; key < keys.length; ++key) sum += value(index, key);
  else for (let query = 0; query < queries.length; ++query) sum += value(query, index) / queries.length;
  return sum;
}

export function draw_token_lines(chart: TokenLines, theme: Theme, width: number): Tree {
  const layout = token_lines_layout(chart, width);
  const { left, between } = layout;
  const middle = (row: number) => kTop + (row + 0.5) * kRow;
  const column = (side: TokenPlace["side"], names: readonly string[]) => {
    const of_queries = side === "query";
    return s(
      "g",
      {},
      s(
        "text",
        {
          x: of_queries ? left - 8 : left + between + 8,
          y: 14,
          "font-size": 11,
          fill: theme.faint,
          "text-anchor": of_queries ? "end" : "start",
        },
        of_queries ? "queries" : "keys",
      ),
      names.map((name, row) => {
        const chosen = chart.place?.side === side && chart.place.index === row;
        const text = [...one_line(name)];
        const x = of_queries ? left - 8 - kStrip * chart.heads.length : left + between + 8 + kStrip * chart.heads.length;
        return s(
          "g",
          { "data-side": side, "data-index": row },
          s("rect", {
            x: of_queries ? 0 : left + between,
            y: kTop + row * kRow,
            width: of_queries ? left : layout.width - left - between,
            height: kRow,
            fill: chosen ? theme.line : "transparent",
          }),
          chart.heads.map((head, index) =>
            s("rect", {
              x: of_queries ? left - kStrip * (index + 1) : left + between + kStrip * index,
              y: kTop + row * kRow + 1,
              width: kStrip - 1,
              height: kRow - 2,
              fill: head.color,
              "fill-opacity": Math.min(1, strength(chart, head, side, row)).toFixed(3),
            }),
          ),
          s(
            "text",
            {
              x,
              y: middle(row) + 4,
              "font-family": kMono,
              "font-size": kFontSize,
              "font-weight": chosen ? 700 : null,
              fill: theme.ink,
              "text-anchor": of_queries ? "end" : "start",
            },
            text.length > kLongest ? `${text.slice(0, kLongest - 1).join("")}…` : text.join(""),
          ),
        );
      }),
    );
  };
  return s(
    "svg",
    { width: layout.width, height: layout.height, viewBox: `0 0 ${layout.width} ${layout.height}`, "font-family": kFont },
    s(
      "g",
      { "pointer-events": "none", "stroke-width": 1.6 },
      links_of(chart).map(({ query, key, weight, color }) =>
        s("line", {
          x1: left,
          y1: middle(query),
          x2: left + between,
          y2: middle(key),
          stroke: color,
          "stroke-opacity": Math.min(1, weight).toFixed(3),
        }),
      ),
    ),
    column("query", chart.queries),
    column("key", chart.keys),
  );
}
