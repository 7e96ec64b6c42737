// The part of a map that is shown: a square of whole tokens.
import type { State } from "../../shaping/state";

export interface Window {
  query: number; // the first
  key: number;
  size: number;
}

const kLeast = 8; // tokens

const inside = (value: number, size: number, side: number) => Math.max(0, Math.min(side - size, Math.round(value)));

export const whole_window = (side: number): Window => ({ query: 0, key: 0, size: side });

export const is_zoomed = (window: Window, side: number): boolean => window.size < side;

/** Closer for factors above 1, around a cell that keeps its place. */
export function zoomed(window: Window, side: number, factor: number, around?: { query: number; key: number }): Window {
  const size = Math.max(Math.min(kLeast, side), Math.min(side, Math.round(window.size / factor)));
  const at = around ?? { query: window.query + window.size / 2, key: window.key + window.size / 2 };
  const first = (start: number, fixed: number) => inside(fixed - ((fixed - start) * size) / window.size, size, side);
  return { query: first(window.query, at.query), key: first(window.key, at.key), size };
}

export const moved = (window: Window, side: number, queries: number, keys: number): Window => ({
  query: inside(window.query + queries, window.size, side),
  key: inside(window.key + keys, window.size, side),
  size: window.size,
});

/** "120,80,64" of an address; the whole map where it says nothing that can be shown. */
export function window_param({ params }: State, side: number): Window {
  const found = /^(\d{1,6}),(\d{1,6}),(\d{1,6})$/.exec(params.z ?? "");
  if (!found) return whole_window(side);
  const size = Math.max(Math.min(kLeast, side), Math.min(side, Number(found[3])));
  return { query: inside(Number(found[1]), size, side), key: inside(Number(found[2]), size, side), size };
}

export const window_text = ({ query, key, size }: Window, side: number): string | null => (size < side ? `${query},${key},${size}` : null);
