// Opens the report embedded in the page, or fetches it from the server.
import { api_path } from "./api_path";
import type { Report } from "./report";
import type { ReportFile } from "./report_file";

function from_base64(text: string): Uint8Array<ArrayBuffer> {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let index = 0; index < binary.length; ++index) bytes[index] = binary.charCodeAt(index);
  return bytes;
}

async function unpacked(text: string): Promise<ArrayBuffer> {
  const packed = new Blob([from_base64(text)]).stream();
  return new Response(packed.pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
}

/** A block's text. Undefined if it is empty. */
function block(id: string): string | undefined {
  const text = document.getElementById(id)?.textContent?.trim();
  return text && !text.startsWith("@@") ? text : undefined;
}

async function packed_block(id: string): Promise<ArrayBuffer> {
  const text = block(id);
  return text ? unpacked(text) : new ArrayBuffer(0);
}

/** The server's current report. Blocks are matched by revision, because it can change between two responses. */
async function served(attempts = 20): Promise<Report> {
  const get = async (path: string, query: Record<string, string> = {}) => {
    const answer = await fetch(api_path(path, query));
    if (!answer.ok && answer.status !== 409) throw new Error(`${path}: ${answer.status} ${answer.statusText}`);
    return answer;
  };
  const answer = await get("/api/results");
  const results = await answer.text();
  const revision = answer.headers.get("Attnscope-Revision");
  const query: Record<string, string> = revision === null ? {} : { revision };
  const [values, maps] = await Promise.all([get("/api/values", query), get("/api/maps", query)]);
  if (values.ok && maps.ok) return opened(results, await values.arrayBuffer(), await maps.arrayBuffer(), true);
  if (attempts > 1) return served(attempts - 1);
  throw new Error("the server's report keeps changing; reload the page");
}

/** Undefined if the page is the empty template. */
export async function load_report(): Promise<Report | undefined> {
  if (block("results")) {
    const [results, values, maps] = await Promise.all([packed_block("results"), packed_block("values"), packed_block("maps")]);
    return opened(new TextDecoder().decode(results), values, maps, false);
  }
  if (!location.protocol.startsWith("http")) return undefined;
  return served();
}

/** float32 numbers from byte planes: all lowest bytes first, then the next ones. Neighbors share high bytes, so this compresses better. */
export function numbers_of_planes(planes: ArrayBuffer): Float32Array {
  const count = Math.floor(planes.byteLength / 4);
  const bytes = new Uint8Array(4 * count);
  for (let plane = 0; plane < 4; ++plane)
    new Uint8Array(planes, plane * count, count).forEach((byte, index) => (bytes[4 * index + plane] = byte));
  return new Float32Array(bytes.buffer);
}

export function opened(results: string, values: ArrayBuffer, maps: ArrayBuffer, live: boolean): Report {
  return {
    file: JSON.parse(results) as ReportFile,
    values: numbers_of_planes(values),
    maps: new Uint8Array(maps),
    live,
  };
}
