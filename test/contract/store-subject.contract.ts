import type { SagaBackend } from '../../libs/saga/src/engine/ports/saga-backend.js';
import type { Claim, SagaStore } from '../../libs/saga/src/engine/ports/saga-store.js';
import type { Checkpoint, StoredMessage } from '../../libs/saga/src/engine/ports/checkpoint.js';
import type { Lease, NewSaga, StoredSaga } from '../../libs/saga/src/engine/ports/stored-saga.js';
import type { WakeupMessage } from '../../libs/saga/src/engine/ports/wakeup.js';
import { INITIAL, PENDING, type SagaState, type StepState } from '../../libs/saga/src/machine/saga-state.js';
import { newId } from '../../libs/saga/src/shared/new-id.js';

/** A backend under test, with what the suite needs to know and do beside it. */
export interface StoreSubject extends SagaBackend {
  /** Everything announced so far, oldest first; it grows as announcements arrive. */
  readonly messages: readonly WakeupMessage[];
  /** About how many bytes the store reads of a database by one statement. */
  readonly pageBytes: number;
  /** How many bytes the largest answer of its database has while this is done; 0: it has none. */
  largestAnswerTo(work: () => Promise<unknown>): Promise<number>;
  /** All that checkpoints have published, in order. */
  outbox(): Promise<StoredMessage[]>;
  /** Lets time pass: from now on every time stored so far is `ms` milliseconds longer ago. */
  advance(ms: number): Promise<void>;
  close(): Promise<void>;
}

export const LEASE_MS = 30_000;
export const WORKER: Lease = { worker: 'worker-1', duration: LEASE_MS };
export const OTHER_WORKER: Lease = { worker: 'worker-2', duration: LEASE_MS };

/** Far less than any time that the suite lets pass, far more than a statement takes. */
export const TOLERANCE_MS = 20_000;

/** Text that breaks whatever is not quoted, escaped or encoded as it should be. */
export const AWKWARD_TEXTS = [
  'NULL',
  '{a,"b"}',
  'it\'s "quoted" \\ $1 %s',
  '日本語 🚀 é \u2028 \u202e',
  'line\nbreak\ttab\u0001',
];

/** Deletes the sagas of a name that ended at least so many milliseconds ago. */
export async function cleanUp({ cleanup }: StoreSubject, name: string, age: number): Promise<void> {
  await cleanup.batch({ name, age, most: 100, dryRun: false, alone: false });
}

let names = 0;

/** A saga name that no other test uses. */
export function uniqueName(): string {
  names += 1;
  return `contract-${names}`;
}

export function newSaga(given: Partial<NewSaga> = {}): NewSaga {
  return {
    id: newId(),
    fresh: false,
    name: uniqueName(),
    version: 1,
    priority: 0,
    step: 'reserve',
    leased: false,
    ...given,
  };
}

/** Stores a saga and gives it back as it is stored. */
export async function started(store: SagaStore, given: Partial<NewSaga> = {}): Promise<StoredSaga> {
  const saga = newSaga(given);
  const [result] = await store.start([saga], WORKER);
  expect(result).toMatchObject({ created: true });
  return loaded(store, saga.id);
}

/** A saga that `WORKER` holds. */
export function held(store: SagaStore, given: Partial<NewSaga> = {}): Promise<StoredSaga> {
  return started(store, { ...given, leased: true });
}

export async function loaded(store: SagaStore, id: string): Promise<StoredSaga> {
  const saga = await store.load({ id });
  if (!saga) throw new Error(`No saga ${id}`);
  return saga;
}

export function claimed(store: SagaStore, name: string, limit = 100, lease = WORKER): Promise<Claim> {
  return store.claim({ lease, sagas: [{ name, version: 1 }], limit });
}

/** All that a worker can claim now. A claim may end before it has found all of them. */
export async function allClaimed(store: SagaStore, name: string): Promise<StoredSaga[]> {
  const all: StoredSaga[] = [];
  for (;;) {
    const { sagas } = await claimed(store, name, 500);
    if (sagas.length === 0) return all;
    all.push(...sagas);
  }
}

/** The ids that a worker can claim now. */
export async function claimedIds(store: SagaStore, name: string, limit = 100): Promise<string[]> {
  return (await claimed(store, name, limit)).sagas.map((saga) => saga.id);
}

/** The store's clock. */
export async function storeNow(store: SagaStore): Promise<number> {
  return (await claimed(store, 'nobody', 1)).now;
}

export function stepOf(given: Partial<StepState> = {}): StepState {
  return { ...PENDING, status: 'completed', attempts: 1, ...given };
}

export function stateOf(
  status: SagaState['status'],
  steps: Record<string, StepState> = {},
  given: Partial<SagaState> = {},
): SagaState {
  return { ...INITIAL, status, steps: new Map(Object.entries(steps)), ...given };
}

/** Each is later than all before. */
let checkpoints = 0;

/** A checkpoint of the saga's present holder: all steps of the state, the lease kept. */
export function checkpointOf(
  saga: Pick<StoredSaga, 'id' | 'epoch'>,
  state: SagaState,
  given: Partial<Checkpoint> = {},
): Checkpoint {
  const changed = [...state.steps.keys()];
  return {
    id: saga.id,
    epoch: saga.epoch,
    number: (checkpoints += 1),
    state,
    changed,
    step: 'charge',
    advances: true,
    cancelSeen: false,
    pauseSeen: false,
    ...given,
  };
}

/** A checkpoint that ends the saga and gives the lease back. */
export function lastCheckpointOf(saga: StoredSaga, status: SagaState['status'] = 'completed'): Checkpoint {
  return checkpointOf(saga, stateOf(status, { reserve: stepOf() }), { release: {} });
}

/** Waits until the check no longer throws: announcements take their time. */
export async function eventually(check: () => void): Promise<void> {
  const giveUpAt = performance.now() + 100_000;
  for (;;) {
    try {
      return check();
    } catch (error) {
      if (performance.now() > giveUpAt) throw error;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }
}

/** Stores one checkpoint, which must be saved, and returns the saga as it is stored then. */
export async function savedBy(store: SagaStore, checkpoint: Checkpoint): Promise<StoredSaga> {
  expect(await store.checkpoint([checkpoint])).toEqual(['saved']);
  return loaded(store, checkpoint.id);
}

/** The announcements of due sagas after the first `received` messages, once all have arrived. */
export async function dueSince(
  { store, messages }: StoreSubject,
  received: number,
): Promise<WakeupMessage[]> {
  const { id } = await held(store);
  await store.edit({ id }, () => ({ requestCancel: {} }));
  await eventually(() => expect(messages).toContainEqual({ type: 'look', id }));
  return messages.slice(received).filter(({ type }) => type === 'due');
}
