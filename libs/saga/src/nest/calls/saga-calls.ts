import { sagaLabel } from '../../definition/graph/saga-graph.js';
import {
  SagaApprovalPendingError,
  SagaConflictError,
  SagaDefinitionError,
  SagaNotFoundError,
  SagaValidationError,
} from '../../errors.js';
import type { ExistingSaga, StoreTarget } from '../../engine/ports/saga-store.js';
import type { NewSaga, StoredSaga } from '../../engine/ports/stored-saga.js';
import type { SagaRegistry } from '../discovery/saga.registry.js';
import type { Type } from '@nestjs/common';
import { type Duration, LONGEST_TIMER } from '../../definition/options/duration.js';
import * as kind from '../../definition/options/kinds.js';
import { optional, OptionReader, type OptionTable } from '../../definition/options/option-reader.js';
import { readOptions, withoutProblems } from '../../definition/options/read-options.js';
import type { SagaOutcome } from '../views/saga-snapshot.js';
import { samePayload } from '../../engine/payload/payload.js';
import { shown } from '../../shared/shown-value.js';
import type { OperatorCall } from '../../engine/operate/operator-calls.js';
import { isKey, isUuid } from '../../engine/payload/storable-key.js';

/**
 * Identifies a saga by its id, or by its name and correlation id. With the class, calls return the types that it
 * declares.
 */
export type SagaTarget<S = unknown> =
  | string
  | { readonly saga: Type<S> | string; readonly correlationId: string };
