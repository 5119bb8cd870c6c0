import { describeInterruptions } from './interruptions.ts';
import { plain } from './plain-example.ts';
import { describeWorkflow } from './scenarios.ts';

describeWorkflow(plain);
describeInterruptions(plain);
