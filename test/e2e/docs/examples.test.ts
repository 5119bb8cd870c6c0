import { expect, test } from 'vitest';
import { assuming, faultsOf } from './compile.ts';
import { examples } from './examples.ts';
import { entryPoints } from './public-types.ts';

const modules = await Promise.all(entryPoints.map(({ specifier }): Promise<object> => import(specifier)));
const exported = modules.flatMap(Object.keys);
const faults = faultsOf(examples, assuming('./example-names.ts', exported));

test('finds the examples of the source', () => {
  expect(examples.length).toBeGreaterThan(30);
});

test.each(examples.map((example) => [`${example.page}, ${example.heading}`, example] as const))(
  'compiles the example of %s',
  (_, example) => {
    expect(faults.get(example)).toEqual([]);
  },
);
