// The visible part of a map: whole queries and keys, with the aspect ratio of the map.
import type { MapWindow } from "../../chart/attention_map";
import type { MapShape } from "../../data/maps";
import type { State } from "../../shaping/state";

const kLeast = 8; // tokens

const inside = (value: number, size: number, all: number) => Math.max(0, Math.min(all - size, Math.round(value)));

/** The given number of queries and the same fraction of keys. */
function sizes(queries: number, shape: MapShape): MapShape {
  const down = Math.max(Math.min(kLeast, shape.queries), Math.min(shape.queries, Math.round(queries)));
  return { queries: down, keys: Math.max(1, Math.round((shape.keys * down) / shape.queries)) };
}

export const whole_window = (shape: MapShape): MapWindow => ({ query: 0, key: 0, ...shape });

export const is_zoomed = (window: MapWindow, shape: MapShape): boolean => window.queries < shape.queries;

/** Zooms in for factors above 1, around a fixed cell. */
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

/** The window in the address, such as "120,80,64": first query, first key, number of queries. The full map if invalid. */
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
