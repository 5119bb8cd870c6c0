import { PaymentsClient, type PaymentsClientOptions } from '../../src/index.ts';
import type { Contender } from './contenders.ts';

/** The cost of one charge, in microseconds. */
export interface Figures {
  /** From the start of a run to its end, divided by its charges. */
  wall: number;
  mean: number;
  p50: number;
  p99: number;
  /** Of the client's process, without what a database and the service use in theirs. */
  cpu: number;
}

const input = {
  amount: '25.50',
  customer_email: 'ama@example.com',
  phone: '024 412 3456',
  network: 'mtn',
} as const;

let orders = 0;

/** Makes `count` charges, `atOnce` at a time, each under a key of its own. */
export async function measure(
  { journal }: Contender,
  http: Pick<PaymentsClientOptions, 'baseUrl' | 'transport'>,
  { count, atOnce }: { count: number; atOnce: number },
): Promise<Figures> {
  using payments = new PaymentsClient({ apiKey: 'sk_test_bench', ...http, journal });
  const times: number[] = [];
  let left = count;
  const work = async () => {
    while (left-- > 0) {
      const options = { idempotencyKey: journal ? `order-${++orders}` : null };
      const before = performance.now();
      await payments.chargeMobileMoney(input, options);
      times.push((performance.now() - before) * 1_000);
    }
  };
  const cpuBefore = process.cpuUsage();
  const startedAt = performance.now();
  await Promise.all(Array.from({ length: atOnce }, work));
  const wall = ((performance.now() - startedAt) * 1_000) / count;
  const { user, system } = process.cpuUsage(cpuBefore);

  times.sort((one, other) => one - other);
  const at = (part: number) => times[Math.floor(part * (times.length - 1))] ?? Number.NaN;
  const sum = times.reduce((total, time) => total + time, 0);
  return { wall, mean: sum / count, p50: at(0.5), p99: at(0.99), cpu: (user + system) / count };
}

/** Returns the least of each figure: other load on the machine can only add to it. */
export function leastOf(one: Figures | undefined, other: Figures): Figures {
  if (!one) return other;
  return {
    wall: Math.min(one.wall, other.wall),
    mean: Math.min(one.mean, other.mean),
    p50: Math.min(one.p50, other.p50),
    p99: Math.min(one.p99, other.p99),
    cpu: Math.min(one.cpu, other.cpu),
  };
}
