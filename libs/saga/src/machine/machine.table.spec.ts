import { sequenceOf, stepOf } from '../../../../test/fixtures/graph-of.js';
import { evolve } from './evolve.js';
import type { SagaEvent } from './saga-event.js';
import type { SagaState, StepState } from './saga-state.js';
import type { SagaStatus } from '../definition/types/saga-status.js';
import { shortOf, stateOf } from '../../../../test/fixtures/state-of.js';

/**
 * Every event in every state of a saga and of its step b, which stands between a (completed) and c (not begun).
 * What the table does not list leaves the state as it is.
 */
const GRAPH = sequenceOf(stepOf('a'), stepOf('b'), stepOf('c'));
const NOW = 1_000;

const failed = {
  step: 'b',
  error: { name: 'Error', message: 'no' },
  retryable: true,
  now: NOW,
  random: 0,
};

const EVENTS = {
  'step-started': { type: 'step-started', step: 'b' },
  'start-withdrawn': { type: 'start-withdrawn', step: 'b' },
  'step-completed': { type: 'step-completed', step: 'b', result: '"new"' },
  'step-failed': { type: 'step-failed', kind: 'error', unknown: false, ...failed },
  'step-failed, unknown': { type: 'step-failed', kind: 'timeout', unknown: true, ...failed },
  'step-rejected': { type: 'step-failed', kind: 'rejected', unknown: false, ...failed, retryable: false },
  'condition-false': { type: 'condition-false', step: 'b' },
  'fan-out-started': { type: 'fan-out-started', step: 'b', items: ['1', '2'] },
  'delay-started': { type: 'delay-started', step: 'b', until: NOW + 50 },
  'probe-started': { type: 'probe-started', step: 'b' },
  resumed: { type: 'resumed' },
  expired: { type: 'expired', now: NOW },
  'compensation-started': { type: 'compensation-started', step: 'b' },
  'compensation-completed': { type: 'compensation-completed', step: 'b' },
  'compensation-failed': { type: 'compensation-failed', ...failed },
  'compensation-refused': { type: 'compensation-failed', ...failed, retryable: false },
  interrupted: { type: 'interrupted', now: NOW },
  cancelled: { type: 'cancelled', reason: 'manual' },
  aborted: { type: 'aborted', reason: 'manual' },
  retried: { type: 'retried' },
  'retried b': { type: 'retried', step: 'b' },
  'resolved b': { type: 'operator-resolved', step: 'b', result: '"new"' },
  'resolved another': { type: 'operator-resolved', step: 'no such step' },
  'retried another': { type: 'retried', step: 'no such step' },
  paused: { type: 'paused' },
  unpaused: { type: 'unpaused' },
  'settled completed': { type: 'settled', status: 'completed' },
  'settled compensated': { type: 'settled', status: 'compensated' },
  'settled stuck': { type: 'settled', status: 'stuck' },
  'settled suspended': { type: 'settled', status: 'suspended' },
} satisfies Record<string, SagaEvent>;
type EventName = keyof typeof EVENTS;

const SAGAS = {
  running: { status: 'running' },
  compensating: { status: 'compensating' },
  'stuck forward': { status: 'stuck', heldPhase: 'running' },
  'stuck back': { status: 'stuck', heldPhase: 'compensating' },
  suspended: { status: 'suspended', heldPhase: 'running' },
  'paused forward': { status: 'paused', heldPhase: 'running' },
  'paused back': { status: 'paused', heldPhase: 'compensating' },
  completed: { status: 'completed' },
  compensated: { status: 'compensated' },
  aborted: { status: 'aborted' },
} satisfies Record<string, Partial<SagaState>>;
type SagaName = keyof typeof SAGAS;

/** Step b, in the short form of `stateOf`. */
const STEPS = [
  'pending',
  'running!',
  'running!?',
  'running',
  'waiting@2000',
  'completed',
  'skipped',
  'failed',
  'failed?',
  'compensating!',
  'compensating@2000',
  'compensated',
  'compensation_failed',
] as const;
type StepName = (typeof STEPS)[number];

type Row = [event: EventName, saga: SagaName, step: StepName, saga: SagaName, step: string];

