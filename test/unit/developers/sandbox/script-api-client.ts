import type { SandboxOptions } from '../../../../src/developers/sandbox/index.ts';
import { startTestSandbox } from './start-sandbox.ts';

/** A response of the API for scripts. */
interface ApiResponse {
  readonly status: number;
  readonly headers: Headers;
  /** The parsed JSON: `any`, as `response.json()` has it. */
  readonly body: Awaited<ReturnType<Response['json']>>;
}

/** Starts a sandbox for one test, with a client of its API for scripts. */
export async function startTestApi(options?: SandboxOptions) {
  const started = await startTestSandbox(options);
  const address = `${started.sandbox.url}/sandbox`;
  const send = async (method: string, path: string, init: RequestInit = {}): Promise<ApiResponse> => {
    const response = await fetch(address + path, { method, ...init });
    const text = await response.text();
    const { status, headers } = response;
    return { status, headers, body: text === '' ? undefined : JSON.parse(text) };
  };
  const write = (method: string) => (path: string, body: unknown) =>
    send(method, path, {
      headers: { 'content-type': 'application/json' },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });
  return {
    ...started,
    address,
    send,
    get: (path: string) => send('GET', path),
    post: write('POST'),
    put: write('PUT'),
    remove: (path: string) => send('DELETE', path),
  };
}
