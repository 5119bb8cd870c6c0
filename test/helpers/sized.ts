/** Whether this is `npm run test:exhaustive`. It runs each test file that imports this one, directly or not. */
export const isExhaustive = process.env.TEST_SIZE === 'exhaustive';

/** The short form for `npm test`, and the whole one for `npm run test:exhaustive`. */
export function sized<Size>(short: Size, whole: Size): Size {
  return isExhaustive ? whole : short;
}
