import { afterAll, beforeAll } from 'vitest';
import { DbosExample } from './dbos-example.ts';
import { describeInterruptions } from './interruptions.ts';
import { describeWorkflow } from './scenarios.ts';

const dbos = new DbosExample();

beforeAll(() => dbos.startServer());

afterAll(() => dbos.stopServer());

describeWorkflow(dbos);
describeInterruptions(dbos);
