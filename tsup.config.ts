import { defineConfig, type Options } from 'tsup';

const shared: Options = {
  entry: {
    index: 'src/index.ts',
    schedule: 'src/polling/schedule.ts',
    testing: 'src/testing/index.ts',
  },
  target: 'es2023',
  platform: 'neutral',
  dts: true,
  treeshake: true,
};

export default defineConfig([
  // Splitting keeps one copy of each error class across `.` and `./testing`.
  { ...shared, format: 'esm', splitting: true },
  // ky is an ES module only; inside the CommonJS build it also works in Jest, which cannot require one.
  { ...shared, format: 'cjs', noExternal: ['ky'] },
]);
