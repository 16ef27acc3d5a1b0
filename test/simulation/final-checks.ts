import { stepState } from '../../libs/saga/src/machine/saga-state.js';
import { isDropped } from '../oracle/is-dropped.js';
import type { Database } from './database.js';
import { effectKey, partsOfKey } from './effect-key.js';
import type { Participants } from './participants.js';
import type { Effect } from './effect.js';
import type { MessageWorld } from './message-world.js';
import type { Promised, Violation } from './promises.js';
import { rests, whyItWaits } from './rest.js';
import type { SagaRecord } from './saga-record.js';
import type { Scenario } from './scenario.js';
import { EPOCH } from './simulated-clock.js';
import type { Started } from './started.js';
import type { InvariantChecker } from './invariant-checker.js';

export interface Remains {
  readonly checker: InvariantChecker;
  readonly participants: Participants;
  readonly database: Database;
  readonly started: readonly Started[];
  readonly messages: MessageWorld | undefined;
  readonly scenario: Pick<Scenario, 'sagas' | 'calm' | 'scheduledUntil'>;
  /** False: the time was over before everything had come to rest. */
  readonly isQuiet: boolean;
}

type Finding = [Promised, string];

/** What is wrong with what is left in the end, when everything has come to rest. */
export function finalChecks(remains: Remains): Violation[] {
  const { checker, participants, started, messages, isQuiet } = remains;
  const books = [...checker.books.values()];
  const effectsOf = bySaga(participants.effects.values());
  const findings = [
    ...(isQuiet ? [] : unrest(checker, participants)),
    ...started.flatMap((one) => wrongWithStart(one, checker)),
    ...books.flatMap((book) => [
      ...wrongWithRest(book, checker),
      ...wrongInTheEnd(book, effectsOf.get(book.id) ?? []),
      ...wrongWithChildren(book, checker),
      ...wrongWithMessages(book, checker, participants),
    ]),
    ...(messages ? wrongWithDeliveries(messages, checker) : []),
    ...wrongWithSchedules(remains),
  ];
  return findings.map(([promise, what]) => ({ promise, what, at: Infinity }));
}

/**
 * What was still in progress when the time was over. Sagas that never end, and messages, are found one by
 * one.
 */
function unrest({ books }: InvariantChecker, { effects }: Participants): Finding[] {
  const calls = [...effects.values()].filter(({ underWay }) => underWay > 0).map(({ key }) => key);
  const sagas = [...books.values()].filter((book) => !rests(book)).map(({ id }) => id);
  const what = [
    calls.length > 0 && `calls ${calls.join(', ')}`,
    sagas.length > 0 && `sagas ${sagas.join(', ')}`,
  ];
  return [['I19', `the scenario was not idle in time: ${what.filter(Boolean).join('; ') || 'messages'}`]];
}

/** Processes need so long (ms) to recover from what went wrong before. */
const RECOVERS_IN = 40_000;

/** Each tick has at most one saga. Once nothing goes wrong, each has one, unless its schedule lets an earlier saga prevent it. */
function wrongWithSchedules({ checker, scenario: { sagas, calm, scheduledUntil } }: Remains): Finding[] {
  return sagas.flatMap(({ graph: { name, schedule } }): Finding[] => {
    if (!schedule) return [];
    const ids = [...checker.books.values()]
      .filter(({ graph, correlationId }) => graph.name === name && correlationId?.startsWith('schedule:'))
      .map(({ correlationId }) => correlationId!);
    const doubled = ids.filter((id, n) => ids.indexOf(id) !== n);
    const findings = doubled.map((id): Finding => ['I39', `${id} of ${name} has started several sagas`]);
    if (schedule.overlap === 'skip') return findings;
    // A saga that takes processes down may be woken late.
    const from = EPOCH + Math.max(calm, checker.lastLossAt) + RECOVERS_IN + checker.time.ahead;
    for (let at = schedule.next(from); at <= scheduledUntil; at = schedule.next(at)) {
      const id = `schedule:${new Date(at).toISOString()}`;
      if (!ids.includes(id)) findings.push(['I39', `${id} of ${name} has started no saga`]);
    }
    return findings;
  });
}

function bySaga(effects: Iterable<Effect>): ReadonlyMap<string, Effect[]> {
  const groups = new Map<string, Effect[]>();
  for (const effect of effects) {
    const { saga } = partsOfKey(effect.key);
    const group = groups.get(saga);
    if (group) group.push(effect);
    else groups.set(saga, [effect]);
  }
  return groups;
}

/** Whatever was committed has been sent, and handled; a saga is there if its transaction has committed. */
function wrongWithDeliveries({ deliveries }: MessageWorld, { books }: InvariantChecker): Finding[] {
  const missing = [...deliveries.missing()].map(({ id, hasArrived }): Finding =>
    hasArrived ? ['I28', `${id} was never handled`] : ['I27', `${id} was committed, and never sent`],
  );
  const wrong = [...deliveries.starts].filter(
    ([id, { status }]) => (status === 'committed') !== books.has(id),
  );
  return [
    ...missing,
    ...wrong.map(([id, { status }]): Finding => [
      'I29',
      `${id} is ${books.has(id) ? '' : 'not '}there; its transaction is ${status}`,
    ]),
  ];
}

