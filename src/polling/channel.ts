/**
 * A generator whose `return` and `throw` stop at once what it waits for. By itself it heeds them only after the result
 * that a reader already waits for, which may never come. `begin` makes it, and says with `onBegin` how it is stopped.
 */
export function cancelOnReturn<Result>(
  begin: (onBegin: (leave: () => void) => void) => AsyncGenerator<Result, void, void>,
): AsyncGenerator<Result, void, void> {
  let stop = () => {};
  const results = begin((leave) => {
    stop = leave;
  });
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
