import { expect, test } from 'vitest';
import { requestPoints, responsePoints, verify } from './points.ts';
import { requestLength, sweep } from './sweep.ts';
import { sweepTests } from './sweep-tests.ts';

sweepTests(verify, { maxRetries: 0 });

test('returns the result of verify after a cut at any byte', async () => {
  const points = [
    ...requestPoints(verify, await requestLength(verify)),
    ...responsePoints('200', verify.responses['200']),
  ].filter(({ cut }) => cut.bytes % 4 === 0);
  const lies = await sweep(verify, points, { resolves: true });
  expect(lies).toEqual([]);
});
