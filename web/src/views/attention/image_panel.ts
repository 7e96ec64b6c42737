// The image patches, colored by the attention of the patch under the pointer, or of the class token if there is none.
import { chip_ink, image_patches_cell, token_at } from "../../chart/image_patches";
import type { Theme } from "../../chart/theme";
import { short } from "../../chart/svg_tree";
import type { WeightColor } from "../../chart/attention_colors";
import type { Report } from "../../data/report";
import type { ImageInput } from "../../data/report_file";
import { chart_frame } from "../../page/chart_frame";
import type { HeadMap } from "../../shaping/head_maps";
import type { SelectedQuery } from "./selected_query";
import { image_patches_chart } from "./media_charts";

export function image_panel(
  report: Report,
  picture: ImageInput,
  map: HeadMap,
  color: WeightColor,
  theme: Theme,
  pointing: SelectedQuery,
): HTMLElement {
  const chart = image_patches_chart(report, picture, map, color, pointing.query());
  let svg: SVGElement | undefined;

  const show = () => {
    const now = image_patches_chart(report, picture, map, color, pointing.query());
    delete chart.query;
    Object.assign(chart, now); // the frame, tooltip and save menu read the chart again
    const title = frame.querySelector("h2");
    if (title) title.textContent = String(chart.title);
    for (const cell of svg?.querySelectorAll<SVGElement>("[data-place]") ?? []) {
      const token = Number(cell.dataset.place);
      for (const [name, value] of Object.entries(image_patches_cell(chart, token, theme))) cell.setAttribute(name, short(value));
    }
    for (const chip of svg?.querySelectorAll<SVGElement>("[data-chip]") ?? [])
      chip.setAttribute("fill", chip_ink(chart, Number(chip.dataset.chip), theme));
  };
  const token_of = (event: Event): number | undefined => {
    const place = event.target instanceof SVGElement ? event.target.dataset.place : undefined;
    return place === undefined ? undefined : Number(place);
  };
  const frame = chart_frame(chart, theme, {
    level: 2,
    on_choose: ({ row, column }) => pointing.hold(token_at(chart, row, column)),
    after_draw: (drawn) => {
      svg = drawn;
      drawn.classList.add("patches");
      drawn.addEventListener("pointerover", (event) => pointing.point(token_of(event)));
      drawn.addEventListener("pointerleave", () => pointing.point(undefined));
      drawn.addEventListener("focusin", (event) => {
        if ((event.target as Element).matches(":focus-visible")) pointing.point(token_of(event));
      });
      drawn.addEventListener("focusout", () => pointing.point(undefined));
      show();
    },
  });
  pointing.watch(show);
  return frame;
}
