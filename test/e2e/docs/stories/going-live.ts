import { expect } from 'vitest';
import { accepted, losesResponse, refuses, type Stories } from '../story.ts';

export const goingLive: Stories = {
  'docs/guides/going-live.md, Make the first charge': [
    {
      ...accepted,
      printed: expect.arrayContaining([expect.stringMatching(/^processing 1\/1 TXN-\w+ processing$/)]),
    },
    {
      ...losesResponse,
      printed: expect.arrayContaining([expect.stringMatching(/^in_review 1\/1 undefined /)]),
      charges: 1,
    },
    { ...refuses, printed: expect.arrayContaining([expect.stringContaining('422')]), charges: 0 },
  ],
};
