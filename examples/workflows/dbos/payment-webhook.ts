import { DBOSClient } from '@dbos-inc/dbos-sdk';
import { Orders } from '../shop/orders.ts';
import { ordersFile } from '../shop/settings.ts';
import { application, databaseUrl, topic } from './settings.ts';

/** The webhook's route does this. It trusts nothing in the request: a notification only causes a check with the service. */
const [reference = ''] = process.argv.slice(2);

const orders = new Orders(ordersFile);
const order = orders.findByReference(reference);
orders.close();

if (order?.state === 'waiting' || order?.state === 'released') {
  const dbos = await DBOSClient.create({ systemDatabaseUrl: databaseUrl, applicationName: application });
  // DBOS keeps every message until it is received. Without a key, 100 notifications would cause 100 checks.
  const second = Math.floor(Date.now() / 1_000);
  await dbos.send(order.id, true, topic, `${reference} ${second}`);
  await dbos.destroy();
}
