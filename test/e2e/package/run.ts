import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const runFile = promisify(execFile);

/** Runs a program and returns its stdout. If it fails, the error has stdout too, because compilers print errors there. */
export async function run(
  command: string,
  args: readonly string[],
  cwd: string,
  variables: Record<string, string> = {},
): Promise<string> {
  try {
    const { stdout } = await runFile(command, args, {
      cwd,
      env: { ...environment(cwd), ...variables },
      timeout: 240_000,
      maxBuffer: 2 ** 26,
    });
    return stdout;
  } catch (error) {
    throw new Error(`${command} ${args.join(' ')}\n${outputOf(error)}`, { cause: error });
  }
}

// Variables of the test runner and of the npm that started it.
const OWN = /^(?:npm_(?!config_)|npm_config_local_prefix$|NODE_(?:ENV|OPTIONS|PATH)$|VITEST|JEST|TEST$)/;

/** Returns the variables as in a merchant's shell. */
function environment(cwd: string): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !OWN.test(name));
  return { ...Object.fromEntries(kept), NO_COLOR: '1', CI: '1', DENO_DIR: `${cwd}/.deno` };
}

function outputOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { stdout = '', stderr = '' } = { ...error };
  return `${stdout}${stderr}` || error.message;
}
