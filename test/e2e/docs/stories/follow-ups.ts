import { approves, declines, endsAfterStep, losesResponse, type Stories } from '../story.ts';

// follow-ups-from-cron.test.ts also runs the files of the page as processes.
export const followUps: Stories = {
  'docs/guides/follow-ups.md, Follow payments without orders': [
    endsAfterStep({
      ...approves,
      printed: ["'deliver the order of order-17/1, if that is not done'"],
      charges: 1,
    }),
    endsAfterStep({
      ...declines,
      printed: ["'return its goods to stock, if that is not done: order-17/1'"],
      charges: 1,
    }),
    endsAfterStep({
      ...losesResponse,
      printed: ["'unknown'", "'ALERT: order-17/1 is unresolved'"],
      charges: 1,
    }),
  ],
};
