import { availableParallelism, cpus, loadavg } from 'node:os';

/** Describes Node, the load and the machine, which a reader needs to compare a figure. */
export function conditions(): string {
  const [load = 0] = loadavg();
  return `Node ${process.version}, load ${load.toFixed(1)} on ${machine()}.`;
}

export function machine(): string {
  const model = cpus()[0]?.model.trim() ?? 'an unknown CPU';
  return `${availableParallelism()} CPUs (${model})`;
}
