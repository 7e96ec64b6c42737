// Types of a view and its context.
import type { Chart } from "../chart/chart";
import type { Theme } from "../chart/theme";
import type { Report } from "../data/report";
import type { Reading } from "../shaping/reading";
import type { Changes } from "../shaping/state";

export interface Context extends Reading {
  theme: Theme;
  width: number; // width of the page's content in pixels
  go(changes: Changes, view?: string): void; // to another state, with a history entry
  replace(changes: Changes): void; // the same without a history entry
  note(changes: Changes): void; // changes only the address, without a redraw
  link(changes: Changes, view?: string): string; // address of another state
}

/** The first view is the start page. */
export type Views = readonly [View, ...View[]];

export interface View {
  id: string; // in the address
  title: string;
  /** Whether the top bar lists the view (default: true). */
  named?(report: Report): boolean;
  /** All charts of the view, for export. */
  charts?(reading: Reading): Chart[];
  draw(context: Context): HTMLElement;
}
