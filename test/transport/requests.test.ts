import { expect, test } from 'vitest';
import { answers, json, payment, startService } from '../support/service.ts';

test('initialize gives the unwrapped data', async () => {
  const service = await startService((response) => json(response, 200, answers.initialize()));
  const started = await service.client().initialize(payment);
  expect(started).toEqual(answers.initialize().data);
});
