import * as client from 'payment-collection-client';
import * as followUps from 'payment-collection-client/follow-ups';
import * as journal from 'payment-collection-client/journal';
import * as mysql from 'payment-collection-client/journal/mysql';
import * as postgres from 'payment-collection-client/journal/postgres';
import * as sqlite from 'payment-collection-client/journal/sqlite';
import * as orderPayments from 'payment-collection-client/orders';
import * as phone from 'payment-collection-client/phone';
import * as review from 'payment-collection-client/review';
import * as sandbox from 'payment-collection-client/sandbox';
import * as schedule from 'payment-collection-client/schedule';
import * as testing from 'payment-collection-client/testing';
import { expect, test } from 'vitest';
import { assuming, faultsOf } from './compile.ts';
import { examples } from './examples.ts';

const exported = [
  client,
  followUps,
  journal,
  mysql,
  orderPayments,
  phone,
  postgres,
  review,
  schedule,
  sandbox,
  sqlite,
  testing,
].flatMap(Object.keys);
const faults = faultsOf(examples, assuming('./example-names.ts', exported));

test('finds the examples of the source', () => {
  expect(examples.length).toBeGreaterThan(30);
});

test.each(examples.map((example) => [`${example.page}, ${example.heading}`, example] as const))(
  'compiles the example of %s',
  (_, example) => {
    expect(faults.get(example)).toEqual([]);
  },
);
