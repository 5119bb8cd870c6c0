import { database } from './kinds/postgres-js.ts';
import { describeDatabase } from './suite.ts';

describeDatabase('postgres-js', database, { statementsOf: 'postgres' });
