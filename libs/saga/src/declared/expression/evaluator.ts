import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from 'node:worker_threads';
import type { Expression } from './expression.js';
import { FILE } from './expression-worker.cjs';

/** Milliseconds that the expressions of one call may take. JSONata stops itself first, unless a regular expression runs. */
const TIMEOUT = 1_000;
const TERMINATE_AFTER = 2 * TIMEOUT;
/** Milliseconds until the thread has started, on a machine that is busy. */
const START_TIMEOUT = 30_000;
/** Megabytes. */
const MEMORY = { maxOldGenerationSizeMb: 128, maxYoungGenerationSizeMb: 32 };

type Answer =
  | { readonly values: readonly (string | undefined)[]; readonly failed?: undefined }
  | { readonly failed: number; readonly message: string; readonly code?: string };

/** An expression that failed, or took too long. */
export class ExpressionError extends Error {
  constructor(
    readonly expression: Expression,
    problem: string,
  ) {
    super(`the expression '${shortened(expression.source)}' failed: ${problem}`);
  }
}

interface Thread {
  readonly worker: Worker;
  readonly port: MessagePort;
  /** Counts the answers. */
  readonly answers: Int32Array;
}

/**
 * Evaluates expressions in a thread of its own, and waits for it. The engine asks `when` and `forEach` synchronously, and
 * JSONata evaluates asynchronously. A thread can also be ended, whatever its expression does: a regular expression that
 * takes for ever blocks no event loop for longer than the timeout.
 */
export class Evaluator {
  private thread: Thread | undefined;

  /**
   * Returns the value of each expression, each a copy that can be stored as JSON.
   * @throws ExpressionError
   */
  evaluate(expressions: readonly Expression[], data: object): unknown[] {
    if (expressions.length === 0) return [];
    const thread = (this.thread ??= this.start());
    const sources = expressions.map(({ source }) => source);
    const answer = this.ask(thread, { sources, data }, TERMINATE_AFTER);
    if (!answer) {
      void thread.worker.terminate();
      this.thread = undefined;
      throw new ExpressionError(expressions[0]!, `it took longer than ${TERMINATE_AFTER} ms`);
    }
    if (answer.failed !== undefined) throw new ExpressionError(expressions[answer.failed]!, answer.message);
    return answer.values.map((text) => (text === undefined ? undefined : (JSON.parse(text) as unknown)));
  }

  private start(): Thread {
    const { port1, port2 } = new MessageChannel();
    const signal = new SharedArrayBuffer(4);
    const thread: Thread = {
      port: port1,
      answers: new Int32Array(signal),
      worker: new Worker(FILE, {
        workerData: { sagaExpressions: { port: port2, signal, timeout: TIMEOUT } },
        transferList: [port2],
        resourceLimits: MEMORY,
        // Its own, without the variables of this process.
        ...{ env: {}, execArgv: [] },
      }),
    };
    // It ends with the process, and a thread without memory is started anew.
    thread.worker.unref();
    thread.worker.on('error', () => this.forget(thread));
    thread.worker.on('exit', () => this.forget(thread));
    this.ask(thread, { sources: [], data: {} }, START_TIMEOUT);
    return thread;
  }

  private ask(thread: Thread, request: object, timeout: number): Answer | undefined {
    const before = Atomics.load(thread.answers, 0);
    thread.port.postMessage(request);
    if (Atomics.wait(thread.answers, 0, before, timeout) === 'timed-out') return undefined;
    return receiveMessageOnPort(thread.port)?.message as Answer | undefined;
  }

  private forget(thread: Thread): void {
    if (this.thread === thread) this.thread = undefined;
    thread.port.close();
  }
}

function shortened(source: string): string {
  return source.length > 100 ? `${source.slice(0, 100)}…` : source;
}

let shared: Evaluator | undefined;

/** One thread for all sagas of the process. */
export function sharedEvaluator(): Evaluator {
  shared ??= new Evaluator();
  return shared;
}
