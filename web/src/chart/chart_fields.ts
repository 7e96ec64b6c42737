import type { Color } from "./theme";
import type { Words } from "./rich_text";

/** Fields of all charts. `name` is unique in a report and valid as a file name: "spectra-layer-0". */
export interface ChartFields {
  name: string;
  title: Words;
  note?: Words; // caption, one line
  label?: string; // text for screen readers, if the title and labels are not enough
}

/** Size in pixels. Kinds with a height that depends on the width ignore `height`. */
export interface Size {
  width: number;
  height?: number;
}

/** A legend entry: the meaning of lines, bars or points of one color. */
export interface Series {
  key: string;
  label: Words;
  color: Color;
  dash?: string; // "4 3"
}

/** Mapping from values to cell colors. */
export interface ColorScale {
  kind: "sequential" | "diverging";
  // Sequential: values at the weak and strong end (either may be larger). Diverging: values at -1 and +1.
  domain: readonly [number, number];
  transform?: "linear" | "sqrt" | "log" | "symlog";
  format: string; // format of the two ends, see number_format.ts
}
