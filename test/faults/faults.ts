/**
 * Faults that the tests must find: `npm run faults` puts each into the code. Each was once a bug of this package, a break of its
 * design, or is one that somebody could write. Those of the rules alone are in test/explore/faults.ts, for `npm run explore -- --faults`.
 */

import type { Fault } from './fault.ts';
import { httpFaults } from './lists/http.ts';
import { journalFaults } from './lists/journal.ts';
import { keyFaults } from './lists/keys.ts';
import { orderFaults } from './lists/orders.ts';
import { storeFaults } from './lists/stores.ts';

export const faults: readonly Fault[] = [
  ...keyFaults,
  ...orderFaults,
  ...journalFaults,
  ...storeFaults,
  ...httpFaults,
];
