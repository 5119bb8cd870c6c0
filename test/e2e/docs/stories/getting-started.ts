import { approves, declines, losesResponse, type Stories } from '../story.ts';

const PROCESSING = "'order 17 is processing'";

export const gettingStarted: Stories = {
  'docs/getting-started.md, Charge a customer': [
    { ...approves, printed: [PROCESSING, "'order 17 is paid'"], charges: 1 },
    { ...declines, printed: [PROCESSING, "'order 17 is unpaid'"], charges: 1 },
    { ...losesResponse, printed: ["'order 17 is in_review'"], charges: 1 },
  ],
};
