import type { Type } from '@nestjs/common';
import type { SagaOptions, StepContext } from 'nestjs-durable-saga';

/** A saga as plain data: what a random graph is handed to other processes as. */
export interface SagaPlan {
  readonly name: string;
  readonly onFailure: 'compensate' | 'suspend';
  readonly steps: readonly PlannedStep[];
}

export interface PlannedStep {
  readonly name: string;
  readonly after: readonly string[];
  readonly join: 'all' | 'any';
  readonly attempts: number;
  readonly compensationAttempts: number;
  readonly compensated: boolean;
  readonly compensateOnFailure: boolean;
  readonly transactional: boolean;
  readonly idempotent: boolean;
  readonly probed: boolean;
  /** The results of `when`, round by round. The last one is used for all later rounds. */
  readonly answers?: readonly (boolean | 'throw')[];
  /** The number of items of `forEach`, round by round. */
  readonly counts?: readonly number[];
  readonly itemsAtOnce: number;
  readonly delayed: boolean;
  readonly savepoint?: { readonly attempts: number };
  readonly pivot: boolean;
  readonly optional: boolean;
  /** What it waits for. */
  readonly signal?: string;
}

export type CallKind = 'run' | 'compensate' | 'probe';

/** What the methods of planned sagas do, all of them. */
export type Perform = (kind: CallKind, ctx: StepContext, payload?: unknown) => Promise<unknown>;

/** `@Saga`, `@Step` and `@WaitFor` of the package that the application uses. */
export interface Decorators {
  Saga(options: SagaOptions): (target: Type) => void;
  Step(options: object): (target: never, key: string, descriptor: never) => void;
  WaitFor(options: never): (target: never, key: string, descriptor: never) => void;
}

/** Waits are as short as possible: a test that follows a saga waits for events, not for a time. */
const WAIT = 1;

/** A class with these steps, decorated like a class that a user writes. */
export function plannedSaga(plan: SagaPlan, perform: Perform, { Saga, Step, WaitFor }: Decorators): Type {
  class PlannedSaga {
    undo(ctx: StepContext): Promise<unknown> {
      return perform('compensate', ctx);
    }
    ask(ctx: StepContext): Promise<unknown> {
      return perform('probe', ctx);
    }
  }
  for (const step of plan.steps) {
    const method = (ctx: StepContext, payload?: unknown) => perform('run', ctx, payload);
    Object.defineProperty(PlannedSaga.prototype, step.name, { value: method });
    const decorate = step.signal === undefined ? Step(optionsOf(step)) : WaitFor(waitOptionsOf(step));
    decorate(PlannedSaga.prototype as never, step.name, undefined as never);
  }
  Saga({ name: plan.name, onFailure: plan.onFailure })(PlannedSaga);
  return PlannedSaga;
}

/** Without what a step that waits does not have. */
function waitOptionsOf(step: PlannedStep): never {
  const {
    transactional: _t,
    idempotent: _i,
    compensateOnFailure: _c,
    ...options
  } = optionsOf(step) as Record<string, unknown>;
  return { ...options, signal: step.signal } as never;
}

function optionsOf(step: PlannedStep): object {
  const { answers, counts } = step;
  const at = <T>(list: readonly T[], round: number): T => list[Math.min(round, list.length) - 1]!;
  const retry = { delay: WAIT, factor: 1, jitter: 0 };
  return {
    after: step.after,
    ...(step.after.length > 1 && { join: step.join }),
    ...(step.compensated && { compensate: 'undo', compensateOnFailure: step.compensateOnFailure }),
    ...(step.probed && { probe: 'ask' }),
    ...(answers && {
      when: ({ round }: StepContext) => {
        const answer = at(answers, round);
        if (answer === 'throw') throw new Error('the predicate throws');
        return answer;
      },
    }),
    ...(counts && {
      forEach: ({ round }: StepContext) =>
        Array.from({ length: at(counts, round) }, (_, index) => `item ${index}`),
      itemsAtOnce: step.itemsAtOnce,
    }),
    ...(step.delayed && { delay: WAIT }),
    savepoint: step.savepoint,
    pivot: step.pivot,
    ...(step.optional && { onFailure: 'continue' }),
    transactional: step.transactional,
    idempotent: step.idempotent,
    retry: { ...retry, attempts: step.attempts },
    compensationRetry: { ...retry, attempts: step.compensationAttempts },
  };
}
