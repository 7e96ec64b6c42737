// File input for live runs.
import { h } from "../page/elements";

/** The chosen file, which survives redraws of the view. */
export interface ChosenFile {
  said: string; // its name or an error message
  file?: File; // last chosen file, possibly still being read
  content?: string;
}

const kMostBytes = 4 << 20; // the server's limit

/** `read` returns the content to send. `chosen` is called whenever the content changes or is cleared. */
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
    Object.assign(kept, { file, content: undefined }); // discard the previous content
    chosen();
    try {
      if (file.size > kMostBytes) throw new Error(`${file.name}: larger than the limit of 4 MiB.`);
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

/** The text of a UTF-8 file. */
export async function text_of(file: File): Promise<string> {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
  } catch {
    throw new Error(`${file.name}: not valid UTF-8.`);
  }
}

export const base64_of = (file: File): Promise<string> =>
  new Promise((read, failed) => {
    const reader = new FileReader();
    reader.onload = () => read(String(reader.result).replace(/^[^,]*,/, ""));
    reader.onerror = () => failed(reader.error ?? new Error("cannot read the file"));
    reader.readAsDataURL(file);
  });
