import { describe, expect, test } from 'vitest';
import { getRepeatedly, payment, startTestSandbox } from './start-sandbox.ts';

const input = { ...payment, amount: 25.5 };

describe('of transactions', () => {
  test('the oldest final ones are deleted first', async () => {
    const { sandbox, payments } = await startTestSandbox({ keep: 3 });
    const references: string[] = [];
    for (let count = 0; count < 3; count++) references.push((await payments.initialize(payment)).reference);
    const [first, second = '', third = ''] = references;
    sandbox.abandon(third);
    sandbox.approve(second);
    const create = async () => (await payments.initialize(payment)).reference;
    const list = () => sandbox.transactions.map(({ reference }) => reference);
    const fourth = await create();
    expect(list()).toEqual([first, third, fourth]);
    const fifth = await create();
    expect(list()).toEqual([first, fourth, fifth]);
    // Then the oldest one that is open.
    const sixth = await create();
    expect(list()).toEqual([fourth, fifth, sixth]);
  });
});

describe('of requests', () => {
  test('a sandbox keeps the latest 5000 or more, at most 10,000', async () => {
    const { sandbox } = await startTestSandbox();
    for (const [count, kept] of [
      [10_000, 10_000],
      [1, 5_000],
    ] as const) {
      const path = `/transactions/verify/TXN-${count}`;
      const responses = await getRepeatedly(sandbox, path, count);
      expect(responses.match(/HTTP\/1\.1 404 /g)).toHaveLength(count);
      expect([sandbox.requests.length, sandbox.requests.at(-1)?.path]).toEqual([kept, path]);
    }
  });

  test('large bodies are shortened', async () => {
    const { sandbox } = await startTestSandbox();
    const message = 'y'.repeat(1_000_000);
    sandbox.fault('initialize', { kind: 'status', status: 422, body: { message } });
    const body = JSON.stringify({ ...input, note: 'x'.repeat(1_000_000) });
    const headers = { authorization: `Bearer ${sandbox.testKey}`, 'content-type': 'application/json' };
    await fetch(`${sandbox.baseUrl}/transactions/initialize`, { method: 'POST', headers, body });
    const kept = await (await fetch(`${sandbox.url}/sandbox/requests`)).json();
    expect(kept).toMatchObject({ requests: [{ status: 422 }] });
    expect(JSON.stringify(kept).length).toBeLessThan(40_000);
    expect(JSON.stringify(sandbox.requests).length).toBeLessThan(20_000);
  });
});
