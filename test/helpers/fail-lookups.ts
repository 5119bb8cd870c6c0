import dns from 'node:dns';
import { vi } from 'vitest';

/** Makes each lookup of a name fail with this code until the test ends, whatever the machine's name server says. */
export function failLookups(code: string): void {
  vi.spyOn(dns, 'lookup').mockImplementation((...given: unknown[]) => {
    const done = given.at(-1);
    if (typeof done !== 'function') throw new Error('dns.lookup was called without a callback.');
    done(Object.assign(new Error(`getaddrinfo ${code}`), { code, syscall: 'getaddrinfo' }));
  });
}
