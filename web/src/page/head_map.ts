// The attention map of one head, among the details of the head.
import { map_bytes, stored_shape } from "../data/maps";
import { map_places } from "../data/report";
import type { HeadIndex } from "../shaping/head_grid";
import { chart_frame } from "./chart_frame";
import type { Context } from "./view";

/** Undefined if the report has no map of the head. */
export function head_map({ report, model, theme }: Context, { layer, head }: HeadIndex): HTMLElement | undefined {
  const map = map_places(report, model.name).find((each) => each.layer === layer && each.head === head);
  return (
    map &&
    chart_frame(
      {
        kind: "map",
        name: "head-map",
        title: "Attention map",
        note: "Rows: queries; columns: keys.",
        bytes: map_bytes(report, map),
        shape: stored_shape(map),
        color: "log",
      },
      theme,
    )
  );
}
