// Audio frames: bars show loudness, color shows the attention of a query.
import type { ChartFields, Size } from "./chart_fields";
import { kVegaLiteSchema, vega_data } from "./csv";
import { counted, format_number } from "./number_format";
import { kFont, type Theme } from "./theme";
import { s, type Tree } from "./svg_tree";
import { vega_weight_scale, weight_hex, type WeightColor } from "./attention_colors";
import { plain } from "./rich_text";

export interface AudioFramesChart extends ChartFields {
  kind: "track";
  levels: Uint8Array; // loudness of each frame; 255: loudest
  seconds: number; // total duration
  weights: readonly number[]; // attention weight on each frame
  query?: number; // marked frame
  color: WeightColor;
}

const kHeight = 96;

export const time_words = (seconds: number): string => `${format_number(seconds, seconds < 10 ? ".2f" : ".1f")}\u202fs`;

/** Time of the middle of a frame. */
export const time_of = ({ levels, seconds }: Pick<AudioFramesChart, "levels" | "seconds">, frame: number): number =>
  ((frame + 0.5) * seconds) / Math.max(1, levels.length);

export const frame_at = (chart: AudioFramesChart, x: number, width: number): number | undefined =>
  x >= 0 && x < width ? Math.floor((x / width) * chart.levels.length) : undefined;

export function audio_frames_words(chart: AudioFramesChart, x: number, width: number): string | undefined {
  const frame = frame_at(chart, x, width);
  if (frame === undefined) return undefined;
  return `frame ${frame}, ${time_words(time_of(chart, frame))}: ≈ ${format_number(chart.weights[frame], ".2~g")}`;
}

/** The bars and the query mark: everything that depends on the query. */
export function audio_frames_bars(chart: AudioFramesChart, theme: Theme, width: number): Tree {
  const frames = chart.levels.length;
  const count = Math.max(1, Math.min(frames, Math.floor(width / 2))); // at least 2 pixels per bar
  const of_bar = (bar: number) => [Math.floor((frames * bar) / count), Math.floor((frames * (bar + 1)) / count)] as const;
  const wide = width / count;
  const bars = Array.from({ length: count }, (_, bar) => {
    const [first, last] = of_bar(bar);
    let [loudest, weight] = [0, 0];
    for (let frame = first; frame < last; ++frame) {
      loudest = Math.max(loudest, chart.levels[frame] ?? 0);
      weight = Math.max(weight, chart.weights[frame] ?? 0);
    }
    const high = Math.max(2, (loudest / 255) * (kHeight - 8));
    const x = bar * wide;
    return [
      s("rect", { x, y: 0, width: wide, height: kHeight, fill: weight_hex(theme, weight, chart.color) }),
      s("rect", { x, y: (kHeight - high) / 2, width: Math.max(0.6, wide - 0.6), height: high, fill: theme.faint, "fill-opacity": 0.55 }),
    ];
  });
  const at = chart.query === undefined ? undefined : ((chart.query + 0.5) / frames) * width;
  return s(
    "g",
    { "data-part": "bars" },
    bars.flat(),
    at === undefined ? null : s("path", { d: `M${at} -4V${kHeight + 4}`, stroke: theme.mark, "stroke-width": 2, fill: "none" }),
  );
}

export function draw_audio_frames(chart: AudioFramesChart, theme: Theme, { width }: Size): Tree {
  const ticks = Math.max(1, Math.min(6, Math.floor(width / 90)));
  const height = kHeight + 26;
  return s(
    "svg",
    {
      width,
      height,
      viewBox: `0 -4 ${width} ${height}`,
      "font-family": kFont,
      role: "img",
      "aria-label": chart.label ?? `${plain(chart.title)}: ${counted(chart.levels.length, "frame")} of ${time_words(chart.seconds)}`,
    },
    audio_frames_bars(chart, theme, width),
    Array.from({ length: ticks + 1 }, (_, tick) =>
      s(
        "text",
        {
          x: (width * tick) / ticks,
          y: kHeight + 17,
          "font-size": 11,
          fill: theme.faint,
          "text-anchor": tick === 0 ? "start" : tick === ticks ? "end" : "middle",
        },
        time_words((chart.seconds * tick) / ticks),
      ),
    ),
  );
}

export function audio_frames_to_vega_lite(chart: AudioFramesChart, theme: Theme): object {
  const rows = Array.from(chart.levels, (level, frame) => [time_of(chart, frame), level / 255, chart.weights[frame] ?? 0]);
  return {
    $schema: kVegaLiteSchema,
    title: plain(chart.title),
    data: vega_data(["seconds", "level", "weight"], [], rows),
    width: 600,
    height: 120,
    mark: { type: "bar", width: Math.max(1, 600 / Math.max(1, chart.levels.length)) },
    encoding: {
      x: { field: "seconds", type: "quantitative", scale: { domain: [0, chart.seconds], nice: false } },
      y: { field: "level", type: "quantitative", scale: { domain: [0, 1] } },
      color: {
        field: "weight",
        type: "quantitative",
        scale: vega_weight_scale(theme, chart.color),
      },
    },
  };
}
