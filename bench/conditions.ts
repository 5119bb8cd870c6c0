import { availableParallelism, cpus, loadavg } from 'node:os';

/** Under what a figure was taken: what its reader has to know to compare it. */
export function conditions(): string {
  const [load = 0] = loadavg();
  return `Node ${process.version}, load ${load.toFixed(1)} on ${machine()}.`;
}

export function machine(): string {
  const model = cpus()[0]?.model.trim() ?? 'a CPU without a name';
  return `${availableParallelism()} CPUs (${model})`;
}
