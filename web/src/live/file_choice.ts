// A file that is chosen to be run.
import { h } from "../page/elements";

/** What was chosen outlives redraws of the view. */
export interface ChosenFile {
  said: string; // its name, or what is wrong with it
  file?: File; // the last one, which may be being read
  content?: string;
}

const kMostBytes = 4 << 20; // as the server has it

/** `read`: what of the file is sent. `chosen` is called whenever there is other content, or none any more. */
export function file_choice(
  kept: ChosenFile,
  { label, types }: { label: string; types: string },
  read: (file: File) => Promise<string>,
  chosen: () => void,
): [HTMLInputElement, HTMLElement] {
  const said = h("span", { class: "note", role: "status" }, kept.said);
  const say = (words: string) => (said.textContent = kept.said = words);
  const choose = async (file: File | undefined) => {
    if (!file) return;
    Object.assign(kept, { file, content: undefined }); // what was chosen before is sent no more
    chosen();
    try {
      if (file.size > kMostBytes) throw new Error(`${file.name} is over the limit of 4 MiB.`);
      const content = await read(file);
      if (kept.file !== file) return;
      kept.content = content;
      say(file.name);
      chosen();
    } catch (error) {
      if (kept.file === file) say(error instanceof Error ? error.message : String(error));
    }
  };
  const input = h("input", {
    type: "file",
    accept: types,
    "aria-label": label,
    onchange: (event: Event) => void choose((event.target as HTMLInputElement).files?.[0]),
  });
  return [input, said];
}

export const kTextTypes = ".txt,.md,.csv,.json,.jsonl,text/*";

/** The text of a file in UTF-8. */
export async function text_of(file: File): Promise<string> {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
  } catch {
    throw new Error(`${file.name} is not UTF-8.`);
  }
}

export const base64_of = (file: File): Promise<string> =>
  new Promise((read, failed) => {
    const reader = new FileReader();
    reader.onload = () => read(String(reader.result).replace(/^[^,]*,/, ""));
    reader.onerror = () => failed(reader.error ?? new Error("the file cannot be read"));
    reader.readAsDataURL(file);
  });
