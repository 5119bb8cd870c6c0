/** @throws {Error} if a journal does not hold what it promises. */
export function assert(holds: boolean, message: string): asserts holds {
  if (!holds) throw new Error(message);
}

export function sleep(milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, milliseconds);
  });
}
