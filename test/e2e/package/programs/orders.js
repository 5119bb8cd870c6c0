// A merchant on one machine: keys that outlive the process, in SQLite.

export async function orders({ PaymentsClient, sqliteJournal, DatabaseSync }, baseUrl, apiKey) {
  const charge = { amount: 30, customer_email: 'ama@example.com', phone: '0241234567', network: 'mtn' };
  const references = [];
  for (const _run of ['before a restart', 'after it']) {
    const database = new DatabaseSync('orders.db');
    const payments = new PaymentsClient({ baseUrl, apiKey, journal: sqliteJournal(database) });
    const { reference } = await payments.chargeMobileMoney(charge, { idempotencyKey: 'order-19' });
    references.push(reference);
    database.close();
  }
  return references[0] === references[1];
}
