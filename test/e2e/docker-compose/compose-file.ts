import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import * as z from 'zod';

export const FOLDER = 'examples/docker-compose';

const duration = z.string().regex(/^\d+s$/);

const serviceSchema = z.strictObject({
  build: z.literal('.').optional(),
  image: z.string().optional(),
  init: z.boolean().optional(),
  restart: z.string().optional(),
  stop_grace_period: duration.optional(),
  depends_on: z.record(z.string(), z.strictObject({ condition: z.literal('service_healthy') })).default({}),
  environment: z.record(z.string(), z.string()).default({}),
  command: z.array(z.string()).optional(),
  ports: z.array(z.string()).default([]),
  volumes: z.array(z.string()).default([]),
  healthcheck: z.strictObject({
    test: z.tuple([z.literal('CMD')], z.string()),
    interval: duration,
    timeout: duration,
    retries: z.number(),
  }),
});

const composeSchema = z.strictObject({
  name: z.string(),
  services: z.record(z.string(), serviceSchema),
  volumes: z.record(z.string(), z.null()),
});

export type ComposeService = z.output<typeof serviceSchema>;
type ComposeFile = z.output<typeof composeSchema>;

export function readComposeText(): string {
  return readFileSync(join(FOLDER, 'compose.yaml'), 'utf8');
}

/** Reads compose.yaml. A field that the tests do not know is an error, because they would not obey it. */
export function readComposeFile(): ComposeFile {
  return composeSchema.parse(parse(readComposeText()));
}
