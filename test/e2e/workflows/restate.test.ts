import { describeInterruptions } from './interruptions.ts';
import { restate } from './restate-server.ts';
import { describeWorkflow } from './scenarios.ts';

describeWorkflow(restate);
describeInterruptions(restate);
