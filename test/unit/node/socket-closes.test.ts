import { undiciTransport } from '../../../src/node/index.ts';
import { testWithTransport } from '../../helpers/transport-under-test.ts';

testWithTransport(undiciTransport());

await import('../http/socket-closes.test.ts');
await import('../http/idle-connections.test.ts');
