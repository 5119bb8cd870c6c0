/**
 * A generator whose `return` and `throw` call `stop` first. By itself it heeds them only after the result that a reader
 * already waits for, which may never come.
 */
export function endingAtOnce<Result>(
  results: AsyncGenerator<Result, void, void>,
  stop: () => void,
): AsyncGenerator<Result, void, void> {
  const finish = results.return.bind(results);
  const fail = results.throw.bind(results);
  results.return = (value) => {
    stop();
    return finish(value);
  };
  results.throw = (error) => {
    stop();
    return fail(error);
  };
  return results;
}
