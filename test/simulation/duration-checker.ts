import type { NewSaga } from '../../libs/saga/src/engine/ports/stored-saga.js';
import type { SagaState } from '../../libs/saga/src/machine/saga-state.js';
import type { DatabaseTime } from './clock-steps.js';
import type { Promised } from './promises.js';
import type { SagaRecord } from './saga-record.js';

/** A process's clock is so much too fast, and its database's time is known so exactly (ms). */
const PACE = 0.02;
const SLACK = 1_000;

/** Holds the delays and the deadlines of sagas against the time that has passed. */
export class DurationChecker {
  private readonly submittedAt = new Map<string, number>();

  constructor(
    private readonly time: DatabaseTime,
    private readonly violate: (promise: Promised, what: string) => void,
  ) {}

  /** A process is asked to start a saga. Its caller waits from then on. */
  submitted(id: string): void {
    this.submittedAt.set(id, this.time.passed);
  }

  stored(record: SagaRecord, { delay, timeout }: NewSaga): void {
    Object.assign(record, { storedAt: this.time.passed, delay, timeout });
  }

  /** A method of a saga is called. */
  called(record: SagaRecord, text: string): void {
    this.checkPassed(record, record.delay, text);
  }

  changed(record: SagaRecord, before: SagaState, after: SagaState): void {
    if (isPastDeadline(after) && !isPastDeadline(before))
      this.checkPassed(record, record.timeout, 'its deadline has passed', this.submittedAt.get(record.id));
  }

  private checkPassed(
    { id, storedAt }: SagaRecord,
    duration: number | undefined,
    what: string,
    since = storedAt,
  ): void {
    const passed = this.time.passed - since;
    if (duration !== undefined && passed < duration * (1 - PACE) - SLACK)
      this.violate('I40', `${id}: ${what}, ${passed.toFixed(0)} ms after its start; it takes ${duration} ms`);
  }
}

/** The saga as a whole: no step of it was too late. */
function isPastDeadline({ failure }: SagaState): boolean {
  return failure?.kind === 'timeout' && failure.step === undefined;
}
