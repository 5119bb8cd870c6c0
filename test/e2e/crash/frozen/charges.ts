// A shop's process, started by shop.ts. It makes each charge that it is told, and notes how far it has come.
import { subscribe } from 'node:diagnostics_channel';
import { appendFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { PaymentsClient, type Transport } from '../../../../src/index.ts';
import { undiciTransport } from '../../../../src/node/index.ts';
import { sqliteJournal } from '../../../../src/stores/sqlite/index.ts';
import { API_KEY } from '../plan.ts';
import { type Plan, planSchema } from './shop.ts';

const [, , baseUrl = '', transportName, database = '', notes = ''] = process.argv;
process.on('disconnect', () => process.exit(1));

let key = '';
/** Written at once, so that a process that is stopped has noted everything that it did. */
const note = (step: string) => appendFileSync(notes, `${key} ${step}\n`);

subscribe('undici:client:sendHeaders', () => note('left'));

const ownFetch = globalThis.fetch;
globalThis.fetch = (...request) => {
  note('sending');
  return ownFetch(...request);
};

/** Made anew for each charge, which therefore has to connect. The service closes the connections of fetch. */
function createTransport(): { transport?: Transport } {
  if (transportName === 'fetch') return {};
  const { send } = undiciTransport();
  const sendNoted: Transport['send'] = (...request) => {
    note('sending');
    return send(...request);
  };
  return { transport: { send: sendNoted } };
}

/** Waits for no disk: a process that is stopped loses nothing that it has written, and a slow disk would hold each charge up. */
class UnsyncedDatabase extends DatabaseSync {
  override exec(sql: string) {
    super.exec(sql.replace('synchronous = FULL', 'synchronous = OFF'));
  }
}

async function makeCharge(plan: Plan): Promise<string> {
  key = plan.key;
  const journal = sqliteJournal(new UnsyncedDatabase(database), { lease: plan.lease });
  const client = new PaymentsClient({
    apiKey: API_KEY,
    baseUrl,
    timeout: plan.timeout,
    maxRetries: 0,
    journal,
    ...createTransport(),
  });
  const input = {
    amount: 25.5,
    customer_email: 'ama@example.com',
    phone: '0244123456',
    network: 'mtn',
  } as const;
  const options = { idempotencyKey: key, extraBody: { key } };
  const end = await client.chargeMobileMoney(input, options).then(
    () => 'made',
    (error) => error.code,
  );
  note('ended');
  return end;
}

process.on('message', async (message) => {
  process.send?.(await makeCharge(planSchema.parse(message)));
});
process.send?.('ready');
