/** The rules under test. `faults.ts` can replace parts of their text before they are loaded, so nothing else here imports them. */

export * from '../../src/ledger/check.ts';
export * from '../../src/ledger/order.ts';
export * from '../../src/ledger/outcome.ts';
export * from '../../src/ledger/payment.ts';
export * from '../../src/ledger/press.ts';
export * from '../../src/ledger/record.ts';
export * from '../../src/ledger/resolve.ts';
export * from '../../src/ledger/tell.ts';
