import { stat } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { isPaymentsError } from '../../../src/index.ts';
import { startKeepAliveServices } from '../../helpers/keep-alive-service.ts';
import { createClientFor } from '../../helpers/raw-service.ts';
import { API_KEY, charge } from '../../helpers/service.ts';
import { chooseSize, isExhaustive } from '../../helpers/sized.ts';

const TRIALS = chooseSize(5, 25);

type Place = (go: () => void) => unknown;
type Send = (baseUrl: string, order: string) => Promise<unknown>;

const fromPromise: Place = (go) => Promise.resolve().then(go);

/** The phase of the event loop that starts a charge. It decides what runs before the sockets are read. */
const places: [string, Place][] = [
  ['a promise', fromPromise],
  ['a timer', (go) => setTimeout(go, 0)],
  ['an immediate', (go) => setImmediate(go)],
  ['a file', (go) => stat('.', go)],
  ['a message', (go) => fromMessage(go)],
];

function fromMessage(go: () => void) {
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = () => {
    port1.close();
    go();
  };
  port2.postMessage(null);
}

const byClient: Send = (baseUrl, order) =>
  createClientFor(baseUrl)({ maxRetries: 2 }).chargeMobileMoney(charge, { extraBody: { order } });

const byFetchAlone: Send = async (baseUrl, order) => {
  const body = JSON.stringify({ ...charge, order });
  const response = await fetch(`${baseUrl}/transactions/charge-mobile-money`, { method: 'POST', body });
  return response.text();
};

for (const manner of ['FIN', 'RST'] as const) {
  test.each(places)(`loses no charge made from %s if a ${manner} came while busy`, async (name, place) => {
    if (isExhaustive) {
      const { lost } = await chargesAfterClose(manner, place, byFetchAlone);
      console.log(`${manner}, from ${name}: fetch alone lost ${lost} of ${TRIALS}`);
    }
    const own = await chargesAfterClose(manner, place, byClient);
    expect(own).toEqual({ lost: 0, made: TRIALS, onOpenConnection: 0 });
  });
}

test('nor is it lost under fake timers', async () => {
  const own = await chargesAfterClose('RST', fromPromise, byClient, () => vi.useFakeTimers());
  expect(own).toEqual({ lost: 0, made: TRIALS, onOpenConnection: 0 });
});

describe('on a runtime without a setImmediate of its own', () => {
  afterEach(() => {
    vi.resetModules();
    vi.unstubAllGlobals();
  });

  test.each([
    ['nor is it lost without setImmediate', () => vi.stubGlobal('setImmediate', undefined)],
    ['nor is it lost if timers were fake before', () => vi.useFakeTimers()],
  ])('%s', async (_, change) => {
    change();
    const send = await loadClient().finally(() => vi.useRealTimers());
    expect(await chargesAfterClose('RST', fromPromise, send, change)).toEqual({
      lost: 0,
      made: TRIALS,
      onOpenConnection: 0,
    });
  });

  test('sends a charge if there is no MessageChannel', async () => {
    vi.stubGlobal('setImmediate', undefined);
    vi.stubGlobal('MessageChannel', undefined);
    const send = await loadClient();
    const { baseUrls, ...service } = await startKeepAliveServices([{ keepAlive: 5_000, hint: true }]);
    await send(baseUrls[0] ?? '', 'only');
    expect(await service.charged()).toEqual([{ order: 'only', onOpenConnection: false }]);
    await service.stop();
  });

  /** Loads the package as it would be loaded first. */
  async function loadClient(): Promise<Send> {
    vi.resetModules();
    const { PaymentsClient } = await import('../../../src/index.ts');
    return (baseUrl, order) =>
      new PaymentsClient({ apiKey: API_KEY, baseUrl }).chargeMobileMoney(charge, { extraBody: { order } });
  }
});

/** Charges, each over a connection of its own that the service closes while this process cannot see it. */
async function chargesAfterClose(manner: 'FIN' | 'RST', place: Place, send: Send, change = () => {}) {
  const services = Array.from({ length: TRIALS }, () => ({ keepAlive: 60_000, hint: false }));
  const { baseUrls, ...service } = await startKeepAliveServices(services);
  let lost = 0;
  for (const [index, baseUrl] of baseUrls.entries()) {
    await createClientFor(baseUrl)().verify(`TXN-close-${manner}`);
    // Fetch takes a few turns to give the connection back to its pool.
    for (let turn = 0; turn < 8; turn++) await nextTurn();
    await new Promise<void>((resolve) => place(resolve));
    service.beBusyWhileItCloses();
    change();
    await send(baseUrl, `${index}`).catch((error: unknown) => {
      if (!(isPaymentsError(error) ? error.code === 'outcome_unknown' : error instanceof TypeError))
        throw error;
      lost++;
    });
    vi.useRealTimers();
    vi.unstubAllGlobals();
  }
  const charged = await service.charged();
  await service.stop();
  const onOpenConnection = charged.filter((made) => made.onOpenConnection).length;
  return { lost, made: new Set(charged.map(({ order }) => order)).size, onOpenConnection };
}
