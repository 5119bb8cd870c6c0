import { workerUrl } from './settings.ts';

/** Sends a request to the worker. If the worker is down, nothing is lost: it reads every open order when it starts. */
export async function notifyWorker(path: string, body: object): Promise<void> {
  try {
    await fetch(new URL(path, workerUrl), {
      method: 'POST',
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(5_000),
    });
  } catch {}
}
