import { database } from './kinds/prisma.ts';
import { describeDatabase } from './suite.ts';

describeDatabase('prisma', database, { statementsOf: 'postgres' });
