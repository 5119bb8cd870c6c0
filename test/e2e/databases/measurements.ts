import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import * as z from 'zod';

/** What the crash proof of one kind of database counted, for the table of `npm run test:databases`. */
const measurementSchema = z.object({
  kind: z.string(),
  proof: z.enum(['charges', 'follow-ups']),
  kills: z.number(),
  charges: z.number(),
  chargedTwice: z.number(),
  violations: z.number(),
  seconds: z.number(),
});

type Measurement = z.infer<typeof measurementSchema>;

/** Writes it to the file that `DATABASES_MEASURED` names, if it does. */
export function recordMeasurement(measurement: Measurement): void {
  const file = process.env.DATABASES_MEASURED;
  if (file) appendFileSync(file, `${JSON.stringify(measurement)}\n`);
}

export function readMeasurements(file: string): Measurement[] {
  if (!existsSync(file)) return [];
  return readFileSync(file, 'utf8')
    .split('\n')
    .slice(0, -1)
    .map((line) => measurementSchema.parse(JSON.parse(line)));
}
