import { describe, test } from 'vitest';
import { createJournal } from '../../src/journal/index.ts';
import { memoryStore } from '../../src/journal/memory.ts';
import { journalConformance } from '../../src/testing/index.ts';

describe('a journal in memory keeps what every journal has to', () => {
  const store = memoryStore();
  const cases = journalConformance((options) => createJournal(store, options));
  test.concurrent.each(cases)('$name', ({ run }) => run());
});
