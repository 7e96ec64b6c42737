// What a view is, and what it is given.
import type { Chart } from "../chart/chart";
import type { Theme } from "../chart/theme";
import type { Report } from "../data/report";
import type { Reading } from "../shaping/reading";
import type { Changes } from "../shaping/state";

export interface Context extends Reading {
  theme: Theme;
  width: number; // of the page's content, pixels
  go(changes: Changes, view?: string): void; // to another state, kept in the history
  replace(changes: Changes): void; // the same without an entry in the history
  note(changes: Changes): void; // in the address alone: what the view has drawn itself
  link(changes: Changes, view?: string): string; // the address of that state
}

/** The first is where a page opens. */
export type Views = readonly [View, ...View[]];

export interface View {
  id: string; // in the address
  title: string;
  /** Whether the bar names it; it does unless this says otherwise. */
  named?(report: Report): boolean;
  /** Every chart of the view that a report can name, for export. */
  charts?(reading: Reading): Chart[];
  draw(context: Context): HTMLElement;
}
