import type { Poll } from 'payment-collection-client';

const isTerminal = process.stdout.isTTY;
const bold = (text: string) => (isTerminal ? `\u001b[1m${text}\u001b[0m` : text);
const dim = (text: string) => (isTerminal ? `\u001b[2m${text}\u001b[0m` : text);

export function printHeading(text: string): void {
  console.log(`\n${bold(text)}`);
}

export function printLine(text: string): void {
  for (const part of wrapText(text)) console.log(`  ${part}`);
}

export function printNote(text: string): void {
  for (const part of wrapText(text)) console.log(`  ${dim(part)}`);
}

/** Returns how many characters fit into a line beside the indent and the cursor. */
const getWidth = () => Math.max(20, (process.stdout.columns || 80) - 3);

/** Breaks lines between words. Outside of a terminal it breaks none, because a program might read them. */
function wrapText(text: string): string[] {
  if (!isTerminal) return [text];
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= getWidth())
      lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

/** Updates one line during a wait. Outside of a terminal it prints a line after each poll. */
export function startProgressLine() {
  const startedAt = Date.now();
  let last: Poll | undefined;
  let nextAt = startedAt;

  const describe = () => {
    const seconds = ((Date.now() - startedAt) / 1000).toFixed(1);
    if (!last) return `waiting ${seconds} s, before the first check`;
    const status = last.transaction?.status ?? `no result (${last.error?.code})`;
    const next =
      last.nextDelay === null ? '' : `, next in ${Math.max(0, (nextAt - Date.now()) / 1000).toFixed(1)} s`;
    return `waiting ${seconds} s, check ${last.attempt}: ${status}${next}`;
  };
  // A line that the terminal wraps cannot be overwritten.
  const draw = () => process.stdout.write(`\r\u001b[2K  ${dim(describe().slice(0, getWidth()))}`);
  const timer = isTerminal ? setInterval(draw, 100) : undefined;

  return {
    onPoll(poll: Poll) {
      last = poll;
      nextAt = Date.now() + (poll.nextDelay ?? 0);
      if (!isTerminal) printLine(describe());
    },
    end() {
      clearInterval(timer);
      if (isTerminal) process.stdout.write('\r\u001b[2K');
    },
  };
}
