import type { Poll } from 'payment-collection-client';

const terminal = process.stdout.isTTY;
const bold = (text: string) => (terminal ? `\u001b[1m${text}\u001b[0m` : text);
const dim = (text: string) => (terminal ? `\u001b[2m${text}\u001b[0m` : text);

export function heading(text: string): void {
  console.log(`\n${bold(text)}`);
}

export function line(text: string): void {
  for (const part of wrapped(text)) console.log(`  ${part}`);
}

export function aside(text: string): void {
  for (const part of wrapped(text)) console.log(`  ${dim(part)}`);
}

/** How much of a line a terminal shows beside the indent and the cursor. */
const room = () => Math.max(20, (process.stdout.columns || 80) - 3);

/** Lines that end between two words. Outside a terminal, a line stays whole: a program might read it. */
function wrapped(text: string): string[] {
  if (!terminal) return [text];
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= room())
      lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

/** A line that moves while a wait goes on; where there is no terminal, a plain line after each poll. */
export function progressLine() {
  const began = Date.now();
  let last: Poll | undefined;
  let nextAt = began;

  const text = () => {
    const seconds = ((Date.now() - began) / 1000).toFixed(1);
    if (!last) return `waiting ${seconds} s, first check to come`;
    const status = last.transaction?.status ?? `no answer (${last.error?.code})`;
    const next =
      last.nextDelay === null ? '' : `, next in ${Math.max(0, (nextAt - Date.now()) / 1000).toFixed(1)} s`;
    return `waiting ${seconds} s, check ${last.attempt}: ${status}${next}`;
  };
  // A line that the terminal breaks could not be drawn over.
  const draw = () => process.stdout.write(`\r\u001b[2K  ${dim(text().slice(0, room()))}`);
  const timer = terminal ? setInterval(draw, 100) : undefined;

  return {
    onPoll(poll: Poll) {
      last = poll;
      nextAt = Date.now() + (poll.nextDelay ?? 0);
      if (!terminal) line(text());
    },
    end() {
      clearInterval(timer);
      if (terminal) process.stdout.write('\r\u001b[2K');
    },
  };
}
