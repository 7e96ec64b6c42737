// The image or sound that maps are of, with what a query looks at.
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

/** Of the query; of the first token that has no place in the image where none is chosen, or of all on average. */
export function image_patches_chart(
  report: Report,
  picture: ImageInput,
  map: HeadMap,
  colour: WeightColor,
  query?: number,
): ImagePatchesChart {
  const shown = query ?? (picture.names.length > 0 ? 0 : undefined);
  const patches = { rows: picture.patch_rows, columns: picture.patch_cols };
  const name = shown === undefined ? "" : token_name({ names: picture.names, patches }, shown);
  return {
    kind: "picture",
    name: "attention-picture",
    title: shown === undefined ? "What is looked at, on average" : `What ${shown < picture.names.length ? "the " : ""}${name} looks at`,
    note: "Point at a patch, or at a row of the map; a click holds it.",
    pixels: pixels_of(report, picture),
    rows: picture.rows,
    columns: picture.cols,
    patches,
    names: picture.names,
    weights: shown === undefined ? mean_attention_to_keys(map) : attention_of_query(map, shown),
    colour,
    ...(shown === undefined ? {} : { query: shown }),
  };
}

export function audio_frames_chart(
  { maps }: Report,
  sound: AudioInput,
  map: HeadMap,
  colour: WeightColor,
  query?: number,
): AudioFramesChart {
  const levels = maps.subarray(sound.at, sound.at + sound.frames);
  const when = query === undefined ? "" : time_words(time_of({ levels, seconds: sound.seconds }, query));
  return {
    kind: "track",
    name: "attention-sound",
    title: query === undefined ? "What is looked at, on average" : `What the frame at ${when} looks at`,
    note: "Bars: how loud the sound is. Point at a frame, or at a row of the map; a click holds it.",
    levels,
    seconds: sound.seconds,
    weights: query === undefined ? mean_attention_to_keys(map) : attention_of_query(map, query),
    colour,
    ...(query === undefined ? {} : { query }),
  };
}
