import { describe, test } from 'vitest';
import { journalConformance } from '../../../src/testing/index.ts';
import { runOnFakeClocks } from '../../helpers/fake-timers.ts';
import { shareStores } from './conformance-cases.ts';

describe('memoryStore conforms', () => {
  test.each(journalConformance(shareStores()))('$name', ({ run }) => runOnFakeClocks(run));
});
