import { type Book, copyOf, emptyBook, Relations, Rules } from './model-state.js';
import { type Expectation, expectation } from './expectation.js';
import { ApprovalOracle } from './approvals-oracle.js';
import { booksAfter } from './apply-event.js';
import { freeSlots } from './graph-slots.js';
import type { Entry, Play } from './model-entries.js';
import type { RandomGraph } from './random-graph.js';
import { type SagaState, stepState } from '../../libs/saga/src/machine/saga-state.js';
import type { MachineDecision } from '../../libs/saga/src/machine/plan.js';
import { resultOf } from '../../libs/saga/src/machine/step-endings.js';

/** What the machine did against its rules, and where in the play. */
export interface Violation {
  readonly promise: Promised;
  readonly what: string;
  readonly at: number;
}

/** By the rules alone: what comes next, and what becomes of it. */
export const RULED = [
  'begins nothing before it is ready',
  'holds up nothing that is ready',
  'undoes nothing that is not to be undone, and nothing too early',
  'holds up nothing that may be undone',
  'runs exactly as many items of a fan-out as itemsAtOnce allows',
  'delays what is to be delayed, once',
  'wakes for what is due, when it is due',
  'comes to rest when nothing is left, and as it should',
  'is past its deadline when it is, unless a pivot has passed',
  'goes forward, rolls back or returns to a savepoint as it should',
  'cuts what lost a join any, and nothing else',
  'counts the rounds',
  'keeps results as they were given, those of items in their order',
  'always comes to rest',
  'waits for what is to be waited for, until its time is over',
  'takes a signal once, in order, as soon as a step waits for it, and keeps the others',
  'goes on without an optional step that failed permanently, and without no other',
  'begins when its rate limit lets it, asks again when it comes too late, and does nothing before',
  'takes the approvals of so many different operators for one decision, and one rejection',
  'begins a step with a limit over all sagas with a slot alone, and does everything else meanwhile',
  'waits for a slot for each attempt, until it has one or the step is not to begin any more',
] as const;
export type Promised = (typeof RULED)[number] | (string & {});

/** Reads a play from its beginning, with a book of its own, and says where the machine left the rules. */
export function judge({ graph }: RandomGraph, play: Play): Violation | undefined {
  return new Judge(new Relations(graph), play).violation();
}

/** Several books where the rules leave something open: the machine has to fit one of them. */
class Judge {
  private books: Book[];
  private readonly approvals: ApprovalOracle;
  private stored: Book[];

  constructor(
    private readonly relations: Relations,
    private readonly play: Play,
  ) {
    this.approvals = new ApprovalOracle(relations);
    this.books = this.stored = [emptyBook(play.start.deadline)];
  }

  violation(): Violation | undefined {
    for (const [at, entry] of this.play.entries.entries()) {
      const found = this.read(entry);
      if (found) return { ...found, at };
    }
    return undefined;
  }

  private read(entry: Entry): Omit<Violation, 'at'> | undefined {
    switch (entry.type) {
      case 'event': {
        const { event, before, after, late } = entry;
        if (late) return before === after ? undefined : found('changes nothing that ends late', event.type);
        const books = this.books.flatMap((book) => booksAfter(this.relations, book, event, before !== after));
        return this.narrow(books, (book) => this.unlike(book, after));
      }
      case 'decision':
        return this.narrow(this.books, (book) => {
          const expected = expectation(this.relations, book, entry.now);
          const rules = new Rules(this.relations, book);
          const left = entry.known.find(({ name, number }) => rules.takerOf(name, number));
          if (left) return found(RULED[15], `${left.name} ${left.number} is not taken`);
          return unexpected(entry, expected, rules);
        });
      case 'recorded':
        this.stored = this.books.map(withoutAttempts);
        return undefined;
      case 'crashed':
        this.books = this.stored.map(copyOf);
        return undefined;
      case 'started':
        return foundIf(RULED[19], this.startedWithoutSlot(entry));
      case 'decided':
        return foundIf(RULED[18], this.approvals.decided(entry, this.stored));
      case 'sent':
        return foundIf(RULED[18], this.approvals.signalled(entry.signal));
      case 'gave no end':
        return found('always comes to rest', entry.why);
      default:
        return undefined;
    }
  }

  /** C1. */
  private startedWithoutSlot({ attempt }: Extract<Entry, { type: 'started' }>): string | undefined {
    const { kind, node, key } = attempt;
    if (kind !== 'run' || node.limit === undefined) return undefined;
    const has = this.books.some((book) => new Rules(this.relations, book).life(key).slot?.is === 'taken');
    return has ? undefined : `${key} starts without a slot`;
  }

