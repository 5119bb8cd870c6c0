import { appendFileSync } from 'node:fs';

/** Appends what a scenario measured of an engine, in milliseconds and counts, to the file of the table. */
export function recordMeasurement(engine: string, measured: Readonly<Record<string, number>>): void {
  const file = process.env.WORKFLOWS_MEASURED;
  if (file) appendFileSync(file, `${JSON.stringify({ engine, ...measured })}\n`);
}
