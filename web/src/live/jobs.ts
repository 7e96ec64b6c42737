// Jobs that this page has started: one of a kind at a time, over redraws of the view.
import { cancel_job, start_job, watch_job, type JobProgress } from "./api";

export interface Job {
  state: "running" | "failed";
  progress?: JobProgress;
  said?: string; // why it failed
}

const jobs = new Map<string, Job & { id?: number; cancelled?: boolean; stop?: () => void }>();
const watching = new Set<(key: string) => void>();
let on_results: (() => Promise<void>) | undefined;

const tell = (key: string) => watching.forEach((each) => each(key));

/** What happens when a job has brought results. */
export const when_results_come = (act: () => Promise<void>): void => void (on_results = act);

/** Calls back at every change of a job, by its key; the function that it gives stops that. */
export function watch_jobs(changed: (key: string) => void): () => void {
  watching.add(changed);
  return () => watching.delete(changed);
}

export const job_of = (key: string): Job | undefined => jobs.get(key);

/** "text", or the id of an analysis. */
export async function run_job(key: string, path: string, body: object): Promise<void> {
  if (jobs.get(key)?.state === "running") return;
  const job: NonNullable<ReturnType<typeof jobs.get>> = { state: "running" };
  jobs.set(key, job);
  tell(key);
  const failed = (said: string) => {
    if (job.cancelled) jobs.delete(key);
    else Object.assign(job, { state: "failed", said });
    tell(key);
  };
  try {
    job.id = await start_job(path, body);
    if (job.cancelled) await cancel_job(job.id);
    job.stop = watch_job(job.id, {
      progress(progress) {
        job.progress = progress;
        tell(key);
      },
      async end() {
        try {
          if (!job.cancelled) await on_results?.();
          jobs.delete(key);
        } catch (error) {
          return failed(error instanceof Error ? error.message : String(error));
        }
        tell(key);
      },
      failed,
    });
  } catch (error) {
    failed(error instanceof Error ? error.message : String(error));
  }
}

export async function cancel(key: string): Promise<void> {
  const job = jobs.get(key);
  if (!job || job.state !== "running") return;
  job.cancelled = true;
  tell(key);
  if (job.id === undefined) return; // it is cancelled as soon as its id is known
  try {
    await cancel_job(job.id);
  } catch {
    // It may have ended meanwhile.
  }
  job.stop?.();
  jobs.delete(key);
  tell(key);
}

export function progress_words({ done, total, seconds_left }: JobProgress): string {
  const count = total > 0 ? `${done} of ${total}` : "running";
  return seconds_left == null ? count : `${count}, ${seconds_left < 1 ? "less than a second" : `about ${Math.round(seconds_left)} s`} left`;
}
