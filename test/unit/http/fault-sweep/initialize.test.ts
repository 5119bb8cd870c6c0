import { initialize } from './points.ts';
import { sweepTests } from './sweep-tests.ts';

sweepTests(initialize);
