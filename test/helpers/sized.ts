/** Whether this is `npm run test:exhaustive`. It runs each test file that imports this one, directly or not. */
export const isExhaustive = process.env.TEST_SIZE === 'exhaustive';

/** Returns the first size in `npm test`, and the second in `npm run test:exhaustive`. */
export function chooseSize<Size>(short: Size, whole: Size): Size {
  return isExhaustive ? whole : short;
}
