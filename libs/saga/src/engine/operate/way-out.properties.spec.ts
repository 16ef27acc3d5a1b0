import fc from 'fast-check';
import { SAGA } from '../../../../../test/fixtures/run-of.js';
import { playGraph } from '../../../../../test/oracle/run-model.js';
import { describeGraph, type RandomGraph, randomGraphs } from '../../../../../test/oracle/random-graph.js';
import { signalsOfGraph } from '../../definition/describe/graph-record.js';
import { awaitedSignals } from '../../machine/waits.js';
import { rescheduleable } from '../../machine/reschedule.js';
import { decide } from '../../machine/decide.js';
import { evolve } from '../../machine/evolve.js';
import { follow } from '../../machine/follow.js';
import type { SagaEvent } from '../../machine/saga-event.js';
import { awaitsChild, isSettled, isTerminal, type SagaState, stepState } from '../../machine/saga-state.js';
import {
  argumentsOf,
  CALL_NAMES,
  type CallName,
  DECISION_CALLS,
  type ChangingCall,
} from '../ports/call-table.js';
import { liveState } from '../ports/live-state.js';
import type { Edit } from '../ports/saga-store.js';
import type { StoredSaga } from '../ports/stored-saga.js';
import { type AllowedCall, allowedCalls, CALL_RULES, isAccepted } from './call-rules.js';
import { edited } from './edit-by-events.js';
import type { CallValues } from './operator-calls.js';
import {
  cancelEdit,
  permanentlyFailed,
  resolveEdit,
  resumeEdit,
  retryEdit,
  rescheduleEdit,
} from './operator-edits.js';
import { abandonEdit, attemptsOf, backingOff, resolvable, retryNowEdit } from './way-out-edits.js';

type Graph = RandomGraph['graph'];

const RUNS = Number(process.env.GRAPH_RUNS ?? 60);
const error = { name: 'AttemptAbandonedError', message: 'it hangs' };
const abandoned = { error, random: 0.5, force: true };

const APPROVED = JSON.stringify({ approved: true, by: 'ann', at: '2026-11-27T00:00:00.000Z' });

/** The signals of the approvals that are asked for. */
function approvalsIn(graph: Graph, state: SagaState): string[] {
  return awaitedSignals(state.steps).filter((signal) =>
    [...graph.steps.values()].some(({ kind, wait }) => kind === 'approval' && wait?.signal === signal),
  );
}

function delayedApprovals(graph: Graph, state: SagaState, now: number): string[] {
  return rescheduleable(state).filter((step) => {
    const { wait, retryAt = 0 } = stepState(state, step);
    return graph.steps.get(step)?.kind === 'approval' && wait === undefined && retryAt > now;
  });
}

/** All calls that an operator could make but abort(), which ends any saga. */
function callsOn(graph: Graph, saga: StoredSaga, now: number): (() => Edit | undefined)[] {
  const live = liveState(saga, graph, now);
  return [
    ...approvalsIn(graph, saga.state).map((signal) => () => {
      const number = (saga.state.lastTakenSignals?.[signal] ?? 0) + 1;
      const given = { number, name: signal, messageId: `m${number}`, payload: APPROVED, at: 0 };
      return edited({ ...saga, signals: [given] }, graph, now);
    }),
    ...delayedApprovals(graph, saga.state, now).map(
      (step) => () => rescheduleEdit(saga, graph, now, { step, at: () => now }),
    ),
    ...attemptsOf(live).map((step) => () => abandonEdit(saga, graph, now, { step, ...abandoned })),
    ...[...attemptsOf(live), ...resolvable(graph, live)].map(
      (step) => () => resolveEdit(saga, graph, now, { step, force: true }),
    ),
    ...(backingOff(saga.state).length > 0 ? [() => retryNowEdit(saga, graph, now, {})] : []),
    ...permanentlyFailed(saga, graph).map((step) => () => resolveEdit(saga, graph, now, { step })),
    () => retryEdit(saga, graph, now, {}),
    () => resumeEdit(saga, graph, now, undefined),
    () => cancelEdit(saga, graph, now, {}),
  ];
}

/** The states after the calls that are accepted, and change something. */
function moved(graph: Graph, saga: StoredSaga, now: number): SagaState[] {
  return callsOn(graph, saga, now).flatMap((call) => {
    try {
      const edit = call();
      return edit && 'state' in edit && edit.state !== saga.state ? [edit.state] : [];
    } catch (refusal) {
      if ((refusal as { code?: string }).code === 'SAGA_STATE') return [];
      throw refusal;
    }
  });
}

/** A saga of a step has to end, or is asked to by the worker. */
function isChildAwaited(graph: Graph, state: SagaState): boolean {
  const asked = decide(graph, state, 1_000).actions.some(({ kind }) => kind.endsWith('-child'));
  return asked || [...state.steps.values()].some((step) => awaitsChild(step));
}

/** As it is stored: without attempts in progress. */
function stored(state: SagaState, lockedBy: string | undefined): StoredSaga {
  const steps = [...state.steps].map(([key, step]) => [key, { ...step, active: false }] as const);
  return { ...SAGA, lockedBy, state: { ...state, steps: new Map(steps) } };
}

