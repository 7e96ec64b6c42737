// Attention maps for views: decoded once, as full maps or thumbnails, with or without the first key.
import {
  byte_of_weight,
  map_bytes,
  row_entropies,
  same_shape,
  stored_shape,
  tokens_shape,
  weight_of_byte,
  type MapShape,
} from "../data/maps";
import { map_places, type Report } from "../data/report";
import type { MapPlace } from "../data/report_file";
import type { HeadIndex } from "./head_grid";

export interface HeadMap {
  bytes: Uint8Array; // row-major order
  shape: MapShape;
  of: MapShape; // shape of the original map; larger than `shape` for a thumbnail
  causal: boolean;
  weights?: Float32Array; // exact weights, if a server sent them
}

export const is_whole = (map: HeadMap): boolean => same_shape(map.shape, map.of);

// Maps are decoded once: images drawn from them are cached by their array.
const opened_maps = new WeakMap<MapPlace, HeadMap>();

export function open_map(report: Report, place: MapPlace): HeadMap {
  let map = opened_maps.get(place);
  if (!map) {
    map = { bytes: map_bytes(report, place), shape: stored_shape(place), of: tokens_shape(place), causal: place.causal };
    opened_maps.set(place, map);
  }
  return map;
}

export function stored_map(report: Report, model: string, { layer, head }: HeadIndex): HeadMap | undefined {
  const place = map_places(report, model).find((each) => each.layer === layer && each.head === head);
  return place && open_map(report, place);
}

/** A map from exact weights in row-major order. */
export function exact_map(weights: Float32Array, shape: MapShape): HeadMap {
  const { queries, keys } = shape;
  const causal = queries === keys && weights.every((weight, index) => weight === 0 || index % keys <= Math.floor(index / keys));
  return { bytes: Uint8Array.from(weights, byte_of_weight), weights, shape, of: shape, causal };
}

const without = new WeakMap<HeadMap, HeadMap>();

/** The map with the weights on key 0 set to 0. A thumbnail is unchanged, because its first column pools several keys. */
export function without_first_token(map: HeadMap): HeadMap {
  if (!is_whole(map)) return map;
  let made = without.get(map);
  if (!made) {
    made = { ...map, bytes: map.bytes.map((byte, index) => (index % map.shape.keys === 0 ? 0 : byte)) };
    if (map.weights) made.weights = map.weights.map((weight, index) => (index % map.shape.keys === 0 ? 0 : weight));
    without.set(map, made);
  }
  return made;
}

export const weight_at = ({ weights, bytes, shape }: HeadMap, query: number, key: number): number =>
  weights ? (weights[query * shape.keys + key] ?? 0) : weight_of_byte(bytes[query * shape.keys + key] ?? 0);

/** The attention weights of a query over all keys. */
export const attention_of_query = (map: HeadMap, query: number): number[] =>
  Array.from({ length: map.shape.keys }, (_, key) => weight_at(map, query, key));

/** Mean attention to every key, over the queries that can attend to it. */
export function mean_attention_to_keys(map: HeadMap): number[] {
  const { queries, keys } = map.shape;
  return Array.from({ length: keys }, (_, key) => {
    const first = map.causal ? key : 0;
    let sum = 0;
    for (let query = first; query < queries; ++query) sum += weight_at(map, query, key);
    return sum / (queries - first);
  });
}

export const entropies = (map: HeadMap): number[] => row_entropies(map.bytes, map.shape);
