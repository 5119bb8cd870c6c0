import { expect } from 'vitest';
import { accepted, inDoubt, rateLimited, refusal, type Stories } from '../story.ts';

export const errors: Stories = {
  'docs/reference/errors.md, Handle errors': [
    accepted,
    refusal,
    rateLimited,
    { ...inDoubt, printed: [expect.stringMatching(/^outcome unknown undefined ConnectionError/)] },
  ],
};
