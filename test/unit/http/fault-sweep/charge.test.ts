import { chargeMobileMoney } from './points.ts';
import { sweepTests } from './sweep-tests.ts';

sweepTests(chargeMobileMoney);
