import { database } from './kinds/postgres.ts';
import { describeDatabase } from './suite.ts';

describeDatabase('postgres', database);
