// Server jobs from any client: one of each kind at a time, kept across redraws of the view.
import { cancel_job, start_job, watch_server, type Change, type JobProgress, type JobRecord } from "./api";

export interface Job {
  state: "running" | "failed";
  id?: number; // once the server has assigned it
  progress?: JobProgress | null;
  said?: string; // error message, or current problem
  cancelled?: boolean;
}

const jobs = new Map<string, Job>(); // by kind
const started_here = new Set<number>();
const starting = new Set<Promise<void>>(); // requested, ids not known yet
const watching = new Set<() => void>();

const tell = () => watching.forEach((each) => each());

/** Calls back at every change of a job. Returns a function that stops watching. */
export function watch_jobs(changed: () => void): () => void {
  watching.add(changed);
  return () => watching.delete(changed);
}

export const job_of = (what: string): Job | undefined => jobs.get(what);

const words_of = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** Posts a job, unless one of this kind is running. */
export function run_job(what: string, path: string, body: object): void {
  if (jobs.get(what)?.state === "running") return;
  const job: Job = { state: "running" };
  jobs.set(what, job);
  const started = start(job, path, body).finally(() => starting.delete(started));
  starting.add(started);
  tell();
}

async function start(job: Job, path: string, body: object): Promise<void> {
  try {
    job.id = await start_job(path, body);
    started_here.add(job.id);
    if (job.cancelled) await cancel_job(job.id);
  } catch (error) {
    Object.assign(job, { state: "failed", said: words_of(error) });
    tell();
  }
}

export async function cancel(what: string): Promise<void> {
  const job = jobs.get(what);
  if (job?.state !== "running") return;
  job.cancelled = true;
  jobs.delete(what);
  tell();
  try {
    if (job.id !== undefined) await cancel_job(job.id);
  } catch {
    // The job may have finished in the meantime.
  }
}

function take({ job: id, what, state, progress, error }: JobRecord): void {
  const known = jobs.get(what);
  if (known?.id !== undefined && known.id > id) return; // from an earlier job
  if (state === "queued" || state === "running") jobs.set(what, { state: "running", id, progress: progress ?? null });
  else if (state === "failed" && started_here.has(id)) jobs.set(what, { state: "failed", id, said: error?.message ?? "the job failed" });
  else jobs.delete(what);
}

/** Follows the server. `bring` fetches its report if the revision differs from `shown`, before the job that made it is reported as done. */
export function follow_server(shown: () => number | undefined, bring: () => Promise<void>): void {
  const act = async ({ revision, jobs: changed }: Change, first: boolean) => {
    await Promise.all(starting); // otherwise their events would seem to be from another client's jobs
    if (revision !== shown()) await bring();
    if (first)
      for (const [what, { state }] of jobs) if (state === "running" && !changed.some((each) => each.what === what)) jobs.delete(what);
    changed.forEach(take);
    tell();
  };
  let last: Promise<unknown> = Promise.resolve(); // process changes in order
  const failed = (error: unknown) => {
    for (const job of jobs.values()) if (job.state === "running") job.said = words_of(error);
    tell();
  };
  watch_server({
    changed: (change, first) => (last = last.then(() => act(change, first)).catch(failed)),
    lost: () => failed("the server does not respond"),
  });
}

export function progress_words({ done, total, seconds_left }: JobProgress): string {
  const count = total > 0 ? `${done} of ${total}` : "running";
  return seconds_left == null ? count : `${count}, ${seconds_left < 1 ? "less than a second" : `about ${Math.round(seconds_left)} s`} left`;
}
