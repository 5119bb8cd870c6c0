import { workerUrl } from './settings.ts';

/** Where the worker is not up, nothing is lost: it finds out everything when it starts. */
export async function tellWorker(path: string, body: object): Promise<void> {
  try {
    await fetch(new URL(path, workerUrl), {
      method: 'POST',
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(5_000),
    });
  } catch {}
}
