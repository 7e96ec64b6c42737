// Queries and keys of a model's maps: tokens of one text, two texts or an image, or audio frames.
import { time_of, time_words } from "../../chart/audio_frames";
import { token_name } from "../../chart/image_patches";
import type { MapShape } from "../../data/maps";
import { range } from "../../data/numbers";
import { image_input, audio_input, source_of, tokens_of, type ShownToken } from "../../data/report";
import type { ImageInput } from "../../data/report_file";
import type { Reading } from "../../shaping/reading";
import { shown_token } from "../../shaping/tokens";

export interface Axes {
  queries: readonly string[];
  keys: readonly string[];
  noun: "token" | "frame"; // a single query or key
  of: "text" | "two texts" | "image" | "audio";
  first: string; // name of key 0
}

const both = (names: readonly string[], noun: Axes["noun"], of: Axes["of"], first: string): Axes => ({
  queries: names,
  keys: names,
  noun,
  of,
  first,
});

export const kOfText = { first: "first token", noun: "token" } as const;

/** Undefined if the report has no text, image or audio. */
export function axes_of({ report, model }: Reading): Axes | undefined {
  const picture = image_input(report, model.name);
  if (picture) return both(picture_names(picture), "token", "image", picture.names[0] ?? "first patch");
  const sound = audio_input(report, model.name);
  if (sound) {
    const track = { levels: new Uint8Array(sound.frames), seconds: sound.seconds };
    return both(
      range(sound.frames).map((frame) => time_words(time_of(track, frame))),
      "frame",
      "audio",
      "first frame",
    );
  }
  const names = (tokens: readonly ShownToken[]) => tokens.map(({ text }) => shown_token(text));
  const [tokens, source] = [tokens_of(report, model.name), source_of(report, model.name)];
  if (tokens.length === 0) return undefined;
  if (!source) return both(names(tokens), "token", "text", kOfText.first);
  return { queries: names(tokens), keys: names(source), noun: "token", of: "two texts", first: kOfText.first };
}

function picture_names({ names, patch_rows, patch_cols }: ImageInput): string[] {
  const of = { names, patches: { rows: patch_rows, columns: patch_cols } };
  return range(names.length + patch_rows * patch_cols).map((token) => token_name(of, token));
}

export const shape_of = ({ queries, keys }: Axes): MapShape => ({ queries: queries.length, keys: keys.length });
