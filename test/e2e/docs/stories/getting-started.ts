import { expect } from 'vitest';
import { approves, declines, losesResponse, refuses, type Stories } from '../story.ts';

const PROCESSING = "'order 17 is processing'";

export const gettingStarted: Stories = {
  'docs/getting-started.md, Charge a customer': [
    { ...approves, printed: [PROCESSING, "'order 17 is paid'", "'deliver order 17'"], charges: 1 },
    { ...declines, printed: [PROCESSING, "'order 17 is unpaid'"], charges: 1 },
    {
      ...losesResponse,
      printed: ["'order 17 is in_review'", "'ALERT: payment 17/1 is unresolved'"],
      charges: 1,
    },
    { ...refuses, printed: ["'order 17 is unpaid'", expect.stringContaining('422')], charges: 0 },
  ],
};
