// The part of a map that is shown: of whole queries and keys, in the proportions of the map.
import type { MapWindow } from "../../chart/attention_map";
import type { MapShape } from "../../data/maps";
import type { State } from "../../shaping/state";

const kLeast = 8; // tokens

const inside = (value: number, size: number, all: number) => Math.max(0, Math.min(all - size, Math.round(value)));

/** So many queries, and as large a part of the keys. */
function sizes(queries: number, shape: MapShape): MapShape {
  const down = Math.max(Math.min(kLeast, shape.queries), Math.min(shape.queries, Math.round(queries)));
  return { queries: down, keys: Math.max(1, Math.round((shape.keys * down) / shape.queries)) };
}

export const whole_window = (shape: MapShape): MapWindow => ({ query: 0, key: 0, ...shape });

export const is_zoomed = (window: MapWindow, shape: MapShape): boolean => window.queries < shape.queries;

/** Closer for factors above 1, around a cell that keeps its place. */
export function zoomed(window: MapWindow, shape: MapShape, factor: number, around?: { query: number; key: number }): MapWindow {
  const size = sizes(window.queries / factor, shape);
  const at = around ?? { query: window.query + window.queries / 2, key: window.key + window.keys / 2 };
  const first = (start: number, fixed: number, before: number, now: number, all: number) =>
    inside(fixed - ((fixed - start) * now) / before, now, all);
  return {
    query: first(window.query, at.query, window.queries, size.queries, shape.queries),
    key: first(window.key, at.key, window.keys, size.keys, shape.keys),
    ...size,
  };
}

export const moved = (window: MapWindow, shape: MapShape, queries: number, keys: number): MapWindow => ({
  ...window,
  query: inside(window.query + queries, window.queries, shape.queries),
  key: inside(window.key + keys, window.keys, shape.keys),
});

/** "120,80,64" of an address, the last of which counts queries; the whole map where it says nothing that can be shown. */
export function window_param({ params }: State, shape: MapShape): MapWindow {
  const found = /^(\d{1,6}),(\d{1,6}),(\d{1,6})$/.exec(params.z ?? "");
  if (!found) return whole_window(shape);
  const size = sizes(Number(found[3]), shape);
  return {
    query: inside(Number(found[1]), size.queries, shape.queries),
    key: inside(Number(found[2]), size.keys, shape.keys),
    ...size,
  };
}

export const window_text = (window: MapWindow, shape: MapShape): string | null =>
  is_zoomed(window, shape) ? `${window.query},${window.key},${window.queries}` : null;
