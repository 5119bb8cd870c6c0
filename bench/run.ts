const benches: Record<string, { about: string; run: (args: string[]) => Promise<void> | void }> = {
  schedule: {
    about: 'requests per wait and detection delay of our schedule and others [--seed 1] [--waits 100000]',
    run: async (args) => (await import('./schedule/bench.ts')).benchSchedule(args),
  },
  sandbox: {
    about: 'verifies and payments a second of the sandbox, empty and full [--requests 10000] [--held 100000]',
    run: async (args) => (await import('./sandbox/bench.ts')).benchSandbox(args),
  },
  waits: {
    about: 'memory, time and CPU of 100,000 waits in one process, ours and others [--rounds 3]',
    run: async (args) => (await import('./waits/bench.ts')).benchWaits(args),
  },
};

const [name = '', ...args] = process.argv.slice(2);
const bench = benches[name];
if (bench) await bench.run(args);
else {
  console.log('npm run bench <name>\n');
  for (const [each, { about }] of Object.entries(benches)) console.log(`  ${each.padEnd(10)}${about}`);
  if (name) process.exitCode = 1;
}
