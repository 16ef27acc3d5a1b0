import { type ChildProcess, fork } from 'node:child_process';
import type { StandardSchemaIssue } from 'nestjs-durable-saga';
import { FILE } from './evaluation-program.cjs';

/** What the process is asked: the values of expressions, or what is wrong with a value by a JSON Schema. */
export type EvaluationRequest =
  | { readonly sources: readonly string[]; readonly data: object }
  /** Both are JSON texts. */
  | { readonly schema: string; readonly text: string | undefined };

export interface EvaluationAnswer {
  /** JSON texts, and null for no value. */
  readonly values?: readonly (string | null)[];
  /** The index of the expression that failed. */
  readonly failed?: number;
  readonly message?: string;
  readonly issues?: readonly StandardSchemaIssue[];
}

/** Megabytes of its heap. V8 ends a process that needs more, and a thread would take the whole process with it. */
const MEMORY = 256;

/**
 * A time limit is counted in so many beats. However long this process or the machine stands still, that is one beat: an answer
 * that has arrived meanwhile is read before the next one.
 */
const BEATS = 20;

/** The process gave no answer: it took too long and was ended, or it ended. */
export class EvaluationFailure extends Error {
  constructor(
    readonly kind: 'late' | 'ended',
    message: string,
  ) {
    super(message);
  }
}

/**
 * A process that evaluates what files say about values that others send. Nothing that it is asked can harm this process:
 * it can be ended whatever it does, and may run out of memory.
 */
export class EvaluationProcess {
  private readonly child: ChildProcess;
  private settle: ((answers: readonly EvaluationAnswer[] | EvaluationFailure) => void) | undefined;

  constructor() {
    this.child = fork(FILE, {
      // The texts that V8 prints when it runs out of memory are of no use to anybody.
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      // Its own, without the variables of this process.
      ...{ env: {}, execArgv: [`--max-old-space-size=${MEMORY}`] },
    });
    this.child.on('message', (answers) => this.settle?.(answers as EvaluationAnswer[]));
    this.child.on('error', ({ message }) => this.settle?.(new EvaluationFailure('ended', message)));
    this.child.on('exit', (code, signal) => this.settle?.(endedBy(code, signal)));
    this.hold(false);
  }

  get isAlive(): boolean {
    return this.child.connected;
  }

  /**
   * Asks one thing after the other, and resolves to all answers.
   * @param timeout milliseconds in which both processes run
   * @throws EvaluationFailure
   */
  async ask(requests: readonly EvaluationRequest[], timeout: number): Promise<readonly EvaluationAnswer[]> {
    if (!this.isAlive) throw new EvaluationFailure('ended', 'its process has ended');
    this.hold(true);
    let beats: NodeJS.Timeout | undefined;
    const answers = await new Promise<readonly EvaluationAnswer[] | EvaluationFailure>((resolve) => {
      this.settle = resolve;
      const late = new EvaluationFailure('late', `it took longer than ${timeout} ms`);
      let left = BEATS;
      beats = setInterval(() => {
        left -= 1;
        if (left === 0) resolve(late);
      }, timeout / BEATS);
      // A process that has just ended is reported by its exit.
      this.child.send(requests, () => undefined);
    });
    clearInterval(beats);
    this.settle = undefined;
    this.hold(false);
    if (answers instanceof EvaluationFailure) throw answers;
    return answers;
  }

  end(): void {
    this.child.kill('SIGKILL');
  }

  /** This process goes on while it waits for an answer, and does not because the other one is there. */
  private hold(isAsked: boolean): void {
    const { child } = this;
    for (const one of [child, child.channel])
      if (isAsked) one?.ref();
      else one?.unref();
  }
}

/** V8 aborts. */
function endedBy(code: number | null, signal: NodeJS.Signals | null): EvaluationFailure {
  const isMemory = signal === 'SIGABRT' || signal === 'SIGTRAP' || code === 134;
  const how = signal ?? `exit code ${code}`;
  return new EvaluationFailure(
    'ended',
    isMemory ? `it needs more than ${MEMORY} MB of memory` : `its process ended (${how})`,
  );
}
