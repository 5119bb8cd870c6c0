import { Agent, Client } from 'undici';
import { describe, expect, onTestFinished, test } from 'vitest';
import { OutcomeUnknownError } from '../../../src/index.ts';
import { undiciTransport } from '../../../src/node/index.ts';
import { expectUnknownOutcome } from '../../helpers/expected-outcomes.ts';
import { startHungListener } from '../../helpers/hung-listener.ts';
import { createClientFor, startRawService } from '../../helpers/raw-service.ts';
import { catchError, charge } from '../../helpers/service.ts';
import { testWithTransport } from '../../helpers/transport-under-test.ts';

testWithTransport(undiciTransport());

await import('../http/not-sent.test.ts');

describe('proves nothing by', () => {
  test("a connect timeout of a merchant's dispatcher, which names no host", async () => {
    const { baseUrl, fill, kill } = await startHungListener(1);
    onTestFinished(kill);
    await fill();
    const dispatcher = new Agent({ connect: { timeout: 100 } });
    onTestFinished(() => dispatcher.destroy());
    const client = createClientFor(baseUrl)({ transport: undiciTransport({ dispatcher }) });
    await expectUnknownOutcome(client, 'ConnectionError');
  });

  test('a dispatcher that is destroyed during the charge', async () => {
    const service = await startRawService(() => void dispatcher.destroy());
    const dispatcher = new Client(new URL(service.baseUrl).origin);
    const client = service.client({ transport: undiciTransport({ dispatcher }) });
    expect(await catchError(client.chargeMobileMoney(charge))).toBeInstanceOf(OutcomeUnknownError);
    expect(service.requests).toHaveLength(1);
  });
});
