import { SagaCodecError, SagaTransactionError } from '../../errors.js';
import type { SagaWriters } from '../write/saga-writers.js';
import type { EventOf, SagaEvent } from '../../machine/saga-event.js';
import type { SagaState } from '../../machine/saga-state.js';
import { type Clock, sleep } from '../../shared/clock.js';
import type { AttemptRunner } from './attempt-runner.js';
import type { Invoker } from '../ports/invoker.js';
import type { MadeCheckpoint } from '../write/made-checkpoint.js';
import type { SagaStore } from '../ports/saga-store.js';
import type { CheckpointResult } from '../ports/checkpoint.js';
import type { StoredSaga } from '../ports/stored-saga.js';
import type { ReportKeeper } from './attempt-reports.js';
import type { StepAttempt } from './step-attempt.js';
import { repeated, transientWait } from '../../shared/transient-wait.js';

/** What a transaction is about to make durable. No other checkpoint of the saga is written until `release`. */
export interface Staged {
  readonly candidate: SagaState;
  readonly checkpoint: MadeCheckpoint;
  release(): void;
}

/** The run of a saga, as the attempts of its steps see it. */
export interface AttemptHost extends ReportKeeper {
  readonly saga: StoredSaga;
  readonly state: SagaState;
  readonly isFenced: boolean;
  /** The saga pauses once the attempts in progress have ended. */
  readonly isPausing: boolean;
  /** No other can have taken over. */
  readonly isLeaseSafe: boolean;
  /**
   * Renews the lease until it is safe or lost, or until the run starts nothing more. `longer`: so many ms more than
   * usual, without renewals.
   */
  extendLease(longer?: number): Promise<void>;
  /**
   * Makes the checkpoint of the attempt. Undefined: the run does not wait for this attempt any more, so that it must
   * not be committed. `mayEnd`: it may end the saga as well.
   * @throws NotNow if another checkpoint of the saga takes too long
   */
  stage(attempt: StepAttempt, event: SagaEvent, mayEnd: boolean): Promise<Staged | undefined>;
  /** What was staged is durable. */
  adopt(staged: Staged): void;
  refused(result: CheckpointResult): Promise<void>;
  fence(): void;
  /** The store failed, and it is unknown what is stored. */
  fenceAfter(error: unknown): void;
  /** Steps have reported something that is not stored. */
  readonly hasUnsavedReports: boolean;
  /** Stores what was reported, unless that fails: then the next renewal of the lease does. */
  storeReports(): Promise<void>;
}

export interface TransactionPorts {
  readonly attempts: AttemptRunner;
  readonly transact: SagaWriters['transact'];
  readonly store: Pick<SagaStore, 'edit' | 'isOutage' | 'isTransient'>;
  readonly clock: Clock;
  readonly random: () => number;
}

/** Transient database errors that the method itself meets (serialization failures) are tried again this often. */
const RETRIES = 8;

/** serialization_failure */
const SERIALIZATION_FAILURE = '40001';

/**
 * Runs the method of a transactional step, or its compensation, and stores its checkpoint in one transaction.
 * Undefined: it is stored, or another worker has the saga. Otherwise the transaction was rolled back, and the event
 * contains the reason. Transient database errors are retried and do not count.
 *
 * At a raised isolation level, no other transaction may change the saga's row while this one is open. A renewal of the
 * lease does. So if a checkpoint fails to serialize, the next try takes a lease that needs no renewal.
 */
