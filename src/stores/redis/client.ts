import { ConfigurationError } from '../../errors.ts';
import { isObject } from '../../support/untrusted.ts';

/** What is used of `Redis` of `ioredis`. */
export interface IoRedisClient {
  call(command: string, ...args: (string | number)[]): Promise<unknown>;
}

/** What is used of `createClient` of `redis` (node-redis). */
export interface NodeRedisClient {
  sendCommand(args: string[]): Promise<unknown>;
}

/** What is used of `createCluster` of `redis` (node-redis). */
export interface NodeRedisCluster {
  sendCommand(
    firstKey: string | undefined,
    isReadonly: boolean | undefined,
    args: string[],
  ): Promise<unknown>;
  /** Only a cluster has it. */
  getRandomNode(): unknown;
}

/** A client of Redis. */
export type RedisClient = IoRedisClient | NodeRedisClient | NodeRedisCluster;

export type SendCommand = (command: string, ...args: string[]) => Promise<unknown>;

/** @throws {ConfigurationError} if it is no client of either library. */
export function toCommand(client: RedisClient): SendCommand {
  if (isObject(client)) {
    if ('call' in client) return (command, ...args) => client.call(command, ...args);
    // The fourth word of EVAL and EVALSHA is a name. Other commands can go to any node.
    if ('getRandomNode' in client) {
      return (...args) => client.sendCommand(args[0]?.startsWith('EVAL') ? args[3] : undefined, false, args);
    }
    if ('sendCommand' in client) return (...args) => client.sendCommand(args);
  }
  throw new ConfigurationError('redisJournal takes a client of ioredis or of redis.');
}
