import { database } from './kinds/redis.ts';
import { describeDatabase } from './suite.ts';

describeDatabase('redis', database);
