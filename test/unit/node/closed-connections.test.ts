import { undiciTransport } from '../../../src/node/index.ts';
import { testOver } from '../../helpers/transport-under-test.ts';

testOver(undiciTransport());

await import('../http/closed-while-busy.test.ts');
await import('../http/idle-connection.test.ts');
