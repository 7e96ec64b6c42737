// Maps of heads as views use them: opened once, whole or as thumbnails, with or without the first key.
import { byte_of_weight, map_bytes, row_entropies, weight_of_byte } from "../data/maps";
import { map_places, type Report } from "../data/report";
import type { MapPlace } from "../data/report_file";
import type { HeadPlace } from "./head_grid";

export interface HeadMap {
  bytes: Uint8Array; // side × side
  side: number;
  tokens: number; // of the text; more than `side`: a thumbnail
  causal: boolean;
  weights?: Float32Array; // exact, where a server sent them
}

export const is_whole = (map: HeadMap): boolean => map.side === map.tokens;

// Squares are unpacked once: what is drawn from them is kept by the array that they are.
const opened_maps = new WeakMap<MapPlace, HeadMap>();

export function open_map(report: Report, place: MapPlace): HeadMap {
  let map = opened_maps.get(place);
  if (!map) {
    map = { bytes: map_bytes(report, place), side: place.side, tokens: place.tokens, causal: place.causal };
    opened_maps.set(place, map);
  }
  return map;
}

export function stored_map(report: Report, model: string, { layer, head }: HeadPlace): HeadMap | undefined {
  const place = map_places(report, model).find((each) => each.layer === layer && each.head === head);
  return place && open_map(report, place);
}

/** A map from its exact weights, T × T. */
export function exact_map(weights: Float32Array): HeadMap {
  const side = Math.round(Math.sqrt(weights.length));
  const causal = weights.every((weight, index) => weight === 0 || index % side <= Math.floor(index / side));
  return { bytes: Uint8Array.from(weights, byte_of_weight), weights, side, tokens: side, causal };
}

const without = new WeakMap<HeadMap, HeadMap>();

/** The map with nothing on key 0. A thumbnail stays as it is: its first column holds other keys too. */
export function without_first_key(map: HeadMap): HeadMap {
  if (!is_whole(map)) return map;
  let made = without.get(map);
  if (!made) {
    made = { ...map, bytes: map.bytes.map((byte, index) => (index % map.side === 0 ? 0 : byte)) };
    if (map.weights) made.weights = map.weights.map((weight, index) => (index % map.side === 0 ? 0 : weight));
    without.set(map, made);
  }
  return made;
}

export const weight_at = (map: HeadMap, query: number, key: number): number =>
  map.weights ? (map.weights[query * map.side + key] ?? 0) : weight_of_byte(map.bytes[query * map.side + key] ?? 0);

/** What a query looks at: its weight on every key. */
export const looks_at = (map: HeadMap, query: number): number[] => Array.from({ length: map.side }, (_, key) => weight_at(map, query, key));

/** What every key receives, on average over the queries that can look at it. */
export function received(map: HeadMap): number[] {
  return Array.from({ length: map.side }, (_, key) => {
    const first = map.causal ? key : 0;
    let sum = 0;
    for (let query = first; query < map.side; ++query) sum += weight_at(map, query, key);
    return sum / (map.side - first);
  });
}

export const entropies = (map: HeadMap): number[] => row_entropies(map.bytes, map.side);
