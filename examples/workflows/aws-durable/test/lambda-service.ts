import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { fileURLToPath } from 'node:url';
import {
  type DurableExecutionClient,
  type DurableExecutionInvocationInput,
  DurableExecutionInvocationInputWithClient,
  type DurableExecutionInvocationOutput,
} from '@aws/durable-execution-sdk-js';
import { type DurableOperation, LocalDurableTestRunner } from '@aws/durable-execution-sdk-js-testing';
import { LambdaEnvironment } from './lambda-environment.ts';

/** One durable execution that has been started. */
interface Execution {
  readonly runner: LocalDurableTestRunner;
  /** Resolves with its final status. */
  readonly ended: Promise<string>;
}

/** What the running invocation of an execution uses. */
interface Invocation {
  readonly client: DurableExecutionClient;
  /** For its next checkpoint. */
  token: string;
  /** The checkpoint that is being stored. */
  checkpoint: Promise<unknown>;
}

/**
 * The part of AWS Lambda that durable functions use, over HTTP. AWS's local runner stores the checkpoints and measures the
 * time. The function runs in processes of their own with AWS's SDK. If a test kills one, its invocation runs again in
 * another: the local runner alone cannot show that, because it calls the function in its own process.
 */
export class LambdaService {
  readonly #server: Server;
  readonly #env: NodeJS.ProcessEnv;
  readonly #executions = new Map<string, Execution>();
  readonly #invocations = new Map<string, Invocation>();
  /** The processes of the function, by their number. */
  readonly #environments = new Map<number, LambdaEnvironment>();
  readonly #idle = new Set<LambdaEnvironment>();
  #started = 0;
  #stored = '';
  #isClosed = false;

