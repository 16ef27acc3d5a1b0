import type {
  Compared,
  comparedByStructure,
  CompensationContext,
  InTransaction,
  StepContext,
} from './contexts.js';
import type { EntityManager } from 'typeorm';

/** The properties that only the saga's own steps have. */
type SagasOwn =
  | ('results' | 'round' | 'item' | 'index' | 'sagaId' | 'correlationId')
  | ('tags' | 'setTags' | 'step' | 'idempotencyKey');

/** The saga and the step that call a handler. */
interface AskedBy {
  /** The id of the saga whose remote step this is. */
  readonly sagaId: string;
  /** The correlation id of that saga. */
  readonly correlationId: string;
  /** The name of the step in that saga. */
  readonly step: string;
}

/** The context that the method of a step handler receives. */
export interface HandlerContext<Input = unknown> extends Omit<StepContext<Input>, SagasOwn>, AskedBy {
  /**
   * The idempotency key, the same on every attempt and in every process: a participant should do the work once per key.
   * A repeated call, after a rollback to a savepoint or an operator's retry, has another key.
   */
  readonly idempotencyKey: string;
}

/** The context of a `transactional: true` handler, with the transaction in which the call's checkpoint is stored. */
export type TransactionalHandlerContext<Input = unknown, Tx = EntityManager> = HandlerContext<Input> &
  InTransaction<Tx>;

interface HandlerCompensationRunContext<Input, Result>
  extends Omit<CompensationContext<Input, Result>, SagasOwn>, AskedBy {
  /** The handler's key with `:compensate` after it, the same on every attempt. */
  readonly idempotencyKey: string;
}

/** The context that the compensation of a step handler receives. */
export interface HandlerCompensationContext<
  Input = unknown,
  Result = unknown,
> extends HandlerCompensationRunContext<Input, Result> {
  /** @hidden */
  readonly [comparedByStructure]?: {
    input?: Compared<Input>;
    result?: Compared<Result>;
    results?: Compared<unknown>;
  };
}

/** The context of the compensation of a `transactional: true` handler. */
export type TransactionalHandlerCompensationContext<
  Input = unknown,
  Result = unknown,
  Tx = EntityManager,
> = HandlerCompensationContext<Input, Result> & InTransaction<Tx>;
