import { DBOSClient } from '@dbos-inc/dbos-sdk';
import { Orders } from '../shop/orders.ts';
import { ordersFile } from '../shop/settings.ts';
import { application, databaseUrl, hints } from './settings.ts';

/** What the route for the service's webhook does. Whoever calls it is believed nothing: the workflow looks for itself. */
const [reference = ''] = process.argv.slice(2);

const orders = new Orders(ordersFile);
const order = orders.byReference(reference);
orders.close();

if (order?.state === 'waiting' || order?.state === 'released') {
  const dbos = await DBOSClient.create({ systemDatabaseUrl: databaseUrl, applicationName: application });
  // DBOS keeps every message until it is received: without a key, a hundred hints would be a hundred looks.
  const second = Math.floor(Date.now() / 1_000);
  await dbos.send(order.id, true, hints, `${reference} ${second}`);
  await dbos.destroy();
}
