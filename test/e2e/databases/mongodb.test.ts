import { database } from './kinds/mongodb.ts';
import { describeDatabase } from './suite.ts';

describeDatabase('mongodb', database);