const EVERY_ATTEMPT: Row[] = [
  ['step-started', 'running', 'pending', 'running', 'running!'],
  ['step-started', 'running', 'waiting@2000', 'running', 'running!'],
  ['step-started', 'running', 'running', 'running', 'running!'],
  ['start-withdrawn', 'running', 'running!', 'running', 'waiting'],
  ['start-withdrawn', 'running', 'running!?', 'running', 'waiting?'],
  ['start-withdrawn', 'compensating', 'running!', 'compensating', 'pending'],
  ['start-withdrawn', 'compensating', 'running!?', 'compensating', 'pending?'],
  ['step-completed', 'running', 'running!', 'running', 'completed'],
  ['step-completed', 'running', 'running!?', 'running', 'completed'],
  ['step-failed', 'running', 'running!', 'running', 'waiting@1100'],
  ['step-failed', 'running', 'running!?', 'running', 'waiting?@1100'],
  ['step-failed, unknown', 'running', 'running!', 'running', 'waiting?@1100'],
  ['step-failed, unknown', 'running', 'running!?', 'running', 'waiting?@1100'],
  ['step-rejected', 'running', 'running!', 'compensating', 'failed'],
  ['step-rejected', 'running', 'running!?', 'compensating', 'failed?'],
  ['condition-false', 'running', 'pending', 'running', 'skipped'],
  ['condition-false', 'running', 'waiting@2000', 'running', 'skipped'],
  ['delay-started', 'running', 'pending', 'running', 'waiting@1050'],
  ['interrupted', 'running', 'running!', 'running', 'pending?'],
  ['interrupted', 'running', 'running!?', 'running', 'pending?'],

  ['step-completed', 'compensating', 'running!', 'compensating', 'completed'],
  ['step-completed', 'compensating', 'running!?', 'compensating', 'completed'],
  ['step-failed', 'compensating', 'running!', 'compensating', 'failed'],
  ['step-failed', 'compensating', 'running!?', 'compensating', 'failed?'],
  ['step-failed, unknown', 'compensating', 'running!', 'compensating', 'failed?'],
  ['step-failed, unknown', 'compensating', 'running!?', 'compensating', 'failed?'],
  ['step-rejected', 'compensating', 'running!', 'compensating', 'failed'],
  ['step-rejected', 'compensating', 'running!?', 'compensating', 'failed?'],
  ['interrupted', 'compensating', 'running!', 'compensating', 'failed?'],
  ['interrupted', 'compensating', 'running!?', 'compensating', 'failed?'],

  ['compensation-started', 'compensating', 'completed', 'compensating', 'compensating!'],
  ['compensation-started', 'compensating', 'failed?', 'compensating', 'compensating!?'],
  ['compensation-started', 'compensating', 'compensating@2000', 'compensating', 'compensating!'],
  ['compensation-completed', 'compensating', 'compensating!', 'compensating', 'compensated'],
  ['compensation-failed', 'compensating', 'compensating!', 'compensating', 'compensating@1100'],
  ['compensation-refused', 'compensating', 'compensating!', 'compensating', 'compensation_failed'],
  ['interrupted', 'compensating', 'compensating!', 'compensating', 'compensating'],
];

const forAll = (steps: readonly StepName[], row: (step: StepName) => Row): Row[] => steps.map(row);
const DONE: readonly StepName[] = ['completed', 'skipped'];
const NOT_DONE = STEPS.filter((step) => !DONE.includes(step));
/** Attempts end before a saga comes to rest. */
const AT_REST = STEPS.filter((step) => !step.includes('!'));
const TO_BE_UNDONE = ['completed', 'failed?', 'compensating@2000', 'compensation_failed'] as const;
const LIVE: SagaName[] = [
  ...(['running', 'compensating', 'stuck forward', 'stuck back', 'suspended'] as const),
  ...(['paused forward', 'paused back'] as const),
];

/** During a rollback, a waiting step is not tried again. */
const noMore = (step: StepName) => (step === 'waiting@2000' ? 'failed' : step);
const undoAgain = (step: StepName) => (step === 'compensation_failed' ? 'compensating' : step);
/** A compensation may fail permanently while the saga goes forward: that of a branch which lost a race. */
const again = (step: StepName) =>
  step.startsWith('failed') ? step.replace('failed', 'pending') : undoAgain(step);
const manualStatus = (step: StepName) => (step === 'compensation_failed' ? 'compensated' : 'completed');
const undone = (step: StepName) => (step === 'failed?' ? 'compensated?' : 'compensated');

