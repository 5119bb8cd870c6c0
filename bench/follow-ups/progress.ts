/** Shows in a terminal what is being measured. */
export function printProgress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r${text.padEnd(70)}\r`);
}
