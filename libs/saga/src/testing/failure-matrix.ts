import * as kind from '../definition/options/kinds.js';
import { optional, type OptionTable } from '../definition/options/option-reader.js';
import { canBeUndone, type SagaGraph } from '../definition/graph/saga-graph.js';
import { SagaError, StepRejectedError } from '../errors.js';
import { descendantsOf } from '../machine/graph-relations.js';
import type { SagaTestRun } from './saga-test-run.js';
import type { Fault } from './scripted-calls.js';
import type { CrashPoint } from './test-process.js';

/** A failure case of a saga. */
export interface FailurePoint {
  /** The description: `chargeCard is rejected`. */
  readonly name: string;
  /** The kind of failure. */
  readonly kind: 'none' | 'rejected' | 'timed-out' | 'cancelled' | 'compensation-failed' | 'crash';
  /** The step or the compensation. */
  readonly method?: string;
}

/** Asserts a run. An error or rejection is reported with its failure point. */
export type FailureCheck<S> = (run: SagaTestRun<S>, point: FailurePoint) => unknown;

/** Options of `SagaTest.everyFailure()`, beside the check. */
export interface EveryFailureOptions {
  /** Called before each run, for example to reset fakes. Default: nothing. */
  readonly beforeEach?: (point: FailurePoint) => unknown;
}

export const EVERY_FAILURE_OPTIONS = {
  beforeEach: optional(kind.func<(point: FailurePoint) => unknown>()),
} satisfies OptionTable<EveryFailureOptions>;

/** The failure cases that were run, and the problems of each. `String(report)` is a readable text. */
export interface FailureReport {
  /** The failure cases with the outcome of the saga and the called methods. */
  readonly points: readonly (FailurePoint & {
    readonly status: string;
    readonly trace: readonly string[];
    /** The reason for which cancel() was rejected. Absent if it was not. */
    readonly refusal?: string;
    /** The error of the check. */
    readonly problem?: string;
  })[];
  /** Returns a readable text with a line for each point. */
  toString(): string;
}

/** The check failed in some failure cases of the saga. */
export class SagaFailureMatrixError extends SagaError {
  readonly code = 'SAGA_FAILURE_MATRIX';

  constructor(
    /** All failure cases, including those that pass. */
    readonly report: FailureReport,
  ) {
    super(String(report));
  }
}

interface Script {
  readonly faults: readonly Fault[];
  readonly crashes: readonly CrashPoint[];
  /** Undone once it has completed. */
  readonly undo: boolean;
}

type Planned = FailurePoint & Script;

const NOTHING: Script = { faults: [], crashes: [], undo: false };
const CALM: Planned = { name: 'nothing fails', kind: 'none', ...NOTHING };

/** All the ways in which a saga can fail, walked one by one. */
export class FailureMatrix<S> {
  constructor(
    private readonly graph: SagaGraph,
    private readonly run: (script: Script) => Promise<SagaTestRun<S>>,
  ) {}

  /** @throws SagaFailureMatrixError */
  async walk(check: FailureCheck<S>, { beforeEach }: EveryFailureOptions = {}): Promise<FailureReport> {
    const points: Mutable<FailureReport['points'][number]>[] = [];
    const walked = async (planned: Planned): Promise<SagaTestRun<S>> => {
      const { faults, crashes, undo, ...point } = planned;
      await beforeEach?.(point);
      const run = await this.run({ faults, crashes, undo });
      const [refusal] = run.refusedCancellations;
      const walkedPoint: (typeof points)[number] = {
        ...{ ...point, status: run.outcome.status, trace: run.trace },
        ...(refusal !== undefined && { refusal }),
      };
      points.push(walkedPoint);
      try {
        await check(run, point);
      } catch (error) {
        walkedPoint.problem = messageOf(error);
      }
      return run;
    };
    const calm = await walked(CALM);
    const single = [this.rejections(calm), this.timeouts(calm), this.cancellations(calm)].flat();
    for (const planned of [...single, ...this.failedUndoings(calm)]) await walked(planned);
    for (const planned of crashesOf(calm, NOTHING, 'going forward')) await walked(planned);
    const back = this.turningBack(calm);
    if (back) {
      await beforeEach?.(back);
      const first = await this.run(back);
      for (const planned of crashesOf(first, back, `when ${back.name}`)) await walked(planned);
    }
    const report = { points, toString: () => textOf(this.graph.name, points) };
    if (points.some(({ problem }) => problem !== undefined)) throw new SagaFailureMatrixError(report);
    return report;
  }

