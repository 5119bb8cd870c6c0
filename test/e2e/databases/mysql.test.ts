import { database } from './kinds/mysql.ts';
import { describeDatabase } from './suite.ts';

describeDatabase('mysql', database);
