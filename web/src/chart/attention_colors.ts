// Colours of attention weights, from the bytes that stand for them.
import { same_shape, weight_of_byte, type MapShape } from "../data/maps";
import { kFont, sequential, type Theme } from "./theme";
import { s, type Tree } from "./svg_tree";

export type WeightColor = "log" | "sqrt";

/** 0 to 1 along the sequential scale; the logarithm begins at 2^-10. */
export function weight_share(weight: number, colour: WeightColor): number {
  if (!(weight > 0)) return 0;
  return Math.min(1, Math.max(0, colour === "log" ? 1 + Math.log2(weight) / 10 : Math.sqrt(weight)));
}

/** For each byte, its step of the sequential scale. */
export const weight_steps = (colour: WeightColor): Uint8Array =>
  Uint8Array.from({ length: 256 }, (_, byte) => Math.round(255 * weight_share(weight_of_byte(byte), colour)));

export const weight_hex = (theme: Theme, weight: number, colour: WeightColor): string => sequential(theme, weight_share(weight, colour));

/** Max-pooled to at most `size` rows and columns; the bytes themselves where they are no more. */
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

/** The same colours in Vega-Lite. */
export const vega_weight_scale = (theme: Theme, colour: WeightColor): object => ({
  type: colour === "log" ? "log" : "sqrt",
  domain: [colour === "log" ? 2 ** -10 : 0, 1],
  clamp: true,
  range: Array.from({ length: 9 }, (_, index) => sequential(theme, index / 8)),
});

/** The bar that says which weights the colours are. */
export function weight_key(theme: Theme, colour: WeightColor): Tree {
  const label = { y: 10.5, "font-size": 11, fill: theme.faint };
  return s(
    "svg",
    {
      width: 150,
      height: 14,
      viewBox: "0 0 150 14",
      "font-family": kFont,
      role: "img",
      "aria-label": "colours of weights, from small to 1",
    },
    s("text", { x: 38, "text-anchor": "end", ...label }, colour === "log" ? "≤ .001" : "0"),
    Array.from({ length: 16 }, (_, index) =>
      s("rect", { x: 44 + index * 5.5, y: 3, width: 5.8, height: 8, fill: sequential(theme, index / 15) }),
    ),
    s("text", { x: 138, ...label }, "1"),
  );
}
