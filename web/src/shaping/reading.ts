// What the shaping of data reads: a report, and what its reader has chosen.
import type { Report } from "../data/report";
import type { Model } from "../data/report_file";
import type { State } from "./state";

export interface Reading {
  report: Report;
  state: State;
  model: Model; // the chosen one
  threshold: number; // the chosen one
}
