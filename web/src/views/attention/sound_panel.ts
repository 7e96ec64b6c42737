// The sound in its frames, coloured by what the pointed one looks at.
import { frame_at, track_bars } from "../../chart/track";
import type { Theme } from "../../chart/theme";
import type { WeightColour } from "../../chart/weights_colour";
import type { Report } from "../../data/report";
import type { Sound } from "../../data/report_file";
import { chart_frame } from "../../page/frame";
import { mount } from "../../page/h";
import type { HeadMap } from "../../shaping/head_maps";
import type { Pointing } from "./pointing";
import { track_chart } from "./signal_charts";

export function sound_panel(
  report: Report,
  sound: Sound,
  map: HeadMap,
  colour: WeightColour,
  theme: Theme,
  pointing: Pointing,
): HTMLElement {
  const chart = track_chart(report, sound, map, colour, pointing.query());
  let svg: SVGElement | undefined;
  const width = () => svg?.getBoundingClientRect().width ?? 0;

  const show = () => {
    const now = track_chart(report, sound, map, colour, pointing.query());
    delete chart.query;
    Object.assign(chart, now);
    const title = frame.querySelector("h2");
    if (title) title.textContent = String(chart.title);
    svg?.querySelector('[data-part="bars"]')?.replaceWith(mount(track_bars(chart, theme, width())));
  };
  const frame_of = (event: MouseEvent) => frame_at(chart, event.clientX - (svg?.getBoundingClientRect().left ?? 0), width());
  const on_key = (event: KeyboardEvent) => {
    const query = pointing.query();
    const steps: Readonly<Record<string, number>> = { ArrowLeft: -1, ArrowRight: 1 };
    const step = steps[event.key];
    if (step !== undefined) {
      const to = query === undefined ? 0 : query + step * (event.shiftKey ? 10 : 1);
      pointing.point(Math.max(0, Math.min(sound.frames - 1, to)));
    } else if (event.key === "Enter" && query !== undefined) pointing.hold(query);
    else return;
    event.preventDefault();
  };
  const frame = chart_frame(chart, theme, {
    level: 2,
    after_draw: (drawn) => {
      svg = drawn;
      drawn.setAttribute("tabindex", "0");
      drawn.classList.add("large-map");
      drawn.addEventListener("keydown", on_key);
      drawn.addEventListener("pointermove", (event) => pointing.point(frame_of(event)));
      drawn.addEventListener("pointerleave", () => pointing.point(undefined));
      drawn.addEventListener("blur", () => pointing.point(undefined));
      drawn.addEventListener("click", (event) => {
        const at = frame_of(event);
        if (at !== undefined) pointing.hold(at);
      });
      show();
    },
  });
  pointing.watch(show);
  return frame;
}
