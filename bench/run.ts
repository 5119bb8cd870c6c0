const benches: Record<string, { about: string; run: (args: string[]) => Promise<void> | void }> = {
  calls: {
    about:
      'CPU and time of one verify, of our client and others [--rounds 9] [--calls 6000] [--only fetch,ours] [--plot]',
    run: async (args) => (await import('./calls/bench.ts')).benchCalls(args),
  },
  imports: {
    about: 'milliseconds to load the built package and other SDKs [--rounds 15]',
    run: async (args) => (await import('./imports/bench.ts')).benchImports(args),
  },
  size: {
    about: 'kB of our package and other SDKs in a bundle',
    run: async () => (await import('./size/bench.ts')).benchSize(),
  },
  schedule: {
    about:
      'requests per wait and detection delay of our schedule and others [--seed 1] [--waits 100000] [--plot]',
    run: async (args) => (await import('./schedule/bench.ts')).benchSchedule(args),
  },
  journal: {
    about: 'what each journal adds to a charge [--rounds 5] [--charges 600]',
    run: async (args) => (await import('./journal/bench.ts')).benchJournal(args),
  },
  orders: {
    about:
      'a press, a second press and a read of an order, beside a charge by hand [--rounds 5] [--orders 100]',
    run: async (args) => (await import('./orders/bench.ts')).benchOrders(args),
  },
  'follow-ups': {
    about:
      'checks a second of 100,000 open payments, of ours and others [--payments 100000] [--checks 5000] [--rounds 2] [--only memory | empty,statements,run,sharing | rates | growth]',
    run: async (args) => (await import('./follow-ups/bench.ts')).benchFollowUps(args),
  },
  sandbox: {
    about: 'verifies and payments a second of the sandbox, empty and full [--requests 10000] [--held 100000]',
    run: async (args) => (await import('./sandbox/bench.ts')).benchSandbox(args),
  },
  waits: {
    about: 'memory, time and CPU of 100,000 waits in one process, of our client and others [--rounds 3]',
    run: async (args) => (await import('./waits/bench.ts')).benchWaits(args),
  },
};

const [name = '', ...args] = process.argv.slice(2);
const bench = benches[name];
if (bench) await bench.run(args);
else {
  console.log('npm run bench <name>\n');
  for (const [each, { about }] of Object.entries(benches)) console.log(`  ${each.padEnd(11)}${about}`);
  if (name) process.exitCode = 1;
}
