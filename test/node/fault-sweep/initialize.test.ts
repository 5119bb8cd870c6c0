import { undiciTransport } from '../../../src/node/index.ts';
import { testOver } from '../../support/transport-under-test.ts';

testOver(undiciTransport());

await import('../../transport/fault-sweep/initialize.test.ts');
