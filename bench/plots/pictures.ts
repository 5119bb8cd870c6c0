import { architecture } from './drawings/architecture.ts';
import { drawCalls } from './drawings/cpu-per-call.ts';
import { drawSchedules } from './drawings/delay-against-requests.ts';
import { idempotencyStates } from './drawings/idempotency-states.ts';
import { lostResponse } from './drawings/lost-response.ts';
import { orderStates } from './drawings/order-states.ts';
import { orderWorkflow } from './drawings/order-workflow.ts';
import { shopAndSweeper } from './drawings/shop-and-sweeper.ts';
import { whichDatabase } from './drawings/which-database.ts';
import calls from './figures/cpu-per-call.json' with { type: 'json' };
import schedules from './figures/delay-against-requests.json' with { type: 'json' };
import type { Picture } from './svg.ts';

/** Every picture of docs/images that is drawn, the plots from the figures of the last recorded run. */
export const pictures: readonly Picture[] = [
  architecture,
  idempotencyStates,
  lostResponse,
  orderStates,
  orderWorkflow,
  whichDatabase,
  shopAndSweeper,
  drawCalls(calls),
  drawSchedules(schedules),
];
