// Full maps from the server: fetched when a head is selected, cached until the results change.
import { tokens_shape } from "../data/maps";
import { map_places, type Report } from "../data/report";
import { h } from "../page/elements";
import type { Context } from "../page/view";
import type { HeadIndex } from "../shaping/head_grid";
import { exact_map, type HeadMap } from "../shaping/head_maps";
import { fetch_map } from "./api";

type Fetched = { state: "fetching" } | { state: "there"; map: HeadMap } | { state: "failed"; said: string };

const kKept = 12; // 5 MB each at T = 1,024
let of_file: unknown; // results to which the maps belong
const maps = new Map<string, Fetched>();

function forget_old({ file }: Report): void {
  if (of_file !== file.maps) maps.clear();
  of_file = file.maps;
  for (const key of maps.keys()) if (maps.size > kKept) maps.delete(key);
}

/** The full map of a head in a live page, or a status message until it is available. */
export function live_map(context: Context, { layer, head }: HeadIndex): { map?: HeadMap; said?: HTMLElement } | undefined {
  const { report, model } = context;
  const [place] = map_places(report, model.name);
  if (!report.live || !place) return undefined;
  forget_old(report);
  const index = report.file.models.indexOf(model);
  const key = `${index}/${layer}/${head}`;
  const known = maps.get(key);
  if (known?.state === "there") return { map: known.map };
  if (known?.state === "failed") return { said: h("p", { class: "note", role: "status" }, `Cannot fetch the full map: ${known.said}`) };
  if (!known) {
    maps.set(key, { state: "fetching" });
    const file = of_file;
    const settle = (fetched: Fetched) => {
      if (of_file !== file) return;
      maps.set(key, fetched);
      context.replace({});
    };
    fetch_map(index, layer, head).then(
      (weights) => settle({ state: "there", map: exact_map(weights, tokens_shape(place)) }),
      (error: unknown) => settle({ state: "failed", said: error instanceof Error ? error.message : String(error) }),
    );
  }
  return { said: h("p", { class: "note", role: "status" }, "Fetching the full map …") };
}