export async function attemptInTransaction(
  attempt: StepAttempt,
  invoke: Invoker,
  host: AttemptHost,
  ports: TransactionPorts,
): Promise<SagaEvent | undefined> {
  const { attempts, store, clock } = ports;
  for (let tries = 0, inMethod = 0, longer = 0; ; tries += 1) {
    let event: SagaEvent | undefined;
    let staged: Staged | undefined;
    let began = clock.monotonic();
    let behind: unknown;
    try {
      // Not within the transaction: all who hold a connection would wait for one more of the same pool.
      if (!host.isLeaseSafe || longer > 0) await host.extendLease(longer);
      if (host.isFenced) return undefined;
      // The run is to stop, and does not wait for its lease. The attempt goes on until it is aborted, so that its step has an outcome.
      if (!host.isLeaseSafe) throw new NotNow();
      const result = await ports.transact(async (transaction) => {
        // A transaction can be long in beginning, and is tried again.
        if (!host.isLeaseSafe || attempt.abortedBy) throw new NotNow();
        began = clock.monotonic();
        const noting: Invoker = async (...call) => {
          try {
            return await invoke(...call);
          } catch (error) {
            behind = transaction.errorBehind?.(error);
            throw error;
          }
        };
        event = await attempts.run(attempt, noting, transaction);
        if (isFailure(event)) throw new RolledBack();
        staged = await host.stage(attempt, event, !transaction.commitsFirst);
        if (!staged) throw new LeftBehind();
        return staged.checkpoint;
      }, host.saga);
      if (result === 'saved') return void host.adopt(staged!);
      await host.refused(result);
      // Nothing is stored. The attempt was in progress when the pause was requested, so it is repeated to its end.
      if (host.isPausing && !attempt.abortedBy) continue;
      return host.isFenced ? undefined : attempts.failed(attempt, attempt.abortedBy ?? new RolledBack());
    } catch (error) {
      if (error instanceof LeftBehind) return undefined;
      const failure = event && isFailure(event) ? event : undefined;
      const transient = failure
        ? isTransientFailure(failure, store) || store.isTransient(behind)
        : error instanceof NotNow || store.isOutage(error);
      // The result could not be encoded. That is no failure of the step.
      if (staged && error instanceof SagaCodecError) throw error;
      if (staged && (await wasCommitted(staged, host, ports))) return void host.adopt(staged);
      if (host.isFenced) return undefined;
      // The method met it as well, and caught it.
      if (failure || error instanceof SagaTransactionError) inMethod += 1;
      if (staged && isSerializationFailure(error))
        longer = Math.max(2 * longer, 2 * (clock.monotonic() - began));
      if (!transient || inMethod > RETRIES || attempt.abortedBy) {
        return failure ?? attempts.failed(attempt, error instanceof NotNow ? attempt.abortedBy : error);
      }
    } finally {
      staged?.release();
    }
    await sleep(clock, transientWait(tries, ports.random()));
  }
}

/**
 * Returns whether a transaction has committed whose COMMIT failed: its connection was lost, or a pooler answered instead of the
 * server. Asked under the row's lock, so that a commit still in progress is waited for. The number of the checkpoint tells it,
 * whatever the step came to: a compensation that waits for its reply has stored its request.
 */
async function wasCommitted(
  { checkpoint }: Staged,
  host: AttemptHost,
  ports: TransactionPorts,
): Promise<boolean> {
  const { store } = ports;
  const { id, epoch } = host.saga;
  const read = () => store.edit({ id }, () => undefined);
  const saga = await repeated(read, (error) => store.isOutage(error), ports);
  if (saga?.epoch !== epoch) {
    host.fence();
    return false;
  }
  return saga.checkpoints >= checkpoint.number;
}

function isSerializationFailure(error: unknown): boolean {
  return (error as { code?: unknown }).code === SERIALIZATION_FAILURE;
}

type FailureEvent = EventOf<'step-failed' | 'compensation-failed'>;

export function isFailure(event: SagaEvent): event is FailureEvent {
  return event.type === 'step-failed' || event.type === 'compensation-failed';
}

/** TypeORM's: of a statement, or of one for which there is no connection any more. Others are not the database's. */
const DATABASE_ERRORS = [
  'QueryFailedError',
  'QueryRunnerAlreadyReleasedError',
  'QueryRunnerProviderAlreadyReleasedError',
];

function isTransientFailure({ error }: FailureEvent, store: TransactionPorts['store']): boolean {
  if (!DATABASE_ERRORS.includes(error.name)) return false;
  return store.isTransient(Object.assign(new Error(error.message), { code: error.code }));
}

/** Rolls back an attempt that ends after the run has released or lost the saga. Never leaves this module. */
class LeftBehind extends Error {}

/** Rolls a transaction back, to be made again: going on would mean to wait, with a connection in hand, for who may wait for it. */
export class NotNow extends Error {}

/** Rolls a transaction back; never seen outside. */
class RolledBack extends Error {}
