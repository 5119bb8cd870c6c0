import { expect, test } from 'vitest';
import { type Assumption, assumptions } from '../../../../src/developers/probe/assumptions.ts';
import { deviations } from '../../../../src/developers/service/deviations.ts';
import { probeSandbox } from './run-probe.ts';

const shownIds = [...assumptions].flatMap(([id, { unshown }]: [string, Assumption]) =>
  unshown === undefined ? [id] : [],
);

test('shows each assumption that it can on the sandbox, where all hold', async () => {
  const { findings, transactions } = await probeSandbox();
  const shown = findings.filter(({ verdict }) => verdict !== 'not shown');
  expect(shown.map(({ id }) => id)).toEqual(shownIds);
  expect(shown.filter(({ verdict }) => verdict !== 'holds')).toEqual([]);
  expect(transactions).toBe(7);
});

test('has a deviation for each assumption that can be shown', () => {
  expect(Object.keys(deviations).sort()).toEqual(shownIds.toSorted());
});

test.each(Object.keys(deviations))('finds %s when it is broken, and nothing else', async (deviation) => {
  const { findings } = await probeSandbox({ deviate: deviation });
  const broken = findings.filter(({ verdict }) => verdict === 'does not hold');
  expect(broken.map(({ id }) => id)).toEqual([deviation]);
});