  /** Keeps the books that fit; if there are none, says what is wrong by the first. */
  private narrow(
    books: Book[],
    check: (book: Book) => Omit<Violation, 'at'> | undefined,
  ): Omit<Violation, 'at'> | undefined {
    const results = books.map((book) => ({ book, wrong: check(book) }));
    const fitting = results.filter(({ wrong }) => wrong === undefined);
    if (fitting.length === 0) return results[0]?.wrong ?? found(RULED[9], 'a call that fits was refused');
    this.books = fitting.map(({ book }) => book);
    return undefined;
  }

  private unlike(book: Book, state: SagaState): Omit<Violation, 'at'> | undefined {
    const expected = book.mode === 'returning' ? `back to ${book.target}` : book.mode;
    const turning = state.rollbackTo === undefined ? 'compensating' : `back to ${state.rollbackTo}`;
    const over = ['completed', 'compensated', 'aborted'].includes(state.status);
    const actual = state.status === 'compensating' ? turning : over ? 'over' : state.status;
    if (actual !== expected) return found(RULED[9], `is ${actual}, and should be ${expected}`);
    if (book.round !== state.round) return found(RULED[11], `round ${state.round}, not ${book.round}`);
    const rules = new Rules(this.relations, book);
    const unheard = wrongWithWaits(rules, state);
    if (unheard !== undefined) return found(RULED[15], unheard);
    const unslotted = wrongWithSlots(rules, state);
    if (unslotted !== undefined) return found(RULED[20], unslotted);
    for (const node of this.relations.nodes) {
      const { round, pruned, continued = false } = stepState(state, node.name);
      const life = rules.life(node.name);
      if (round !== life.round) return found(RULED[11], `${node.name} in round ${round}, not ${life.round}`);
      for (const key of rules.keys(node)) {
        const item = stepState(state, key);
        if (item.status !== 'pending' && item.round !== round)
          return found(RULED[11], `${key} in round ${item.round}, its step in ${round}`);
      }
      const isPruned = rules.isPruned(node.name);
      if (book.mode === 'running' && pruned !== isPruned)
        return found(RULED[10], `${node.name} is ${pruned ? '' : 'not '}pruned, and should be the contrary`);
      if (continued !== (life.continued ?? false))
        return found(
          RULED[16],
          `${node.name} is ${continued ? '' : 'not '}dropped, and should be the contrary`,
        );
      if (life.phase === 'completed' && rules.goesForward(node)) {
        const result = resultOf(state, node.name);
        if (result !== life.result) return found(RULED[12], `${node.name}: ${result}, not ${life.result}`);
      }
    }
    return undefined;
  }
}

function unexpected(
  { decision, now }: Extract<Entry, { type: 'decision' }>,
  expected: Expectation,
  rules: Rules,
): Omit<Violation, 'at'> | undefined {
  const { settle, events = [], wakeAt } = decision;
  const slotless = withoutSlot(decision, rules);
  if (slotless !== undefined) return found(RULED[19], slotless);
  const expired = events.some(({ type }) => type === 'expired');
  if (expired !== expected.expired) {
    // What only waits for its last attempts to settle may be found to be past its deadline first, or not.
    if (!rules.isHalted() && !rules.isAllDone())
      return found(RULED[8], `${expired ? '' : 'not '}expired at ${now}`);
  }
  if (expired) return undefined;
  if (settle !== undefined && !expected.settle.includes(settle))
    return found(RULED[7], `${settle}, not ${expected.settle.join(' or ') || 'going on'}`);
  if (settle !== undefined) return undefined;

  const actions = decision.actions.map(({ kind, key }) => `${kind} ${key}`);
  const due = [...expected.must, ...expected.may, ...expected.groups.flatMap(({ keys }) => keys)];
  const isUndoing = (action: string) => /^(compensate|cancel-child|undo-child) /.test(action);
  const tooMuch = actions.find((action, index) => !due.includes(action) || actions.indexOf(action) !== index);
  if (tooMuch !== undefined) return found(isUndoing(tooMuch) ? RULED[2] : RULED[0], tooMuch);
  const missing = expected.must.find((action) => !actions.includes(action));
  if (missing !== undefined) return found(isUndoing(missing) ? RULED[3] : RULED[1], `not: ${missing}`);
  for (const { keys, room } of expected.groups) {
    const chosen = keys.filter((action) => actions.includes(action)).length;
    const should = Math.min(room, keys.length);
    if (chosen === should) continue;
    const text = `${chosen} of ${keys.join(', ')}, should be ${should}`;
    return found(keys.length === 1 ? (isUndoing(keys[0]!) ? RULED[3] : RULED[1]) : RULED[4], text);
  }
  const waits = events.flatMap((event) =>
    event.type === 'wait-started' || event.type === 'wait-expired' ? [`${event.type} ${event.step}`] : [],
  );
  if (waits.join() !== expected.waits.join())
    return found(RULED[14], `[${waits.join()}], not [${expected.waits.join()}]`);
  const begins = events.some(({ type }) => type === 'begun');
  if (begins !== expected.begins)
    return found(RULED[17], `${begins ? 'begins' : 'does not begin'} at ${now}`);
  const others = events.filter(({ type }) => !['wait-started', 'wait-expired', 'begun'].includes(type));
  const delays = others.map((event) => (event.type === 'delay-started' ? event.step : event.type));
  if (delays.join() !== expected.delays.join())
    return found(RULED[5], `delays [${delays.join()}], not [${expected.delays.join()}]`);
  const goesOn = actions.length > 0 || wakeAt !== undefined || expected.rests;
  if (expected.settle.length > 0 && !(expected.settleIsOpen && goesOn))
    return found(RULED[7], `goes on, should be ${expected.settle.join(' or ')}`);
  const wake = Math.min(...expected.wakes);
  const oversleeps = expected.wakes.length > 0 && (wakeAt === undefined || wakeAt > wake);
  // No sooner either, where nothing is left open: which items of a fan-out there is room for is.
  const isOpen = expected.may.length > 0 || rules.of.nodes.some(({ forEach }) => forEach);
  const isEarly = !isOpen && wakeAt !== undefined && !(wakeAt >= wake);
  if (oversleeps || isEarly || (wakeAt !== undefined && wakeAt <= now))
    return found(RULED[6], `wakes at ${wakeAt}, not ${wake}, now ${now}`);
  return undefined;
}