  /** Steps that a run without failures calls, in order. */
  private stepsOf(run: SagaTestRun<S>): string[] {
    const called = run.calls.filter(({ id, step, method }) => id === run.id && step === method);
    return [...new Set(called.map(({ step }) => step))];
  }

  private rejections(calm: SagaTestRun<S>): Planned[] {
    return this.stepsOf(calm).map((method) => rejected(method));
  }

  /** A step without a timeout cannot time out. */
  private timeouts(calm: SagaTestRun<S>): Planned[] {
    const called = this.stepsOf(calm).filter((name) => this.graph.steps.get(name)!.timeout !== undefined);
    return called.map((method) => ({
      ...{ name: `${method} times out after its side effect`, kind: 'timed-out', method, ...NOTHING },
      faults: [{ method, kind: 'timing-out', times: Infinity }],
    }));
  }

  /** Where a pivot makes cancel() refuse, the saga goes forward. */
  private cancellations(calm: SagaTestRun<S>): Planned[] {
    return this.stepsOf(calm).map((method) => ({
      ...{ name: `cancelled while ${method} runs`, kind: 'cancelled', method, ...NOTHING },
      faults: [{ method, kind: 'cancelling', times: 1 }],
    }));
  }

  /** Each fails once, in a run that needs it: the saga is undone, or a pivot after it is rejected. */
  private failedUndoings(calm: SagaTestRun<S>): Planned[] {
    const { steps } = this.graph;
    const called = this.stepsOf(calm);
    const pivots = called.filter((name) => steps.get(name)?.pivot);
    return called.flatMap((name): Planned[] => {
      const node = steps.get(name)!;
      if (node.compensate === undefined) return [];
      const pivot = pivots.find((one) => one !== name && descendantsOf(this.graph, name).has(one));
      if (pivots.length > 0 && pivot === undefined) return [];
      const method = node.compensate;
      const failing: Fault = { method, kind: 'failing', error: new Error(`${method} failed once`), times: 1 };
      const turned = pivot === undefined ? [] : rejected(pivot).faults;
      return [
        {
          ...{ name: `${method} fails once`, kind: 'compensation-failed', method, crashes: [] },
          ...{
            faults: [failing, ...turned],
            undo: pivot === undefined && calm.outcome.status === 'completed',
          },
        },
      ];
    });
  }

  /** Returns the longest rollback that a single failure leads to. */
  private turningBack(calm: SagaTestRun<S>): Planned | undefined {
    const { steps } = this.graph;
    const called = this.stepsOf(calm);
    const pivot = called.find((name) => steps.get(name)?.pivot);
    // After the failure of an optional step, nothing rolls back.
    const last = pivot ?? called.findLast((name) => !steps.get(name)!.optional);
    const isAnyUndone = called.some((name) => name !== last && canBeUndone(steps.get(name)!));
    return last !== undefined && isAnyUndone ? rejected(last) : undefined;
  }
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

function rejected(method: string): Planned {
  const error = new StepRejectedError(`${method} is rejected`);
  const faults: Fault[] = [{ method, kind: 'failing', error, times: Infinity }];
  return { name: `${method} is rejected`, kind: 'rejected', method, ...NOTHING, faults };
}

function crashesOf<S>(run: SagaTestRun<S>, script: Script, where: string): Planned[] {
  return Array.from({ length: run.checkpoints }, (_, n) => n + 1).flatMap((checkpoint) =>
    (['before', 'after'] as const).map((when) => ({
      ...{ name: `the process crashes ${when} checkpoint ${checkpoint}, ${where}`, kind: 'crash' as const },
      ...{ faults: script.faults, undo: script.undo, crashes: [{ checkpoint, when }] },
    })),
  );
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function textOf(saga: string, points: FailureReport['points']): string {
  const wrong = points.filter(({ problem }) => problem !== undefined);
  const head =
    wrong.length === 0
      ? `${saga}: all ${points.length} failure cases pass`
      : `${saga}: ${wrong.length} of ${points.length} failure cases do not pass`;
  const lines = points.map(({ name, status, trace, problem, refusal }) => {
    const sign = problem === undefined ? '✓' : '✗';
    const why = problem === undefined ? '' : `\n      ${problem.split('\n').join('\n      ')}`;
    const refused = refusal === undefined ? '' : ', cancel() refused';
    return `  ${sign} ${name}: ${status}${refused} (${trace.join(' → ') || 'no method was called'})${why}`;
  });
  return [head, ...lines].join('\n');
}
