// Colors of attention weights from their byte encoding.
import { same_shape, weight_of_byte, type MapShape } from "../data/maps";
import { kFont, sequential, type Theme } from "./theme";
import { s, type Tree } from "./svg_tree";

export type WeightColor = "log" | "sqrt";

/** Position on the sequential scale, 0 to 1. The logarithmic scale starts at 2^-10. */
export function weight_share(weight: number, color: WeightColor): number {
  if (!(weight > 0)) return 0;
  return Math.min(1, Math.max(0, color === "log" ? 1 + Math.log2(weight) / 10 : Math.sqrt(weight)));
}

/** Step of the sequential scale for each byte. */
export const weight_steps = (color: WeightColor): Uint8Array =>
  Uint8Array.from({ length: 256 }, (_, byte) => Math.round(255 * weight_share(weight_of_byte(byte), color)));

export const weight_hex = (theme: Theme, weight: number, color: WeightColor): string => sequential(theme, weight_share(weight, color));

/** Max-pooled to at most `size` rows and columns. Smaller maps are unchanged. */
export function pooled(bytes: Uint8Array, shape: MapShape, size: number): { bytes: Uint8Array; shape: MapShape } {
  const small = { queries: Math.min(size, shape.queries), keys: Math.min(size, shape.keys) };
  if (same_shape(small, shape)) return { bytes, shape };
  const out = new Uint8Array(small.queries * small.keys);
  for (let query = 0; query < shape.queries; ++query) {
    const target = Math.floor((query * small.queries) / shape.queries) * small.keys;
    for (let key = 0; key < shape.keys; ++key) {
      const place = target + Math.floor((key * small.keys) / shape.keys);
      out[place] = Math.max(out[place] ?? 0, bytes[query * shape.keys + key] ?? 0);
    }
  }
  return { bytes: out, shape: small };
}

/** The same colors in Vega-Lite. */
export const vega_weight_scale = (theme: Theme, color: WeightColor): object => ({
  type: color === "log" ? "log" : "sqrt",
  domain: [color === "log" ? 2 ** -10 : 0, 1],
  clamp: true,
  range: Array.from({ length: 9 }, (_, index) => sequential(theme, index / 8)),
});

/** Color bar for attention weights. */
export function weight_key(theme: Theme, color: WeightColor): Tree {
  const label = { y: 10.5, "font-size": 11, fill: theme.faint };
  return s(
    "svg",
    {
      width: 156,
      height: 14,
      viewBox: "-2 0 156 14",
      "font-family": kFont,
      role: "img",
      "aria-label": "color scale of attention weights, from small to 1",
    },
    s("text", { x: 42, "text-anchor": "end", ...label }, color === "log" ? "≤ 0.001" : "0"),
    Array.from({ length: 16 }, (_, index) =>
      s("rect", { x: 48 + index * 5.5, y: 3, width: 5.8, height: 8, fill: sequential(theme, index / 15) }),
    ),
    s("text", { x: 142, ...label }, "1"),
  );
}
