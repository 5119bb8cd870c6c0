import { database } from './kinds/dynamodb.ts';
import { describeDatabase } from './suite.ts';

describeDatabase('dynamodb', database);
