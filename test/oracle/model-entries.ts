import type { Action, MachineDecision } from '../../libs/saga/src/machine/plan.js';
import type { ChildEntry } from './model-children.js';
import type { DecidedEntry } from './model-approvals.js';
import type { SentSignal } from './model-signals.js';
import type { SagaEvent } from '../../libs/saga/src/machine/saga-event.js';
import type { SagaState } from '../../libs/saga/src/machine/saga-state.js';

/** An attempt: of one key in one round, which is what its idempotency key is made of. */
export interface Attempt extends Action {
  readonly round: number;
  /** The saga that is asked something. */
  readonly child?: string;
}

/** All that an observer with a view of the worker, the store and the world can write down. */
export type Entry =
  | {
      readonly type: 'decision';
      readonly decision: MachineDecision;
      readonly state: SagaState;
      readonly now: number;
      /** What the worker knows to have been sent. */
      readonly known: readonly SentSignal[];
    }
  | {
      readonly type: 'event';
      readonly event: SagaEvent;
      readonly before: SagaState;
      readonly after: SagaState;
      /** It belongs to an attempt that the saga no longer waits for. */
      readonly late: boolean;
    }
  | { readonly type: 'recorded' }
  /** All since the last record is lost. */
  | { readonly type: 'crashed' }
  | {
      readonly type: 'started';
      readonly attempt: Attempt;
      readonly before: SagaState;
      readonly after: SagaState;
    }
  | {
      readonly type: 'took effect';
      readonly attempt: Attempt;
      /** `maybe`: unknown. `none`: it certainly took no effect. */
      readonly effect: 'done' | 'maybe' | 'none';
      readonly result?: string;
    }
  | {
      readonly type: 'completed manually';
      readonly key: string;
      readonly round: number;
      readonly undone: boolean;
    }
  | ChildEntry
  | DecidedEntry
  | { readonly type: 'sent'; readonly signal: SentSignal }
  | { readonly type: 'gave no end'; readonly why: string };

export interface Play {
  readonly entries: readonly Entry[];
  readonly end: SagaState;
  readonly start: SagaState;
}
