// Requests to `attnscope serve`, and job events from it.
import { api_path } from "../data/api_path";

/** Message of an error response: from its JSON, otherwise its status. */
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

/** Starts a job and returns its id. */
export async function start_job(path: string, body: object): Promise<number> {
  const { job } = (await (await posted(path, body)).json()) as { job: number };
  return job;
}

export const cancel_job = async (job: number): Promise<void> => void (await asked(`/api/jobs/${job}`, { method: "DELETE" }));

/** Weights of a head's T × S map on the last text that was run. */
export async function fetch_map(model: number, layer: number, head: number): Promise<Float32Array> {
  return new Float32Array(await (await asked(`/api/maps/${model}/${layer}/${head}`, {})).arrayBuffer());
}

export interface JobProgress {
  done: number;
  total: number; // 0: unknown
  seconds_left?: number | null;
}

export interface JobRecord {
  job: number;
  what: string; // "attention", an analysis id or "missing"
  state: "queued" | "running" | "done" | "failed" | "cancelled";
  progress?: JobProgress | null;
  error?: { message?: string } | null;
}

/** A change at the server, from this page or another client. */
export interface Change {
  revision: number; // revision of the server's current report
  jobs: JobRecord[]; // changed jobs; in the first event, all jobs in progress
}

export interface Watcher {
  changed(change: Change, first: boolean): void;
  lost(): void; // the server does not respond; after reconnecting, a first change follows
}

const kAgain = 5000; // milliseconds before reconnecting if the server accepts no more clients

/** Reports changes at the server as long as the page is open. */
export function watch_server(watcher: Watcher): void {
  const source = new EventSource(api_path("/api/events"));
  let first = true;
  source.addEventListener("change", (event) => {
    watcher.changed(JSON.parse((event as MessageEvent<string>).data) as Change, first);
    first = false;
  });
  // EventSource reconnects by itself until it is closed.
  source.addEventListener("error", () => {
    first = true;
    watcher.lost();
    if (source.readyState === EventSource.CLOSED) setTimeout(() => watch_server(watcher), kAgain);
  });
}
