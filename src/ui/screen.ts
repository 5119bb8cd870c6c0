import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { styleText } from 'node:util';
import { createOutputRedaction, type OutputRedaction } from './redact-output.ts';
import { escapeUnprintable } from './text.ts';

export interface Terminal {
  readonly stdin: Readable & { readonly isTTY?: boolean };
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  readonly env: NodeJS.ProcessEnv;
  /** The folder in which the config is looked for. */
  readonly folder: string;
  /** Aborted by Ctrl-C: a command that runs on then ends. */
  readonly stopped: AbortSignal;
}

type OutputStream = Writable & { readonly isTTY?: boolean };

type Format = 'bold' | 'dim' | 'red' | 'green' | 'yellow';

/** One of the two streams: the one can be a file, and the other a terminal. */
export interface Output {
  style(format: Format, text: string): string;
  /** Resolves once the stream has the lines: the process can end then. `false` if nothing reads it any more. */
  print(...lines: readonly string[]): Promise<boolean>;
}

/** Where the command prints. All recorded text goes through {@link Screen.show}. */
export interface Screen {
  readonly out: Output;
  /** For a person, beside the output. */
  readonly err: Output;
  readonly redact: OutputRedaction;
  readonly stopped: AbortSignal;
  /** Returns recorded text as it can be shown: without API keys, and with escapes. */
  show(text: string): string;
  readonly canAsk: boolean;
  /** Returns what the person types, without spaces around it; `''` if the input ends. */
  ask(question: string): Promise<string>;
}

export function createScreen({ stdin, stdout, stderr, env, folder, stopped }: Terminal): Screen {
  const redact = createOutputRedaction(env, folder);
  return {
    out: createOutput(stdout),
    err: createOutput(stderr),
    redact,
    stopped,
    show: (text) => escapeUnprintable(redact.recorded(text)),
    canAsk: stdin.isTTY === true && stderr.isTTY === true,
    ask: (question) => readAnswer(stdin, stderr, question),
  };
}

function createOutput(stream: OutputStream): Output {
  return {
    style: (format, text) => styleText(format, text, { stream }),
    print: (...lines) =>
      new Promise((resolve) => {
        if (stream.destroyed || stream.writableEnded) resolve(false);
        else stream.write(lines.map((line) => `${line}\n`).join(''), (error) => resolve(!error));
      }),
  };
}

function readAnswer(input: Readable, output: Writable, question: string): Promise<string> {
  return new Promise((resolve) => {
    // The terminal itself edits the line, so that Ctrl-C ends the process as usual.
    const reader = createInterface({ input, output, terminal: false });
    reader.once('line', (line) => {
      resolve(line.trim());
      reader.close();
    });
    reader.once('close', () => resolve(''));
    output.write(question);
  });
}
