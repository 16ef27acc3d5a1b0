/** The promises of docs/guarantees.md that the simulation holds, by their numbers there. */
export const PROMISES = {
  I1: 'A start that was acknowledged is stored; the same correlation id is one saga',
  I2: 'A recorded result is never lost, changed or run again',
  I3: 'What is recorded is what the participant did under the key',
  I4: 'A step begins once all that it waits for is recorded',
  I5: 'Only the holder of the lease writes, and epochs only rise',
  I6: 'A worker begins nothing once another has taken over',
  I7: 'A step is undone after all that depends on it',
  I8: 'A compensation is given the recorded result, or none',
  I9: 'Nothing is undone that cannot have begun',
  I10: 'An end is final',
  I11: 'An at-most-once step is not run again unless an operator asks for it',
  I12: 'A transactional step takes effect once, with its checkpoint',
  I13: 'Of the sagas with one lock key, one is active, and sub-sagas of it',
  I14: 'No more sagas of a name are leased than its concurrency',
  I15: 'No more attempts begin than the rate limit lets',
  I16: 'In the end what is wanted stands, and nothing else',
  I17: 'A saga whose cancellation was accepted does not complete, unless a pivot did',
  I18: 'A saga that takes its workers down is stuck after so many',
  I19: 'Every saga comes to rest, and needs a person only for what gave up',
  I20: 'Whoever waits is told what is stored',
  I21: 'A sub-saga stands with its step, and is undone with it',
  I22: 'Behind a pivot that was passed nothing is undone, and the saga goes forward',
  I23: 'A signal is kept once, and given to one step in one round, the same at each attempt',
  I24: 'What came before a wait was over is taken',
  I25: 'A message is in the outbox if, and only if, what published it is recorded, and once',
  I26: 'Messages of a topic and key arrive in the order of the transactions that followed each other',
  I27: 'A message is sent if, and only if, its transaction commits',
  I28: 'A message takes effect once, and is said to be handled only if that is committed',
  I29: 'A saga that was started in a transaction is there if, and only if, that commits',
  I30: 'A lock that is waited for is handed on once the last that has it is out',
  I31: 'A saga enters the lock that its ancestor has, and is refused one only if what it would wait for waits for its family',
} as const;

export type Promised = keyof typeof PROMISES;

export interface Violation {
  readonly promise: Promised;
  readonly what: string;
  /** Milliseconds from the beginning. */
  readonly at: number;
}
