/** The command cannot go on. The message tells what happened, and the advice what to do. Both can be printed. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
  readonly advice: string | undefined;

  constructor(message: string, advice?: string) {
    super(message);
    this.advice = advice;
  }
}
