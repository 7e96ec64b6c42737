// Colours of attention weights, from the bytes that stand for them.
import { weight_of_byte } from "../data/maps";
import { kFont, sequential, type Theme } from "./theme";
import { s, type Tree } from "./tree";

export type WeightColour = "log" | "sqrt";

/** 0 to 1 along the sequential scale; the logarithm begins at 2^-10. */
export function weight_share(weight: number, colour: WeightColour): number {
  if (!(weight > 0)) return 0;
  return Math.min(1, Math.max(0, colour === "log" ? 1 + Math.log2(weight) / 10 : Math.sqrt(weight)));
}

/** For each byte, its step of the sequential scale. */
export const weight_steps = (colour: WeightColour): Uint8Array =>
  Uint8Array.from({ length: 256 }, (_, byte) => Math.round(255 * weight_share(weight_of_byte(byte), colour)));

export const weight_hex = (theme: Theme, weight: number, colour: WeightColour): string => sequential(theme, weight_share(weight, colour));

/** Max-pooled to `size` × `size`; the bytes themselves where they are no more. */
export function pooled(bytes: Uint8Array, side: number, size: number): { bytes: Uint8Array; side: number } {
  if (size >= side) return { bytes, side };
  const out = new Uint8Array(size * size);
  const to = (place: number) => Math.floor((place * size) / side);
  for (let row = 0; row < side; ++row) {
    const target = to(row) * size;
    for (let column = 0; column < side; ++column) {
      const place = target + to(column);
      out[place] = Math.max(out[place] ?? 0, bytes[row * side + column] ?? 0);
    }
  }
  return { bytes: out, side: size };
}

/** The bar that says which weights the colours are. */
export function weight_key(theme: Theme, colour: WeightColour): Tree {
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
