/** The promises of docs/guarantees.md that the simulation holds, by their numbers there. */
export const PROMISES = {
  I1: 'A start that was acknowledged is stored; the same correlation id is one saga',
  I2: 'A recorded result is never lost, changed or run again',
  I3: 'What is recorded is what the participant did under the key',
  I4: 'A step starts only after everything that it waits for is recorded',
  I5: 'Only the holder of the lease writes, and epochs only rise',
  I6: 'A worker starts nothing after another worker has taken over',
  I7: 'A step is compensated after everything that depends on it',
  I8: 'A compensation receives the recorded result, or none',
  I9: 'A step that cannot have started is not compensated',
  I10: 'A terminal state is final',
  I11: 'An at-most-once step is not run again unless an operator requests it',
  I12: 'A transactional step takes effect once, with its checkpoint',
  I13: 'At most one saga with a lock key is active, plus its sub-sagas',
  I14: 'No more sagas of a name, or of its key, are leased than its limit',
  I15: 'No more attempts start than the rate limit allows',
  I16: 'In the end every intended effect exists once, and no other effect does',
  I17: 'A saga whose cancellation was accepted does not complete, unless a pivot did',
  I18: 'A saga that repeatedly crashes its workers is stuck after a bounded number of them',
  I19: 'Every saga reaches an end, and needs an operator only if retries are exhausted',
  I20: 'A caller that waits receives what is stored',
  I21: 'The effects of a sub-saga stay with its step, and are compensated with it',
  I22: 'After a pivot has completed no step before it is compensated, and the saga goes forward',
  I23: 'A signal is stored once and taken by one step in one round, the same one on each attempt',
  I24: 'A signal that arrives before a wait ends is taken, and a later one is not',
  I25: 'A message is in the outbox, once, if and only if the completion that published it is recorded',
  I26: 'Messages of a topic and key arrive in the order of the transactions that followed each other',
  I27: 'A message is sent if, and only if, its transaction commits',
  I28: 'A message takes effect once, and is reported as handled only if its effect is committed',
  I29: 'A saga that was started in a transaction exists if, and only if, that transaction commits',
  I30: 'A contended lock passes to the next saga when the last saga that holds it has left',
  I31: 'A sub-saga enters the lock of its ancestor. A lock is refused only if waiting for it would be a deadlock',
  I32: 'A step with a quorum runs only after so many different operators have approved it',
  I33: 'The list of tasks has the steps that wait for a decision and have none yet, and no others',
  I34: 'No attempt of a step begins in a process that knows that the step is paused',
  I35: 'A tag that a method sets is stored if, and only if, the completion that set it is recorded',
  I36: 'No more attempts of a step are in progress under valid leases than its limit',
  I37: 'The next attempt of a step receives its last stored heartbeat, and an attempt without one in time ends',
  I38: 'A saga runs in processes that have its version, and by the graph of that version',
  I39: 'A tick of a schedule starts at most one saga, and one if processes run then, unless an earlier saga overlaps',
  I40: 'No deadline and no delay ends before its time, except by what the clock of the database was set forward',
  I41: 'A method of a saga is not called in the asynchronous context of any caller',
  I42: 'With a codec, nothing that a user gives is stored in clear',
} as const;

export type Promised = keyof typeof PROMISES;

export interface Violation {
  readonly promise: Promised;
  readonly what: string;
  /** Milliseconds from the beginning. */
  readonly at: number;
}
