import { undiciTransport } from '../../../../src/node/index.ts';
import { testWithTransport } from '../../../helpers/transport-under-test.ts';

testWithTransport(undiciTransport());

await import('../../http/fault-sweep/verify.test.ts');