function wrongWithStart(
  { start, id, result, outcome, waits }: Started,
  { books }: InvariantChecker,
): Finding[] {
  if (!result) return [];
  const stored = result.created ? id : result.existing!.id;
  const book = books.get(stored);
  if (!book) return [['I1', `${stored} was acknowledged, and is not there`]];
  const findings: Finding[] = [];
  const { correlationId } = start;
  const same = [...books.values()].filter(
    (other) => other.correlationId === correlationId && other.graph.name === book.graph.name,
  );
  if (same.length > 1)
    findings.push(['I1', `${correlationId} is ${same.map((one) => one.id).join(' and ')}`]);
  const { status } = book.state;
  if (outcome !== undefined && outcome !== status && book.operated === 0)
    findings.push(['I20', `${stored} is ${status}; the waiter received ${outcome}`]);
  if (waits?.isAlive && outcome === undefined && rests(book))
    findings.push(['I20', `the waiter did not receive ${stored}`]);
  return findings;
}

function wrongWithRest(book: SagaRecord, { books }: InvariantChecker): Finding[] {
  const { id, state } = book;
  const { status } = state;
  const findings: Finding[] = [];
  if (!rests(book) && whyItWaits(book, books) === undefined)
    findings.push(['I19', `${id} is ${status} for ever, and nothing that it waits for needs an operator`]);
  if (status === 'completed' && book.cancelAccepted && book.operated === 1 && book.pivots.size === 0)
    findings.push(['I17', `${id} completed; its cancellation was accepted`]);
  const passed = [...book.pivots].find((name) => !isDropped(stepState(state, name)));
  if (status === 'compensated' && passed !== undefined)
    findings.push(['I22', `${id} is compensated, and ${passed} was passed`]);
  const hasFailed = [...state.steps.values()].some(
    (step) => step.status === 'failed' || step.status === 'compensation_failed',
  );
  if (
    (status === 'stuck' || status === 'suspended') &&
    !hasFailed &&
    !book.wasTakenOver &&
    !book.isDeadlocked
  )
    findings.push(['I19', `${id} is ${status}, and no step of it failed permanently`]);
  return findings;
}

/** Each effect stands, because it is wanted, or is undone. */
function wrongInTheEnd(book: SagaRecord, effects: readonly Effect[]): Finding[] {
  const { id, state, relations, byHand } = book;
  const { status } = state;
  if (status !== 'completed' && status !== 'compensated') return [];
  const findings = effects.flatMap(({ key, value, isUndone }): Finding[] => {
    const { key: item, step, round } = partsOfKey(key);
    const node = relations.node(step);
    const is = stepState(state, step);
    const isWanted = status === 'completed' && is.status === 'completed' && !is.pruned && is.round === round;
    const text = `${item}~${round} of ${id}, which is ${status},`;
    if (isWanted && isUndone) return [['I16', `${text} is undone, and wanted`]];
    const stands = value !== undefined && !isUndone;
    if (!isWanted && stands && node.compensate !== undefined && !byHand.has(`${item}~${round}`))
      return [['I16', `${text} is left behind`]];
    return [];
  });
  if (status !== 'completed') return findings;
  const done = new Set(effects.filter(({ value }) => value !== undefined).map(({ key }) => key));
  for (const node of relations.nodes) {
    const { status: is, pruned, round, items } = stepState(state, node.name);
    if (is !== 'completed' || pruned || node.kind === 'sub-saga') continue;
    for (const key of items?.map((_, n) => `${node.name}[${n}]`) ?? [node.name]) {
      if (!done.has(effectKey(id, key, round)) && !byHand.has(`${key}~${round}`))
        findings.push(['I16', `${key} of ${id}, which is completed, was never done`]);
    }
  }
  return findings;
}

/** The outbox has all messages of each step that its method completed or compensated, and no others. */
function wrongWithMessages(
  { id, results, byHand, relations, undone }: SagaRecord,
  { messages }: InvariantChecker,
  participants: Participants,
): Finding[] {
  const keyOf = (step: string) => `${id}:${step.replace(/~1$/, '')}`;
  const findings: Finding[] = [];
  const check = (key: string, isOpen: boolean) => {
    const [is, all] = [messages.publishedBy(key), participants.publishedBy(key)];
    if (is !== all && !(isOpen && is === 0))
      findings.push(['I25', `of ${key} ${is ?? 'those of several calls'} are in the outbox, not ${all}`]);
  };
  for (const step of results.keys()) {
    const node = relations.node(step.replace(/~\d+$/, ''));
    const isWhole = node.forEach && !/\]~\d+$/.test(step);
    // A result from a probe or an operator has published nothing.
    if (!isWhole && node.kind !== 'sub-saga')
      check(keyOf(step), byHand.has(step) || node.probe !== undefined);
  }
  for (const step of undone) {
    const node = relations.node(step.replace(/~\d+$/, ''));
    const isWhole = node.forEach && !/\]~\d+$/.test(step);
    if (!isWhole && node.compensate !== undefined)
      check(`${keyOf(step)}:compensate`, byHand.has(step) || node.kind === 'sub-saga');
  }
  return findings;
}

function wrongWithChildren({ id, state, byHand }: SagaRecord, { books }: InvariantChecker): Finding[] {
  const { status } = state;
  if (status !== 'completed' && status !== 'compensated') return [];
  return [...state.steps].flatMap(([key, { child, pruned, status: is, round }]): Finding[] => {
    const book = child && books.get(child.id);
    if (!child || byHand.has(`${key}~${round}`)) return [];
    if (!book) return [['I21', `${child.id}, which ${key} of ${id} started, is not there`]];
    const isWanted = status === 'completed' && is === 'completed' && !pruned;
    const isThere = book.state.status === 'completed';
    if (isWanted === isThere || (isWanted && book.operated > 0)) return [];
    return [['I21', `${child.id} is ${book.state.status}; ${key} of ${id} is ${is}, and ${id} ${status}`]];
  });
}
