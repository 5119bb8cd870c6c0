import { DatabaseSync } from 'node:sqlite';
import { PaymentsClient } from 'payment-collection-client';
import { sqliteJournal } from 'payment-collection-client/journal/sqlite';
import { Orders } from '../shop/orders.ts';
import { ordersFile, timeout } from '../shop/settings.ts';
import { journalFile, lease } from './settings.ts';

const journal = sqliteJournal(new DatabaseSync(journalFile), { lease });
export const payments = new PaymentsClient({ journal, timeout });
export const orders = new Orders(ordersFile);
