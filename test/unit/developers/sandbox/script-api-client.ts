import type { SandboxOptions } from '../../../../src/developers/sandbox/index.ts';
import { startTestSandbox } from './start-sandbox.ts';

/** A response of the API for scripts. */
interface ApiResponse {
  readonly status: number;
  readonly headers: Headers;
  /** The parsed JSON: `any`, as `response.json()` has it. Of what is no JSON the text. */
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
    const isJson = headers.get('content-type')?.startsWith('application/json');
    return { status, headers, body: isJson ? JSON.parse(text) : text || undefined };
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