/** C1: what waits for a slot does not begin, and its saga does not end. */
function withoutSlot({ actions, settle }: MachineDecision, rules: Rules): string | undefined {
  const begun = actions.find(({ kind, key }) => kind === 'run' && rules.awaitsSlot(key));
  if (begun) return `${begun.key} begins without a slot`;
  if (settle === undefined || rules.book.mode !== 'running' || rules.isHalted()) return undefined;
  const waits = rules.allKeys().find((key) => rules.awaitsSlot(key));
  return waits ? `${settle}, and ${waits} waits` : undefined;
}

/** C1, C2: who waits for a slot, since when. */
function wrongWithSlots(rules: Rules, state: SagaState): string | undefined {
  const limited = rules.of.nodes.filter(({ limit }) => limit !== undefined);
  for (const key of limited.flatMap((node) => rules.keys(node))) {
    const { status, slot } = stepState(state, key);
    const waits = status === 'waiting' && slot !== undefined;
    if (waits !== rules.awaitsSlot(key))
      return `${key} ${waits ? 'waits' : 'does not wait'} for a slot, and should do the contrary`;
    const { slot: known } = rules.life(key);
    if (waits && (slot.since !== known!.since || slot.key !== known!.key))
      return `${key} waits since ${slot.since} for ${slot.key}, not since ${known!.since} for ${known!.key}`;
  }
  return undefined;
}

/** Who waits, until when, and what was taken by whom. */
function wrongWithWaits(rules: Rules, { steps, lastTakenSignals = {} }: SagaState): string | undefined {
  for (const name of new Set([...rules.book.lastTaken.keys(), ...Object.keys(lastTakenSignals)])) {
    if (rules.book.lastTaken.get(name) !== lastTakenSignals[name])
      return `${name} was taken up to ${lastTakenSignals[name]}, not ${rules.book.lastTaken.get(name)}`;
  }
  for (const node of rules.of.nodes) {
    if (node.wait === undefined) continue;
    const { status, wait } = steps.get(node.name) ?? {};
    const isWaiting = status === 'waiting' && wait !== undefined && wait.takenSignal === undefined;
    const life = rules.life(node.name);
    if (isWaiting !== rules.isWaiting(node))
      return `${node.name} ${isWaiting ? 'waits' : 'does not wait'}, and should do the contrary`;
    if (isWaiting && wait.quorum !== node.wait.quorum)
      return `${node.name} waits for ${wait.quorum} approvals, not ${node.wait.quorum}`;
    if (isWaiting && (wait.until !== life.wait!.until || wait.signal !== node.wait.signal))
      return `${node.name} waits for ${wait.signal} until ${wait.until}, not ${life.wait!.until}`;
    const goesOn = life.phase === 'idle' || life.phase === 'running';
    if (goesOn && rules.goesForward(node) && wait?.takenSignal !== life.wait?.number)
      return `${node.name} has taken ${wait?.takenSignal}, not ${life.wait?.number}`;
  }
  return undefined;
}

/** The stored state records only the start of attempts in progress, and no slots. */
function withoutAttempts(book: Book): Book {
  const copy = copyOf(book);
  freeSlots(copy);
  for (const life of copy.lives.values()) life.active = false;
  return copy;
}

function foundIf(promise: Promised, what: string | undefined): Omit<Violation, 'at'> | undefined {
  return what === undefined ? undefined : found(promise, what);
}

function found(promise: Promised, what: string): Omit<Violation, 'at'> {
  return { promise, what };
}
