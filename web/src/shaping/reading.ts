// Input of the functions that shape data: a report and the reader's selections.
import type { Report } from "../data/report";
import type { Model } from "../data/report_file";
import type { State } from "./state";

export interface Reading {
  report: Report;
  state: State;
  model: Model; // selected model
  threshold: number; // selected energy threshold
}
