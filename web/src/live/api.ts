// What the page asks of `attnscope serve`, and the events of its jobs.
import { api_path } from "../data/api_path";

/** What a refusal says: its JSON's message, else its status. */
async function refusal_words(answer: Response): Promise<string> {
  const otherwise = `${answer.status} ${answer.statusText}`.trim();
  try {
    const { error } = (await answer.json()) as { error?: { message?: string } };
    return error?.message ?? otherwise;
  } catch {
    return otherwise;
  }
}

async function asked(path: string, options: RequestInit): Promise<Response> {
  const answer = await fetch(api_path(path), options);
  if (!answer.ok) throw new Error(await refusal_words(answer));
  return answer;
}

const posted = (path: string, body: object): Promise<Response> =>
  asked(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });

/** A job's id. */
export async function start_job(path: string, body: object): Promise<number> {
  const { job } = (await (await posted(path, body)).json()) as { job: number };
  return job;
}

export const cancel_job = async (job: number): Promise<void> => void (await asked(`/api/jobs/${job}`, { method: "DELETE" }));

/** The weights of a head's map, T × S, of the text that was run last. */
export async function fetch_map(model: number, layer: number, head: number): Promise<Float32Array> {
  return new Float32Array(await (await asked(`/api/maps/${model}/${layer}/${head}`, {})).arrayBuffer());
}

export interface JobProgress {
  done: number;
  total: number; // 0: not known
  seconds_left?: number | null;
}

export interface JobRecord {
  job: number;
  what: string; // "attention", the id of an analysis, "missing"
  state: "queued" | "running" | "done" | "failed" | "cancelled";
  progress?: JobProgress | null;
  error?: { message?: string } | null;
}

/** What has happened at the server, whoever asked for it. */
export interface Change {
  revision: number; // of the report that it has now
  jobs: JobRecord[]; // those to which something happened; of the first change those under way
}

export interface Watcher {
  changed(change: Change, first: boolean): void;
  lost(): void; // the server does not answer; when it does again, a first change follows
}

const kAgain = 5000; // milliseconds, where the server had no place for this page

/** Tells what happens at the server as long as the page is open. */
export function watch_server(watcher: Watcher): void {
  const source = new EventSource(api_path("/api/events"));
  let first = true;
  source.addEventListener("change", (event) => {
    watcher.changed(JSON.parse((event as MessageEvent<string>).data) as Change, first);
    first = false;
  });
  // The connection is tried again by itself until it is closed.
  source.addEventListener("error", () => {
    first = true;
    watcher.lost();
    if (source.readyState === EventSource.CLOSED) setTimeout(() => watch_server(watcher), kAgain);
  });
}
