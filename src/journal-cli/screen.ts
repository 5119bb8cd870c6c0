import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { escapeUnprintable } from './printable-text.ts';
import { createOutputRedaction, type OutputRedaction } from './redact-output.ts';

/** What the command is run with. */
export interface Terminal {
  readonly stdin: Readable & { readonly isTTY?: boolean };
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  readonly env: NodeJS.ProcessEnv;
  /** The folder in which the config is looked for. */
  readonly folder: string;
}

type OutputStream = Writable & { readonly isTTY?: boolean; readonly columns?: number };

/** Changes how a text looks, where colours are shown. */
type Style = Readonly<Record<'bold' | 'dim' | 'red' | 'green' | 'yellow', (text: string) => string>>;

/** Where the command prints. All recorded text goes through {@link Screen.show}. */
export interface Screen {
  /** Of what {@link Screen.print} prints. */
  readonly style: Style;
  /** Of what {@link Screen.note} prints: the one can be a file, and the other a terminal. */
  readonly noteStyle: Style;
  /** How many columns a table can have. */
  readonly width: number;
  readonly redact: OutputRedaction;
  /** Whether a person can be asked. */
  readonly canAsk: boolean;
  /** Returns recorded text as it can be shown: without API keys, and with escapes. */
  show(text: string): string;
  /** Prints lines to the output. Returns `false` if nothing reads it any more. */
  print(...lines: readonly string[]): Promise<boolean>;
  /** Prints lines for a person, beside the output. */
  note(...lines: readonly string[]): Promise<boolean>;
  /** Returns what the person types, or `null` if the input ends. */
  ask(question: string): Promise<string | null>;
}

/** A table fits here, if the output is no terminal, or a narrower one. */
const MIN_WIDTH = 80;

export function createScreen({ stdin, stdout, stderr, env, folder }: Terminal): Screen {
  const redact = createOutputRedaction(env, folder);
  const { columns = MIN_WIDTH } = stdout;
  return {
    style: createStyle(hasColours(stdout, env)),
    noteStyle: createStyle(hasColours(stderr, env)),
    width: stdout.isTTY === true ? Math.max(MIN_WIDTH, columns) : MIN_WIDTH,
    redact,
    canAsk: stdin.isTTY === true && stderr.isTTY === true,
    show: (text) => escapeUnprintable(redact.recorded(text)),
    print: (...lines) => writeLines(stdout, lines),
    note: (...lines) => writeLines(stderr, lines),
    ask: (question) => readAnswer(stdin, stderr, question),
  };
}

/** Resolves once the stream has the lines: the process can end then. */
function writeLines(stream: OutputStream, lines: readonly string[]): Promise<boolean> {
  if (stream.destroyed || stream.writableEnded) return Promise.resolve(false);
  return new Promise((resolve) => {
    stream.write(lines.map((line) => `${line}\n`).join(''), (error) => resolve(!error));
  });
}

function readAnswer(input: Readable, output: OutputStream, question: string): Promise<string | null> {
  return new Promise((resolve) => {
    // The terminal itself edits the line, so that Ctrl-C ends the process as usual.
    const reader = createInterface({ input, output, terminal: false });
    reader.once('line', (line) => {
      resolve(line);
      reader.close();
    });
    reader.once('close', () => resolve(null));
    output.write(question);
  });
}

/** FORCE_COLOR comes before NO_COLOR, as in Node. */
function hasColours(stream: OutputStream, env: NodeJS.ProcessEnv): boolean {
  const { FORCE_COLOR: force, NO_COLOR: no, TERM: terminal } = env;
  if (force !== undefined) return force !== '0' && force !== 'false';
  if (no !== undefined && no !== '') return false;
  return stream.isTTY === true && terminal !== 'dumb';
}

function createStyle(isColoured: boolean): Style {
  const wrap = (start: number, end: number) => (text: string) =>
    isColoured ? `\u001b[${start}m${text}\u001b[${end}m` : text;
  return {
    bold: wrap(1, 22),
    dim: wrap(2, 22),
    red: wrap(31, 39),
    green: wrap(32, 39),
    yellow: wrap(33, 39),
  };
}