  private constructor(env: Readonly<Record<string, string>>) {
    this.#server = createServer(async (request, response) => {
      const { status, body } = await this.#route(request).catch((error: unknown) => {
        return { status: 500, body: { message: String(error) } };
      });
      response.writeHead(status, { 'content-type': 'application/json' }).end(toWire(body));
    });
    this.#env = { ...process.env, ...env };
  }

  /** `env`: the variables of the function, and of the commands that call it. */
  static async start(env: Readonly<Record<string, string>>): Promise<LambdaService> {
    await LocalDurableTestRunner.setupTestEnvironment({ skipTime: false });
    const service = new LambdaService(env);
    await once(service.#server.listen(0, '127.0.0.1'), 'listening');
    Object.assign(service.#env, {
      AWS_ENDPOINT_URL_LAMBDA: service.#url,
      AWS_REGION: 'eu-west-1',
      AWS_ACCESS_KEY_ID: 'test',
      AWS_SECRET_ACCESS_KEY: 'test',
    });
    return service;
  }

  /** Runs one of the example's commands. Rejects if it fails. */
  async run(script: string, ...args: string[]): Promise<void> {
    const file = fileURLToPath(import.meta.resolve(`../${script}`));
    const command = spawn(process.execPath, [file, ...args], {
      env: this.#env,
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    const [code] = await once(command, 'exit');
    if (code !== 0) throw new Error(`${script} exited with ${code}.`);
  }

  /** Kills the processes of the function: the ones that run an invocation, and the idle ones. */
  async kill(): Promise<void> {
    const environments = [...this.#environments.values()];
    this.#environments.clear();
    this.#idle.clear();
    await Promise.all(environments.map((environment) => environment.kill()));
  }

  /** Whether an invocation runs. While an execution waits, none does. */
  get isRunning(): boolean {
    return this.#idle.size < this.#environments.size;
  }

  /** Waits for the end of an execution. Returns its status. */
  async waitForEnd(name: string): Promise<string> {
    return await this.#find(name).ended;
  }

  /** Returns the status of each of an execution's operations with this name. */
  listOperations(name: string, wanted: string): string[] {
    return listByName(this.#find(name), wanted).map((operation) => String(operation.getStatus()));
  }

  /** Returns everything that the service got to store, as text. */
  dump(): string {
    return this.#stored;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.kill();
    this.#server.closeAllConnections();
    this.#server.close();
    await LocalDurableTestRunner.teardownTestEnvironment();
  }

  get #url(): string {
    const address = this.#server.address();
    if (address === null || typeof address === 'string') throw new Error('The service does not listen.');
    return `http://127.0.0.1:${address.port}`;
  }

  #find(name: string): Execution {
    const execution = this.#executions.get(name);
    if (!execution) throw new Error(`There is no execution ${name}.`);
    return execution;
  }

  #findInvocation(arn: string): Invocation {
    const invocation = this.#invocations.get(arn);
    if (!invocation) throw new Error(`No invocation of ${arn} runs.`);
    return invocation;
  }

  async #route(request: IncomingMessage): Promise<{ status: number; body: object }> {
    const { pathname, searchParams } = new URL(request.url ?? '/', this.#url);
    const [, , kind, encodedId = '', action] = pathname.split('/');
    const id = decodeURIComponent(encodedId);
    const body = await readJson(request);
    this.#stored += JSON.stringify(body);
    if (kind === 'runtime' && action === 'next')
      return { status: 200, body: (await this.#environments.get(Number(id))?.takeEvent()) ?? {} };
    if (kind === 'runtime') {
      this.#environments.get(Number(id))?.respond(body);
      return { status: 202, body: {} };
    }
    if (kind === 'functions') {
      this.#startExecution(String(request.headers['x-amz-durable-execution-name']), body);
      return { status: 202, body: {} };
    }
    if (kind === 'durable-execution-callbacks') {
      await this.#findCallback(id).sendCallbackSuccess('');
      return { status: 200, body: {} };
    }
    const invocation = this.#findInvocation(id);
    const params = { ...body, ...Object.fromEntries(searchParams), DurableExecutionArn: id };
    if (action === 'state') return { status: 200, body: await invocation.client.getExecutionState(params) };
    const checkpoint = invocation.client.checkpoint(params);
    invocation.checkpoint = checkpoint.catch(() => {});
    const response = await checkpoint;
    invocation.token = response.CheckpointToken ?? invocation.token;
    return { status: 200, body: response };
  }

  /** A name belongs to one execution: a second start of it does nothing. */
  #startExecution(name: string, payload: object): void {
    if (this.#executions.has(name)) return;
    const runner = new LocalDurableTestRunner({ handlerFunction: (event) => this.#invoke(event) });
    const ended = runner.run({ payload }).then((result) => String(result.getStatus()));
    ended.catch(() => {});
    this.#executions.set(name, { runner, ended });
  }

  /** Runs an invocation, and again after each kill. */
  async #invoke(first: DurableExecutionInvocationInput): Promise<DurableExecutionInvocationOutput> {
    if (!DurableExecutionInvocationInputWithClient.isInstance(first))
      throw new Error('The local runner gave no client.');
    const { durableExecutionClient: client, DurableExecutionArn } = first;
    const invocation: Invocation = { client, token: first.CheckpointToken, checkpoint: Promise.resolve() };
    this.#invocations.set(DurableExecutionArn, invocation);
    let { InitialExecutionState } = first;
    while (!this.#isClosed) {
      const event = { DurableExecutionArn, CheckpointToken: invocation.token, InitialExecutionState };
      const environment = this.#takeEnvironment();
      const output = await environment.invoke(event);
      if (output) {
        this.#idle.add(environment);
        return output;
      }
      await invocation.checkpoint;
      const { Operations = [] } = await client.getExecutionState({
        DurableExecutionArn,
        CheckpointToken: invocation.token,
      });
      InitialExecutionState = { Operations };
    }
    throw new Error('The service is closed.');
  }

  #takeEnvironment(): LambdaEnvironment {
    for (const environment of this.#idle) {
      this.#idle.delete(environment);
      return environment;
    }
    this.#started++;
    const environment = new LambdaEnvironment(`${this.#url}/2018-06-01/runtime/${this.#started}`, this.#env);
    this.#environments.set(this.#started, environment);
    return environment;
  }

  #findCallback(callbackId: string): DurableOperation {
    for (const execution of this.#executions.values()) {
      for (const wait of listByName(execution, 'wait')) {
        const found = wait.getChildOperations()?.find(isCallback);
        if (found) return found;
      }
    }
    throw new Error('There is no such callback.');

    function isCallback(operation: DurableOperation): boolean {
      return operation.isCallback() && operation.getCallbackDetails()?.callbackId === callbackId;
    }
  }
}

function listByName({ runner }: Execution, name: string): DurableOperation[] {
  const operations: DurableOperation[] = [];
  for (;;) {
    const operation = runner.getOperationByNameAndIndex(name, operations.length);
    if (operation.getStatus() === undefined) return operations;
    operations.push(operation);
  }
}

async function readJson(request: IncomingMessage) {
  let body = '';
  for await (const chunk of request) body += chunk;
  return body === '' ? {} : JSON.parse(body);
}

/** The service sends times as seconds since 1970. */
function toWire(body: object): string {
  return JSON.stringify(body, function (this: Record<string, unknown>, key: string, value: unknown) {
    const original = this[key];
    return original instanceof Date ? original.getTime() / 1_000 : value;
  });
}