const BY_HAND: Row[] = [
  ...(['running', 'stuck forward', 'suspended', 'paused forward'] as const).flatMap((saga) =>
    forAll(STEPS, (step) => ['cancelled', saga, step, 'compensating', noMore(step)]),
  ),
  ...LIVE.flatMap((saga) => forAll(STEPS, (step): Row => ['aborted', saga, step, 'aborted', step])),
  ...(['stuck forward', 'suspended'] as const).flatMap((saga) => [
    ...forAll(STEPS, (step) => ['retried', saga, step, 'running', again(step)]),
    ...forAll(NOT_DONE, (step) => ['retried b', saga, step, 'running', again(step)]),
    ...forAll(NOT_DONE, (step) => ['resolved b', saga, step, 'running', manualStatus(step)]),
  ]),
  ...forAll(STEPS, (step) => ['retried', 'stuck back', step, 'compensating', undoAgain(step)]),
  ...forAll(TO_BE_UNDONE, (step) => ['retried b', 'stuck back', step, 'compensating', undoAgain(step)]),
  ...forAll(TO_BE_UNDONE, (step) => ['resolved b', 'stuck back', step, 'compensating', undone(step)]),
];
/** What waits for another attempt makes it at once. */
const HURRIED: Row[] = (['running', 'compensating'] as const).flatMap((saga) => [
  ['retried', saga, 'compensating@2000', saga, 'compensating'],
  ['retried b', saga, 'compensating@2000', saga, 'compensating'],
]);
/** An operator deals with a compensation that failed permanently while its saga goes on. */
const WHILE_IT_GOES_ON: Row[] = (['running', 'compensating'] as const).flatMap((saga) => [
  ['retried b', saga, 'compensation_failed', saga, 'compensating'],
  ['resolved b', saga, 'compensation_failed', saga, 'compensated'],
]);
const PAUSED: Row[] = [
  ...forAll(AT_REST, (step) => ['paused', 'running', step, 'paused forward', step]),
  ...forAll(AT_REST, (step) => ['paused', 'compensating', step, 'paused back', step]),
  ...forAll(AT_REST, (step) => ['unpaused', 'paused forward', step, 'running', step]),
  ...forAll(AT_REST, (step) => ['unpaused', 'paused back', step, 'compensating', step]),
];
const SETTLED: Row[] = [
  ['settled stuck', 'running', 'failed', 'stuck forward', 'failed'],
  ['settled stuck', 'running', 'failed?', 'stuck forward', 'failed?'],
  ['settled stuck', 'compensating', 'compensation_failed', 'stuck back', 'compensation_failed'],
];

/** An idle saga has no attempt in progress. A saga that goes forward compensates nothing. */
const meets = (saga: SagaName, step: StepName) =>
  saga === 'running'
    ? step !== 'compensating!'
    : saga === 'compensating' || !LIVE.includes(saga) || AT_REST.includes(step);
const TABLE = [...EVERY_ATTEMPT, ...BY_HAND, ...HURRIED, ...WHILE_IT_GOES_ON, ...PAUSED, ...SETTLED].filter(
  ([, saga, step]) => meets(saga, step),
);

function given(saga: SagaName, step: StepName): SagaState {
  const { status, ...rest } = SAGAS[saga] as { status: SagaStatus };
  const state = stateOf(status, `a=completed b=${step}`);
  return { ...state, ...rest };
}

function bOf(state: SagaState): StepState {
  return state.steps.get('b')!;
}

describe('an event that fits', () => {
  it.each(TABLE)('%s: %s saga, step %s → %s, %s', (event, saga, step, sagaAfter, stepAfter) => {
    const before = given(saga, step);
    const copy = structuredClone(before);
    const after = evolve(GRAPH, before, EVENTS[event]);
    expect(shortOf(after)).toBe(`a=completed b=${stepAfter}`);
    expect({ status: after.status, heldPhase: after.heldPhase }).toEqual({
      heldPhase: undefined,
      ...SAGAS[sagaAfter],
    });
    expect(before).toEqual(copy);
  });

  it('gives the same state for the same arguments', () => {
    for (const [event, saga, step] of TABLE) {
      expect(evolve(GRAPH, given(saga, step), EVENTS[event])).toEqual(
        evolve(GRAPH, given(saga, step), EVENTS[event]),
      );
    }
  });
});

describe('an event that does not fit leaves the state as it is', () => {
  const fits = new Set(TABLE.map(([event, saga, step]) => `${event} ${saga} ${step}`));
  describe.each(Object.keys(EVENTS) as EventName[])('%s', (event) => {
    it.each(Object.keys(SAGAS) as SagaName[])('in a %s saga', (saga) => {
      for (const step of STEPS) {
        if (fits.has(`${event} ${saga} ${step}`) || !meets(saga, step)) continue;
        const before = given(saga, step);
        const after = evolve(GRAPH, before, EVENTS[event]);
        expect([step, shortOf(after), after]).toEqual([step, shortOf(before), before]);
      }
    });
  });

  it.each(['completed', 'compensated', 'aborted'] as const)(
    'and is not even looked at once it is %s',
    (saga) => {
      for (const event of Object.values(EVENTS)) {
        for (const step of STEPS) {
          const before = given(saga, step);
          expect(evolve(GRAPH, before, event)).toBe(before);
        }
      }
    },
  );
});

describe('what is kept of a step', () => {
  it('is its result, once recorded, through everything that follows', () => {
    for (const event of Object.values(EVENTS)) {
      for (const saga of Object.keys(SAGAS) as SagaName[]) {
        expect(bOf(evolve(GRAPH, given(saga, 'completed'), event)).result).toBe('"b"');
      }
    }
  });

  it('is the result that an operator gave', () => {
    expect(bOf(evolve(GRAPH, given('stuck forward', 'failed?'), EVENTS['resolved b'])).result).toBe('"new"');
  });
});
