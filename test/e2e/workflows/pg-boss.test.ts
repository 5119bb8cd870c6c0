import { afterAll, beforeAll } from 'vitest';
import { describeInterruptions } from './interruptions.ts';
import { PgBossExample } from './pg-boss-example.ts';
import { describeWorkflow } from './scenarios.ts';

const pgBoss = new PgBossExample();

beforeAll(() => pgBoss.startServer());

afterAll(() => pgBoss.stopServer());

describeWorkflow(pgBoss);
describeInterruptions(pgBoss);
