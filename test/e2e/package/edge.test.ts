import { createContext, runInContext } from 'node:vm';
import { expect, test } from 'vitest';
import { payingSandbox, program } from './project.ts';
import { expectShopRun, loading, readShop } from './runtimes.ts';
import { bundle, edgeProgram, runInWorkerd, serveInWorkerd } from './workerd.ts';

test('charges, polls and handles errors in workerd', async () => {
  const { loads, text } = await readShop((call) => edgeProgram(`${call}, baseUrl, apiKey)`));
  const bundled = loading('module', loads) + text;
  await expectShopRun((baseUrl, apiKey) => runInWorkerd(bundled, { baseUrl, apiKey }));
});

test('charges, polls and handles errors with web globals only', async () => {
  const { loads, text } = await readShop((call) => `globalThis.visit = (...to) => ${call}, ...to);`);
  const context = createContext({ ...web });
  runInContext(await bundle(loading('module', loads) + text, 'iife'), context);
  await expectShopRun(async (baseUrl, apiKey) =>
    JSON.stringify(await runInContext(`visit('${baseUrl}', '${apiKey}')`, context)),
  );
});

const web = {
  AbortController,
  AbortSignal,
  DOMException,
  Event,
  EventTarget,
  Headers,
  ReadableStream,
  Request,
  Response,
  TextDecoder,
  TextEncoder,
  TransformStream,
  URL,
  URLSearchParams,
  Blob,
  FormData,
  clearInterval,
  clearTimeout,
  console,
  crypto,
  fetch,
  performance,
  queueMicrotask,
  setInterval,
  setTimeout,
  structuredClone,
};

test('reads a phone number in workerd', async () => {
  const text = `import { parseGhanaPhone } from 'payment-collection-client/phone';
    ${edgeProgram("['+233 (0)24 412 3456', '030 212 3456'].map(parseGhanaPhone)", '')}`;
  const mtn = { phone: '0244123456', network: 'mtn' };
  expect(JSON.parse(await runInWorkerd(text, {}, '', 'shop'))).toEqual([mtn, null]);
});
/** Starts a Worker whose one client is made at module scope. `call` runs one of its actions as a request of its own. */
async function startWorker() {
  const sandbox = await payingSandbox();
  const { baseUrl, liveKey: apiKey } = sandbox;
  const url = await serveInWorkerd(await program('worker.mjs'), { baseUrl, apiKey });
  const send = (action: string, argument = '', signal?: AbortSignal) =>
    fetch(`${url}/${action}/${argument}`, signal ? { signal } : {});
  const call = async (action: string, argument?: string) => {
    const response = await send(action, argument);
    expect(response.status).toBe(200);
    return await response.json();
  };
  const countChecks = (reference: string) =>
    sandbox.requests.filter(({ path }) => path.endsWith(`/verify/${reference}`)).length;
  return { sandbox, send, call, countChecks };
}

test('takes many requests with a client made at module scope', async () => {
  const { sandbox, call } = await startWorker();
  const keys = ['a', 'b', 'c', 'd'];
  const charges = await Promise.all(keys.map((key) => call('charge', key)));
  expect(charges).toEqual(keys.map(() => expect.objectContaining({ status: 'processing', replayed: false })));
  expect(await call('charge', 'a')).toEqual({ ...charges[0], message: '', replayed: true });
  expect(sandbox.charges).toHaveLength(4);

  const references = charges.map(({ reference }: { reference: string }) => reference);
  for (const reference of references) sandbox.approve(reference);
  for (const action of ['wait', 'verify'])
    expect(await Promise.all(references.map((reference) => call(action, reference)))).toEqual(
      references.map((reference) => expect.objectContaining({ reference, status: 'success' })),
    );
  expect(await call('watch', references[0])).toEqual(['success']);
  expect(await call('reconcile', references[1])).toEqual(['success']);

  const pressed = await call('order', '17');
  expect(pressed).toMatchObject({ state: 'processing' });
  sandbox.approve(pressed.payment.reference);
  expect(await call('waitForOrder', '17')).toMatchObject({ state: 'paid' });
  expect(await call('order', '17')).toMatchObject({ state: 'paid' });
  expect((await call('sweep')).sort()).toEqual(['final a', 'final b', 'final c', 'final d', 'paid 17']);
});

test('keeps a wait while another request that waited for it is cancelled', async () => {
  const { sandbox, send, call, countChecks } = await startWorker();
  // The sandbox pays the first two by itself.
  const [, , { reference }] = [
    await call('charge', 'a'),
    await call('charge', 'b'),
    await call('charge', 'c'),
  ];
  const leaving = new AbortController();
  const left = send('wait', reference, leaving.signal).catch((error: Error) => error.name);
  await expect.poll(() => countChecks(reference), { timeout: 60_000 }).toBeGreaterThan(0);
  const kept = call('wait', reference);
  leaving.abort();
  expect(await left).toBe('AbortError');
  expect(await call('notify', reference)).toBeNull();
  sandbox.approve(reference);
  expect(await kept).toMatchObject({ reference, status: 'success' });
});