/** After what follows without any attempt. */
function recorded(graph: Graph, given: SagaState): SagaState {
  if (isSettled(given.status) || given.status === 'paused') return given;
  const now = typeof given.turn === 'object' ? Math.max(given.turn.at, 1_000) : 1_000;
  const { state, decision } = follow(graph, given, now);
  const { settle, actions } = decision;
  // The worker asks the rate limit, which always gives a time, and that comes.
  if (actions[0]?.kind === 'begin')
    return recorded(graph, evolve(graph, state, { type: 'turn-granted', at: now }));
  // The worker asks for the delay of an approval, which is over, and for its timeout. An operator decides only then.
  const asked = actions.find(({ kind, node }) => kind === 'await' && node.kind === 'approval');
  if (asked) {
    const { key: step, node } = asked;
    const isDelayed = node.delayOf !== undefined && stepState(state, step).status === 'pending';
    const event: SagaEvent = isDelayed
      ? { type: 'delay-started', step, until: now }
      : { type: 'wait-started', step, now };
    return recorded(graph, evolve(graph, state, event));
  }
  return settle === undefined ? state : evolve(graph, state, { type: 'settled', status: settle });
}

function statesOf(saga: RandomGraph): SagaState[] {
  const { entries } = playGraph(saga);
  return entries.flatMap((entry) => (entry.type === 'event' ? [entry.after] : []));
}

describe('a saga of any graph, in any state', () => {
  it.each([
    ['that a worker holds, whose methods never end', 'worker'],
    ['that no worker holds', undefined],
  ])(
    '%s can be moved by an operator, without aborting it',
    (_, lockedBy) => {
      fc.assert(
        fc.property(randomGraphs, (random) => {
          for (const state of statesOf(random)) {
            if (isTerminal(state.status)) continue;
            const saga = stored(state, lockedBy);
            // An operator moves the saga that it waits for.
            if (moved(random.graph, saga, 1_000).length > 0 || isChildAwaited(random.graph, saga.state))
              continue;
            // Nothing is left of it but what follows by itself.
            if (recorded(random.graph, saga.state) !== saga.state) continue;
            const steps = JSON.stringify([...saga.state.steps]);
            throw new Error([`it is ${state.status}`, ...describeGraph(random.graph), steps].join('\n'));
          }
        }),
        { numRuns: RUNS, seed: 7 },
      );
    },
    600_000,
  );

  it('is brought to its end by an operator, when no method ever returns', () => {
    fc.assert(
      fc.property(randomGraphs, (random) => {
        const { graph } = random;
        const states = statesOf(random);
        const from = states[Math.floor(states.length / 2)];
        if (
          from === undefined ||
          isTerminal(from.status) ||
          isChildAwaited(graph, stored(from, undefined).state)
        )
          return;
        let saga = stored(from, 'worker');
        for (let call = 0; !isTerminal(saga.state.status); call += 1) {
          if (call > 400) throw new Error(`is ${saga.state.status} after ${call} calls`);
          const [next] = moved(graph, saga, 1_000 + call);
          // Nothing is in progress and nothing waits: its worker records the result.
          saga = stored(next ?? recorded(graph, saga.state), 'worker');
          if (isChildAwaited(graph, saga.state)) return;
        }
      }),
      { numRuns: RUNS, seed: 8 },
    );
  }, 600_000);

  it('is offered each call on the steps on which its edit accepts it, and on no others', () => {
    fc.assert(
      fc.property(randomGraphs, (random) => {
        const { graph } = random;
        for (const state of statesOf(random))
          for (const lockedBy of ['worker', undefined]) {
            const saga = stored(state, lockedBy);
            const offered = allowedCalls(saga, graph, 1_000);
            const shown = offered.map(({ kind, steps = [] }) => [kind, [...steps].sort()]);
            expect([state.status, shown]).toEqual([state.status, acceptedOn(saga, graph, offered)]);
          }
      }),
      { numRuns: Math.ceil(RUNS / 3), seed: 9 },
    );
  }, 600_000);
});

/** The calls that are accepted, and the steps on which they are. */
function acceptedOn(saga: StoredSaga, graph: Graph, offered: readonly AllowedCall[]): [CallName, string[]][] {
  const recorded = saga.state.steps.keys();
  // An item may be next, or in progress, that no checkpoint has recorded.
  const unrecorded = offered.flatMap(({ steps = [] }) => steps);
  const keys = [...new Set([...graph.steps.keys(), ...recorded, ...unrecorded])].sort();
  const isOffered = (action: ChangingCall, key: string) =>
    offered.some(({ kind, steps }) => kind === action && steps?.includes(key));
  const accepts = (action: ChangingCall, given: CallValues) =>
    isAccepted(() =>
      CALL_RULES[action].edit(saga, graph, 1_000, { id: 'new', action, by: 'ann', needed: 1, ...given }),
    );
  return CALL_NAMES.flatMap((action): [CallName, string[]][] => {
    if (action === 'signal') {
      const isOpen = !isTerminal(saga.state.status) && signalsOfGraph(graph).length > 0;
      return isOpen ? [[action, []]] : [];
    }
    // A decision is accepted earlier than it is offered.
    const isDecision = DECISION_CALLS.some((name) => name === action);
    const named = isDecision ? keys.filter((key) => isOffered(action, key)) : keys;
    const steps = named.filter((step) => accepts(action, { step, force: true, at: (now) => now }));
    if (argumentsOf(action).operands.includes('step')) return steps.length > 0 ? [[action, steps]] : [];
    const isRetry = action === 'retry' || action === 'retryNow';
    return accepts(action, {}) ? [[action, isRetry ? steps : []]] : [];
  });
}
