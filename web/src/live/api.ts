// What the page asks of `attnscope serve`, and the events of its jobs.

/** A path of the server. One that listens beyond this computer wants the token that the page's own address holds. */
export function api_path(path: string, query: Record<string, string> = {}): string {
  const token = new URLSearchParams(location.search).get("token");
  const all = new URLSearchParams({ ...query, ...(token ? { token } : {}) }).toString();
  return all ? `${path}?${all}` : path;
}

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

/** The weights of a head's map, T × T, of the text that was run last. */
export async function fetch_map(model: number, layer: number, head: number): Promise<Float32Array> {
  return new Float32Array(await (await asked(`/api/maps/${model}/${layer}/${head}`, {})).arrayBuffer());
}

export interface JobProgress {
  done: number;
  total: number; // 0: not known
  seconds_left?: number | null;
}

/** What an event says of a job. */
interface JobRecord {
  state?: "queued" | "running" | "done" | "failed" | "cancelled";
  progress?: JobProgress | null;
  error?: { message?: string } | null;
}

export interface JobEvents {
  progress(progress: JobProgress): void;
  end(): void;
  failed(message: string): void;
}

function parsed(event: Event): JobRecord {
  try {
    return JSON.parse((event as MessageEvent<string>).data) as JobRecord;
  } catch {
    return {};
  }
}

/** Tells what happens to a job until it is over; the function that it gives stops listening. */
export function watch_job(job: number, events: JobEvents): () => void {
  const source = new EventSource(api_path(`/api/jobs/${job}/events`));
  const over = (tell: () => void) => {
    source.close();
    tell();
  };
  source.addEventListener("progress", (event) => {
    const { progress } = parsed(event);
    if (progress) events.progress(progress);
  });
  source.addEventListener("end", (event) => over(() => (parsed(event).state === "cancelled" ? events.failed("cancelled") : events.end())));
  // The server's own event of this name has data; without any it is the connection, which tries again by itself until it is closed.
  source.addEventListener("error", (event) => {
    if (event instanceof MessageEvent) over(() => events.failed(parsed(event).error?.message ?? "it failed"));
    else if (source.readyState === EventSource.CLOSED) over(() => events.failed("the server does not answer"));
  });
  return () => source.close();
}
