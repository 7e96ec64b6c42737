import type { Color } from "./theme";
import type { Words } from "./rich_text";

/** What all charts have. `name` is unique in a report and fit for a file name: "spectra-layer-0". */
export interface ChartFields {
  name: string;
  title: Words;
  note?: Words; // how to read it, one line
  label?: string; // for who cannot see it, where the title and the drawn words do not say enough
}

/** Pixels. Kinds that know their height from their width ignore `height`. */
export interface Size {
  width: number;
  height?: number;
}

/** An entry of a legend: what lines, bars or points of a colour are. */
export interface Series {
  key: string;
  label: Words;
  colour: Color;
  dash?: string; // "4 3"
}

/** What a colour of a cell stands for. */
export interface ColorScale {
  kind: "sequential" | "diverging";
  // Weak to strong of the sequential scale (either may be the larger), or -1 to +1 ends of the diverging one.
  domain: readonly [number, number];
  transform?: "linear" | "sqrt" | "log" | "symlog";
  format: string; // of the two ends, see number_format.ts
}
