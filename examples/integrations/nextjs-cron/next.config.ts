import { join } from 'node:path';
import type { NextConfig } from 'next';

const config: NextConfig = {
  // Only here is the package a link to a folder three levels up. A shop that installed it needs no setting.
  turbopack: { root: join(import.meta.dirname, '../../..') },
};

export default config;
