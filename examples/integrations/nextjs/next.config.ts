import { join } from 'node:path';
import type { NextConfig } from 'next';

const config: NextConfig = {
  // Here alone the package is a link to the folder three levels up; a shop that installed it needs nothing.
  turbopack: { root: join(import.meta.dirname, '../../..') },
};

export default config;