/** Options of `SagaHandle.outcome()` and `SagaService.wait()`. */
export interface OutcomeOptions {
  /** The maximum time to wait, at most 24 days. After it, SagaTimeoutError is thrown. Default: no limit. */
  timeout?: Duration;
}
/** A handle of a started saga. */
export interface SagaHandle<S = unknown> {
  /** The saga's id, a UUID. */
  readonly id: string;
  /** `false` if a saga with this id or correlation id already existed. */
  readonly created: boolean;
  /**
   * Waits until the saga ends or needs attention. Holds no connection while it waits. A step that calls it keeps its slot of
   * the worker: let a step wait by `@SubSaga` instead.
   * @throws SagaTimeoutError after `timeout`; the saga continues
   * @throws SagaNotFoundError if the saga was deleted, or the transaction that started it was rolled back
   * @throws SagaUnavailableError if this process shuts down before the saga ends; the saga continues in another process
   */
  outcome(options?: OutcomeOptions): Promise<SagaOutcome<S>>;
}
/** Options of `SagaService.cancel()`, beside the operator and the reason. */
export interface CancelOptions {
  /**
   * The name of a step. The saga is cancelled only if this step has not begun; afterwards the step does not begin.
   * SagaStateError once it has begun, or may have. Default: the saga is cancelled wherever it is.
   */
  unlessBegun?: string;
}
/** Options of `SagaOperations.retry()`, beside the operator and the reason. */
export interface RetryOptions {
  /**
   * An input that replaces the saga's input. `@Saga({ input })` does not validate it. The original input is kept
   * (`startedInput` of `get()`), and repeated `start()` calls are compared with the original. `undefined` keeps the
   * current input. Default: the current input.
   */
  input?: unknown;
  /** The only step to retry, if several failed. Default: all failed steps. */
  step?: string;
}
/** Options of `SagaOperations.retryNow()`, beside the operator and the reason. */
export interface RetryNowOptions {
  /** The only step, or item (`ship[3]`), whose next attempt is made. Default: all that wait for one. */
  step?: string;
}
/** Options of `SagaOperations.abandon()`, beside the operator and the reason. */
export interface AbandonOptions {
  /**
   * Whether to interrupt an at-most-once step of the same saga that is in progress, too, so that its outcome is
   * unknown. Default: false, the call is refused.
   */
  force?: boolean;
}
/** Options of `SagaOperations.resolve()`, beside the operator and the reason. */
export interface ResolveOptions extends AbandonOptions {
  /** The step's result, as if its method had returned it. Default: `undefined`. */
  result?: unknown;
}
export function checkSame(start: Omit<NewSaga, 'leased'>, existing: ExistingSaga): void {
  if (existing.unreadable) throw existing.unreadable;
  const difference =
    existing.name !== start.name
      ? `it is a '${existing.name}'`
      : start.correlationId !== undefined && existing.correlationId !== start.correlationId
        ? `its correlation id is '${existing.correlationId ?? existing.id}'`
        : samePayload(existing.input, start.input)
          ? undefined
          : 'it was started with another input';
  if (difference === undefined) return;
  const key = existing.id === start.id ? `id ${start.id}` : `correlation id '${start.correlationId}'`;
  throw new SagaConflictError(
    `A saga with ${key} exists (${existing.id}), and ${difference}. Use another key for another saga.`,
    existing.id,
  );
}
export function lockConflict({ name, lockKey }: Omit<NewSaga, 'leased'>, holder: string): SagaConflictError {
  return new SagaConflictError(
    `start(): saga ${holder} of '${name}' has the lock '${lockKey}', and lockMode is 'reject'. Start the saga when ` +
      `that one has ended, or set lockMode to 'queue'.`,
    holder,
  );
}
export function notFound(target: SagaTarget): SagaNotFoundError {
  if (typeof target === 'string') return new SagaNotFoundError(`No saga has the id ${shown(target)}.`);
  const name = typeof target.saga === 'string' ? shown(target.saga) : target.saga.name;
  return new SagaNotFoundError(`No saga of ${name} has the correlation id ${shown(target.correlationId)}.`);
}
export function approvalPending(id: string, { action, needed }: OperatorCall, approvals: number) {
  return new SagaApprovalPendingError(
    `${action}() of saga ${id} is recorded but not executed yet: ${approvals} of ${needed} operators have approved it. ` +
      `It is executed when enough other operators make the same call with the same arguments before the saga changes.`,
    approvals,
    needed,
  );
}
const TARGET = {
  saga: optional(kind.anything<Type | string>()),
  correlationId: optional(kind.anything<string>()),
} satisfies OptionTable<Exclude<SagaTarget, string>>;
const TARGETS = 'the id of a saga, which is a string, or { saga, correlationId }';
const OUTCOME_OPTIONS = {
  timeout: optional(kind.duration({ longest: LONGEST_TIMER })),
} satisfies OptionTable<OutcomeOptions>;

export function readTimeout(call: string, options: OutcomeOptions | undefined): number | undefined {
  return readOptions(`${call}()`, OUTCOME_OPTIONS, options).timeout;
}
/** @throws SagaNotFoundError for an id or a key that no saga can have; SagaValidationError for an invalid target */
export function toTarget(target: SagaTarget, registry: Pick<SagaRegistry, 'nameOf'>): StoreTarget {
  if (typeof target === 'string') {
    if (!isUuid(target)) throw notFound(target);
    return { id: target.toLowerCase() };
  }
  const { saga, correlationId } = withoutProblems('SagaService', SagaValidationError, (report) => {
    const reader = new OptionReader(report);
    const read = reader.below(TARGET, target, 'target', TARGETS);
    if (read && (read.saga === undefined || typeof read.correlationId !== 'string'))
      reader.refuse(target, 'target', `give ${TARGETS}`);
    return read as Exclude<SagaTarget, string>;
  });
  const name = registry.nameOf(saga);
  if (!isKey(correlationId) || !isKey(name)) throw notFound({ saga: name, correlationId });
  return { name, correlationId };
}

export function unknownCompensations(saga: StoredSaga): SagaDefinitionError {
  return new SagaDefinitionError(
    `Saga ${saga.id} is a ${sagaLabel(saga)}, which is not a saga of this application: its compensations are not known ` +
      `here. Make the call in a process that has it.`,
  );
}
