// Attention weights as bytes: 0 is exactly 0, else 1 + round(254 (log2 a + 16) / 16), from 2^-16 to 1.
// Accurate to 2.2%, so weights read from maps are shown with "≈"; measures come from the rows.
import type { Report } from "./report";
import type { MapPlace } from "./report_file";

const kWeights = Float64Array.from({ length: 256 }, (_, byte) => (byte === 0 ? 0 : 2 ** (((byte - 1) / 254) * 16 - 16)));

export const weight_of_byte = (byte: number): number => kWeights[byte] ?? 0;

export function byte_of_weight(weight: number): number {
  if (!(weight > 0)) return 0;
  return 1 + Math.max(0, Math.min(254, Math.round((254 * (Math.log2(weight) + 16)) / 16)));
}

/** Rows are queries, columns are keys. */
export interface MapShape {
  queries: number;
  keys: number;
}

/** Shape of the original map. */
export const tokens_shape = ({ tokens, keys }: MapPlace): MapShape => ({ queries: tokens, keys: keys ?? tokens });

/** Shape of the map as stored in the report. */
export const stored_shape = ({ side, key_side }: MapPlace): MapShape => ({ queries: side, keys: key_side ?? side });

export const same_shape = (a: MapShape, b: MapShape): boolean => a.queries === b.queries && a.keys === b.keys;

/** A map's bytes in row-major order. */
export function map_bytes(report: Report, place: MapPlace): Uint8Array {
  const { side, at } = place;
  if (!(place.causal && side === place.tokens)) return report.maps.subarray(at, at + side * stored_shape(place).keys);
  const square = new Uint8Array(side * side);
  let from = at;
  for (let query = 0; query < side; ++query) {
    square.set(report.maps.subarray(from, from + query + 1), query * side);
    from += query + 1;
  }
  return square;
}

/** Entropy of each query's weights in nats, from their bytes. */
export function row_entropies(bytes: Uint8Array, { queries, keys }: MapShape): number[] {
  return Array.from({ length: queries }, (_, query) => {
    let [sum, weighted] = [0, 0];
    for (let key = 0; key < keys; ++key) {
      const weight = weight_of_byte(bytes[query * keys + key] ?? 0);
      sum += weight;
      if (weight > 0) weighted += weight * Math.log(weight);
    }
    return sum > 0 ? Math.log(sum) - weighted / sum : 0;
  });
}
