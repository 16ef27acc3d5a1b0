import { nodeOf, type SagaGraph } from '../../libs/saga/src/definition/graph/saga-graph.js';
import { awaitsSlot, type StepState, stepState } from '../../libs/saga/src/machine/saga-state.js';
import type { Attempt, Entry, Play } from './model-entries.js';

/** How many plays have it, by what it is. */
export class Counts {
  private readonly found = new Map<string, number>();

  add(...whats: readonly string[]): void {
    for (const what of whats) this.found.set(what, (this.found.get(what) ?? 0) + 1);
  }

  /** Those of `wanted` that were found fewer times than this. */
  rarerThan(bound: number, wanted: readonly string[]): string[] {
    return wanted.filter((what) => (this.found.get(what) ?? 0) < bound);
  }
}

/** What a play came to, and by which ways; each once. */
export function endsOf({ end, entries }: Play): string[] {
  const steps = [...end.steps.values()];
  const isCompleted = end.status === 'completed';
  const ways = {
    [end.status]: true,
    suspended: entries.some((entry) => entry.type === 'event' && entry.after.status === 'suspended'),
    returned: end.round > 1,
    raced: isCompleted && steps.some(({ pruned }) => pruned),
    'went on without an optional step': isCompleted && steps.some(isContinued),
    'undid an optional step, and went on':
      isCompleted && steps.some((step) => isContinued(step) && step.status === 'compensated'),
    'undone after all': entries.some(isUndone),
  };
  return Object.entries(ways).flatMap(([way, has]) => (has ? [way] : []));
}

/** What became of what was sent, and of those that waited. */
export function waysOfWaits(entries: readonly Entry[]): string[] {
  const started = new Set<string>();
  return entries.flatMap((entry) => {
    if (entry.type === 'started' && entry.attempt.node.wait) return again(started, entry.attempt);
    if (entry.type === 'sent') return entry.signal.isRefusal ? ['a refusal is sent'] : [];
    if (entry.type === 'decision' && entry.known.some(({ name }) => name === 'z')) return ['nobody'];
    if (entry.type !== 'event') return [];
    const { event, before, after, late } = entry;
    if (late) return event.type === 'signalled' || event.type === 'refused' ? ['sent again'] : [];
    if (before === after) return [];
    const { type } = event;
    if (type === 'compensation-requested' || type === 'reply-received') return [type];
    if (type === 'compensation-failed' && stepState(before, event.step).wait) return ['a reply is missed'];
    if (type === 'wait-started' || type === 'signalled' || type === 'refused' || type === 'wait-expired')
      return [type];
    const isLeft = ({ status, wait }: StepState) =>
      status === 'waiting' && wait && wait.takenSignal === undefined;
    const left = [...before.steps].filter(([, step]) => isLeft(step)).map(([key]) => stepState(after, key));
    if (left.some(({ pruned }) => pruned)) return ['a wait is cut'];
    return left.some((step) => !isLeft(step)) ? ['a wait is rolled back'] : [];
  });
}

/** What became of turns, and of what operators said. */
export function waysOfTurns(entries: readonly Entry[]): string[] {
  let isAsked = false;
  let now = 0;
  return entries.flatMap((entry) => {
    if (entry.type === 'decision') now = entry.now;
    if (entry.type === 'decided') return [`${entry.approved ? 'approve' : 'reject'}: ${entry.outcome}`];
    if (entry.type !== 'event') return [];
    const { event, before, after } = entry;
    if (event.type === 'turn-granted') {
      const again = isAsked ? ['asks again'] : [];
      isAsked = true;
      return event.at > now ? [...again, 'has to wait'] : again;
    }
    if (event.type === 'begun') return before.turn === undefined ? ['has no key'] : ['begins'];
    const isBefore = isAsked && before.turn !== undefined && before.turn !== 'begun';
    return isBefore && after.status === 'compensating' ? ['is over before its turn'] : [];
  });
}

/** A step that took a signal and had started with it before. */
function again(started: Set<string>, { key, round, kind }: Attempt): string[] {
  const id = `${kind} ${key}~${round}`;
  const isAgain = started.has(id);
  started.add(id);
  return isAgain ? ['called again'] : [];
}

/** What the sagas that steps started came to, after what was asked of them last. */
export function waysOfChildren(entries: readonly Entry[]): string[] {
  const asked = new Map<string, string>();
  return entries.flatMap((entry) => {
    if (entry.type !== 'child') return [];
    const { what, child } = entry;
    if (what === 'ended') return [`${asked.get(child.id)}: ${child.status}`];
    asked.set(child.id, what);
    return what === 'was to be undone' && child.status !== 'undoing' ? ['refused to be undone'] : [];
  });
}

function isUndone(entry: Entry): boolean {
  return entry.type === 'event' && entry.event.type === 'undone' && entry.after !== entry.before;
}

function isContinued({ continued }: StepState): boolean {
  return continued === true;
}

/** What became of steps, and items, with a limit over all sagas. */
export function waysOfSlots(graph: SagaGraph, entries: readonly Entry[]): string[] {
  const asked = new Set<string>();
  let isLost = false;
  return entries.flatMap((entry): string[] => {
    if (entry.type === 'crashed') isLost = true;
    if (entry.type === 'started') {
      const waits = [...entry.before.steps].some(([, step]) => awaitsSlot(step));
      return waits ? ['something begins beside what waits'] : [];
    }
    if (entry.type !== 'event') return [];
    const { event, before, after } = entry;
    if (event.type === 'slot-awaited' || event.type === 'slot-granted') {
      const isAgain = asked.has(event.step);
      asked.add(event.step);
      const ways = [...(isAgain && isLost ? ['asks again after a crash'] : []), ...asksOf(graph, entry)];
      isLost = false;
      return ways;
    }
    return [...before.steps].flatMap(([key, step]) =>
      awaitsSlot(step) ? endOfWait(stepState(after, key), key, entry) : [],
    );
  });
}

type EventEntry = Extract<Entry, { type: 'event' }>;

function asksOf(graph: SagaGraph, { event, before, after }: EventEntry): string[] {
  if (event.type !== 'slot-awaited' && event.type !== 'slot-granted') return [];
  const key = event.step;
  const step = stepState(before, key);
  if (event.type === 'slot-granted') return [before === after ? 'has a slot at once' : 'has a slot later'];
  if (before === after) return ['asks again, and waits on'];
  const node = nodeOf(graph, key);
  const ways = {
    waits: true,
    'waits as an item': key !== node.name,
    'waits as an optional step': node.optional,
    'waits though it runs at most once': !node.idempotent,
    'waits though it has a probe': node.probe !== undefined,
    'waits in a join any': node.dependents.some((name) => nodeOf(graph, name).join === 'any'),
    'waits after a delay': (node.delay ?? node.delayOf) !== undefined,
    'waits for its next attempt': step.failures > 0,
  };
  return Object.entries(ways).flatMap(([way, has]) => (has ? [way] : []));
}

/** Its wait ended without a slot. */
function endOfWait(after: StepState, key: string, { event, after: state }: EventEntry): string[] {
  if (awaitsSlot(after)) return [];
  if (event.type === 'taken-over') return ['may have begun with a lost worker'];
  if (event.type === 'operator-resolved' && event.step === key) return ['is done by an operator'];
  if (after.pruned) return ['is cut while it waits'];
  if (state.status !== 'compensating') return [];
  return [event.type === 'cancelled' ? 'is cancelled while it waits' : 'is rolled back while it waits'];
}
