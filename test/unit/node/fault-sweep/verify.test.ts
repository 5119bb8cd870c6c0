import { undiciTransport } from '../../../../src/node/index.ts';
import { testOver } from '../../../helpers/transport-under-test.ts';

testOver(undiciTransport());

await import('../../http/fault-sweep/verify.test.ts');
