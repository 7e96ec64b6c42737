// The input image or audio, with the attention of a query.
import { token_name, type ImagePatchesChart } from "../../chart/image_patches";
import { time_of, time_words, type AudioFramesChart } from "../../chart/audio_frames";
import type { WeightColor } from "../../chart/attention_colors";
import type { Report } from "../../data/report";
import type { ImageInput, AudioInput } from "../../data/report_file";
import { attention_of_query, mean_attention_to_keys, type HeadMap } from "../../shaping/head_maps";

const opened = new WeakMap<ImageInput, Uint8Array>();

function pixels_of({ maps }: Report, picture: ImageInput): Uint8Array {
  const pixels = opened.get(picture) ?? maps.subarray(picture.at, picture.at + picture.rows * picture.cols * 3);
  opened.set(picture, pixels);
  return pixels;
}

/** Attention of the query. Without one: of the first token that is not a patch, or the mean over queries. */
export function image_patches_chart(
  report: Report,
  picture: ImageInput,
  map: HeadMap,
  color: WeightColor,
  query?: number,
): ImagePatchesChart {
  const shown = query ?? (picture.names.length > 0 ? 0 : undefined);
  const patches = { rows: picture.patch_rows, columns: picture.patch_cols };
  const name = shown === undefined ? "" : token_name({ names: picture.names, patches }, shown);
  return {
    kind: "picture",
    name: "attention-picture",
    title: shown === undefined ? "Mean attention" : `Attention of ${shown < picture.names.length ? "the " : ""}${name}`,
    note: "Point at a patch or a row of the map. Click to keep it selected.",
    pixels: pixels_of(report, picture),
    rows: picture.rows,
    columns: picture.cols,
    patches,
    names: picture.names,
    weights: shown === undefined ? mean_attention_to_keys(map) : attention_of_query(map, shown),
    color,
    ...(shown === undefined ? {} : { query: shown }),
  };
}

export function audio_frames_chart(
  { maps }: Report,
  sound: AudioInput,
  map: HeadMap,
  color: WeightColor,
  query?: number,
): AudioFramesChart {
  const levels = maps.subarray(sound.at, sound.at + sound.frames);
  const when = query === undefined ? "" : time_words(time_of({ levels, seconds: sound.seconds }, query));
  return {
    kind: "track",
    name: "attention-sound",
    title: query === undefined ? "Mean attention" : `Attention of the frame at ${when}`,
    note: "Bars: loudness. Color: attention. Point at a frame or a row of the map. Click to keep it selected.",
    levels,
    seconds: sound.seconds,
    weights: query === undefined ? mean_attention_to_keys(map) : attention_of_query(map, query),
    color,
    ...(query === undefined ? {} : { query }),
  };
}
