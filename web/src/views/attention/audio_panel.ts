// The audio frames, colored by the attention of the frame under the pointer.
import { frame_at, audio_frames_bars } from "../../chart/audio_frames";
import type { Theme } from "../../chart/theme";
import type { WeightColor } from "../../chart/attention_colors";
import type { Report } from "../../data/report";
import type { AudioInput } from "../../data/report_file";
import { chart_frame } from "../../page/chart_frame";
import { mount } from "../../page/elements";
import type { HeadMap } from "../../shaping/head_maps";
import type { SelectedQuery } from "./selected_query";
import { audio_frames_chart } from "./media_charts";

export function audio_panel(
  report: Report,
  sound: AudioInput,
  map: HeadMap,
  color: WeightColor,
  theme: Theme,
  pointing: SelectedQuery,
): HTMLElement {
  const chart = audio_frames_chart(report, sound, map, color, pointing.query());
  let svg: SVGElement | undefined;
  const width = () => svg?.getBoundingClientRect().width ?? 0;

  const show = () => {
    const now = audio_frames_chart(report, sound, map, color, pointing.query());
    delete chart.query;
    Object.assign(chart, now);
    const title = frame.querySelector("h2");
    if (title) title.textContent = String(chart.title);
    svg?.querySelector('[data-part="bars"]')?.replaceWith(mount(audio_frames_bars(chart, theme, width())));
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
