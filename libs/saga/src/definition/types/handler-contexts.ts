import type { EntityManager } from 'typeorm';
import type { CompensationContext, StepContext } from './contexts.js';

/** What only the saga's own steps have. */
type SagasOwn =
  'results' | 'round' | 'item' | 'index' | 'sagaId' | 'correlationId' | 'step' | 'idempotencyKey';

/** Whose work a handler does. */
interface AskedBy {
  /** The id of the saga whose remote step this is. */
  readonly sagaId: string;
  /** That saga's. */
  readonly correlationId: string;
  /** The name of the step in that saga. */
  readonly step: string;
}

/** What the method of a step handler is given. */
export interface HandlerContext<Input = unknown> extends Omit<StepContext<Input>, SagasOwn>, AskedBy {
  /**
   * The same on every attempt, in whichever process: whoever sees it twice should do the work once. A saga that asks
   * again, after a rollback to a savepoint or because an operator says so, asks under another one.
   */
  readonly idempotencyKey: string;
}

/** What the method of a `transactional: true` handler may ask for: as HandlerContext, with the manager certainly there. */
export type TransactionalHandlerContext<Input = unknown> = HandlerContext<Input> & {
  /** Of the transaction in which the call's checkpoint is stored. */
  readonly manager: EntityManager;
};

/** What the compensation of a step handler is given. */
export interface HandlerCompensationContext<Input = unknown, Result = unknown>
  extends Omit<CompensationContext<Input, Result>, SagasOwn>, AskedBy {
  /** The handler's key with `:compensate` after it, the same on every attempt. */
  readonly idempotencyKey: string;
}

/** The same of a `transactional: true` handler. */
export type TransactionalHandlerCompensationContext<
  Input = unknown,
  Result = unknown,
> = HandlerCompensationContext<Input, Result> & {
  /** Of the transaction in which the compensation's checkpoint is stored. */
  readonly manager: EntityManager;
};
