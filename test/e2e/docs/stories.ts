import { agents } from './stories/agents.ts';
import { checkout } from './stories/checkout.ts';
import { errors } from './stories/errors.ts';
import { events } from './stories/events.ts';
import { followUps } from './stories/follow-ups.ts';
import { frameworks } from './stories/frameworks.ts';
import { gettingStarted } from './stories/getting-started.ts';
import { goingLive } from './stories/going-live.ts';
import { jobQueues } from './stories/job-queues.ts';
import { migrate } from './stories/migrate.ts';
import { mobileMoney } from './stories/mobile-money.ts';
import { operations } from './stories/operations.ts';
import { orders } from './stories/orders.ts';
import { preventDoubleCharges } from './stories/prevent-double-charges.ts';
import { readme } from './stories/readme.ts';
import { statuses } from './stories/statuses.ts';
import { troubleshooting } from './stories/troubleshooting.ts';
import { wait } from './stories/wait.ts';
import { webhooks } from './stories/webhooks.ts';
import type { Stories } from './story.ts';

/** By page and heading. Every step of the shop that a block shows has to be taken in one of its stories. */
export const stories: Stories = {
  ...agents,
  ...checkout,
  ...errors,
  ...events,
  ...followUps,
  ...frameworks,
  ...gettingStarted,
  ...goingLive,
  ...jobQueues,
  ...migrate,
  ...mobileMoney,
  ...operations,
  ...orders,
  ...preventDoubleCharges,
  ...readme,
  ...statuses,
  ...troubleshooting,
  ...wait,
  ...webhooks,
};
