import { database } from './kinds/neon.ts';
import { describeDatabase } from './suite.ts';

describeDatabase('neon', database, { statementsOf: 'postgres' });
