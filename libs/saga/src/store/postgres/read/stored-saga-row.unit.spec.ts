import type { Checkpoint } from '../../../engine/ports/checkpoint.js';
import { INITIAL, SagaState, STATE_PROGRESS, type StateProgressField } from '../../../machine/saga-state.js';
import { Coder } from '../../coded/coder.js';
import { convertState } from '../../coded/private-fields.js';
import { SAGA_PARAMETERS } from '../checkpoint/checkpoint-parameters.js';
import { type StoredSagaRow, toStoredSaga } from './stored-saga-row.js';

const EXAMPLES: Required<Pick<SagaState, StateProgressField>> = {
  round: 2,
  rollbackTo: 'reserve',
  lastTakenSignals: { paid: 3 },
  pendingRollback: { failure: { kind: 'cancelled', reason: 'changed her mind' }, rollbackTo: 'reserve' },
  overtaken: { kind: 'cancelled', reason: 'too late', step: 'charge' },
  sentOn: true,
  turn: { at: 1_000, key: 'k' },
};
const FIELDS = Object.keys(STATE_PROGRESS) as StateProgressField[];

const progressOf = (state: SagaState): unknown =>
  SAGA_PARAMETERS.find(({ name }) => name === 'progress')!.valueOf({ state } as Checkpoint);
const readFrom = (progress: unknown): SagaState =>
  toStoredSaga({ failure: null, startsAt: null, steps: [], progress } as unknown as StoredSagaRow).state;

test.each(FIELDS)('a saga’s row keeps %s of its state', (field) => {
  const state = new SagaState({ ...INITIAL, [field]: EXAMPLES[field] });
  const progress = progressOf(state);
  expect(Object.keys(JSON.parse(progress as string) as object)).toEqual([field]);
  expect(readFrom(JSON.parse(progress as string))[field]).toEqual(EXAMPLES[field]);
  expect(readFrom(null)[field]).toEqual(INITIAL[field]);
});

test('a state to which nothing of it has happened has no progress', () => {
  expect(progressOf(INITIAL)).toBeUndefined();
});

test.each(FIELDS)('a codec encodes %s if the table of fields says so', (field) => {
  const coder = new Coder({ encode: (text) => `?${text}`, decode: (text) => text.slice(1) });
  const state = new SagaState({ ...INITIAL, [field]: EXAMPLES[field] });
  const encoded = convertState(state, coder.encoding, { sagaId: 's' });
  expect(encoded[field] !== state[field]).toBe('isPrivate' in STATE_PROGRESS[field]);
});
