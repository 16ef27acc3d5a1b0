import { isDeepStrictEqual } from 'node:util';
import type { SagaGraph } from '../../libs/saga/src/definition/graph/saga-graph.js';
import { decodeResults } from '../../libs/saga/src/engine/payload/decode-results.js';
import { decide } from '../../libs/saga/src/machine/decide.js';
import type { Action } from '../../libs/saga/src/machine/plan.js';
import { describeEntry } from '../oracle/describe-run.js';
import { evolve } from '../../libs/saga/src/machine/evolve.js';
import { goesOn } from '../../libs/saga/src/machine/failures.js';
import type { Attempt, Entry, Play } from '../oracle/model-entries.js';
import { PlayedSignals } from '../oracle/model-signals.js';
import { describeGraph, type Move, type RandomGraph } from '../oracle/random-graph.js';
import type { SagaEvent } from '../../libs/saga/src/machine/saga-event.js';
import {
  INITIAL,
  isSettled,
  isTerminal,
  type SagaState,
  stepState,
} from '../../libs/saga/src/machine/saga-state.js';
import { answerOf, itemsThatMayBegin, STARTED } from './action-answers.js';
import { scriptedOutcome } from './scripted-outcome.js';
import { becomes, type Call, type CallQueue } from './held-calls.js';
import { differenceOf } from './state-diff.js';

/** Takeovers without progress after which a saga is stuck. */
export const MAX_TAKEOVERS = 5;

/** Signals that are sent as soon as the saga is there. */
const EARLY = 2;
const PROGRESS: Move = { kind: 'succeed', pick: 0, random: 0.5 };

export interface Held {
  readonly attempt: Attempt;
  readonly call: Call;
}

/**
 * Runs a real saga and the pure machine side by side. Each call of a method is held until the test sets its
 * result. After each end, exactly the calls that the machine predicts must come, with its keys, rounds,
 * attempts and results. Then the stored state must equal the state of the machine. What happened is
 * written down as a play, for the oracles that know nothing of the machine.
 */
export class LockstepSaga implements Play {
  readonly entries: Entry[] = [];
  readonly start = INITIAL;
  protected readonly graph: SagaGraph;
  protected state: SagaState = INITIAL;
  /** As of the last checkpoint. */
  protected stored: SagaState = INITIAL;
  protected readonly script: Move[];
  protected inProgress: Held[] = [];
  /** Calls whose result the engine no longer waits for. */
  protected dropped: Call[] = [];
  /** Calls in progress when an operator ended the saga. Their start was never recorded. */
  protected cutShort: ReadonlySet<string> = new Set();
  protected now = 1_000;
  private takeovers = 0;
  private readonly signals: PlayedSignals;

  constructor(
    saga: RandomGraph,
    readonly id: string,
    private readonly calls: CallQueue,
    private readonly load: () => Promise<SagaState>,
  ) {
    this.graph = saga.graph;
    this.script = [...saga.moves];
    this.signals = new PlayedSignals(saga.graph, INITIAL, (sent) => {
      this.entries.push('number' in sent ? { type: 'sent', signal: sent } : sent);
    });
  }

  get end(): SagaState {
    return this.state;
  }

  /** The calls that are held. */
  get held(): readonly Held[] {
    return this.inProgress;
  }

  /** Its graph and what has happened, for people. */
  story(at = Infinity): string {
    const entries = this.entries.slice(0, at + 1).flatMap(describeEntry);
    return [...describeGraph(this.graph), '', ...entries, `it is ${this.state.status}`].join('\n');
  }

  /** Runs until the saga is permanently idle, or until this many moves and their consequences are done. */
  async play(moves = Infinity): Promise<void> {
    await this.sendEarly();
    for (let made = 0; ; made += 1) {
      await this.follow();
      if (isSettled(this.state.status)) {
        if (!(await this.operate())) return;
      } else {
        if (made >= moves) return;
        await this.move(this.script.shift() ?? PROGRESS);
      }
    }
  }

  /** The worker releases the saga while calls are running, and another continues. */
  interrupted(): void {
    if (isSettled(this.state.status)) return;
    this.letGo();
    this.checkpoint({ type: 'interrupted', now: this.now });
  }

  /** The worker is lost. Its work after the last checkpoint is unknown, and another takes over. */
  crashed(): void {
    if (isSettled(this.state.status)) return;
    this.letGo();
    this.state = this.stored;
    this.entries.push({ type: 'crashed' });
    this.takeovers += 1;
    this.giveSignals();
    this.apply({ type: 'taken-over', count: this.takeovers, bound: MAX_TAKEOVERS, now: this.now });
    const { status, round, rollbackTo } = this.stored;
    const { state } = this;
    if (status !== state.status || round !== state.round || rollbackTo !== state.rollbackTo) this.record();
  }

  /** What follows from what has happened: the machine says it, and it has to happen. */
  private async follow(): Promise<void> {
    while (!isSettled(this.state.status)) {
      this.giveSignals();
      const decision = decide(this.graph, this.state, this.now);
      this.entries.push({
        type: 'decision',
        decision,
        state: this.state,
        now: this.now,
        known: this.signals.received,
      });
      const { settle, events = [], actions, wakeAt } = decision;
      if (settle === 'resumed') this.checkpoint({ type: 'resumed' });
      else if (settle) this.checkpoint({ type: 'settled', status: settle });
      else if (events.length > 0) this.checkpoint(...events);
      else if (actions.length > 0) await this.begin(actions);
      else if (wakeAt !== undefined) this.now = wakeAt;
      else if (!(await this.sendWhatIsAwaited())) break;
    }
    await becomes(async () => this.wrongWith(await this.load()));
  }

  /** Steps take what was sent for them. */
  private giveSignals(): void {
    for (let event = this.nextSignal(); event; event = this.nextSignal()) this.apply(event);
  }

  private nextSignal(): SagaEvent | undefined {
    return this.signals.next(this.state, this.now);
  }

  /** Sometimes only once nothing else is running. @returns false if nothing was */
  private async sendWhatIsAwaited(): Promise<boolean> {
    const [name] = this.signals.awaitedBy(this.state);
    const isLater = this.inProgress.length > 0 && this.entries.length % 3 === 0;
    if (name === undefined || isLater) return false;
    await this.sendNext(name);
    return true;
  }

  /** What is sent before anything waits for it is kept. */
  private async sendEarly(): Promise<void> {
    const name = [...this.graph.steps.values()].find(({ wait }) => wait)?.wait!.signal;
    if (name === undefined || this.signals.received.length > 0 || this.endsAtOnce()) return;
    for (let n = 0; n < EARLY; n += 1) await this.sendNext(name);
  }

  /** Its conditions end it, before anything is called or waits: it does not wait for the test either. */
  private endsAtOnce(): boolean {
    let { state, now } = this;
    for (;;) {
      if (isTerminal(state.status)) return true;
      const { settle, events = [], actions, wakeAt } = decide(this.graph, state, now);
      if (settle) return true;
      const answers = actions.map((action) => answerOf(action, state)?.(now));
      const known = [...events, ...answers.flatMap((answer) => answer ?? [])];
      if (answers.includes(undefined) || this.signals.awaitedBy(state).length > 0) return false;
      if (known.length === 0 && wakeAt === undefined) return false;
      // A delay passes without the test.
      if (known.length === 0) now = wakeAt!;
      for (const event of known) state = evolve(this.graph, state, event);
    }
  }

  private async sendNext(name: string): Promise<void> {
    this.signals.sendTo(this.state, name, { isRefusal: false, pick: 0 });
    this.signals.look();
    const { payload } = this.signals.received.at(-1)!;
    await this.send(name, JSON.parse(payload));
  }

  protected async send(_name: string, _payload: unknown): Promise<void> {
    throw new Error('This saga has no sender');
  }

  private wrongWith(stored: SagaState): string | undefined {
    if (this.calls.left.length > 0) return `unexpected calls: ${this.calls.left.join(', ')}`;
    return differenceOf(stored, this.stored, new Set([...this.keysInProgress(), ...this.cutShort]));
  }

  private async begin(actions: readonly Action[]): Promise<void> {
    const asked = actions.map((action) => ({ action, answer: answerOf(action, this.state) }));
    const started: Held[] = [];
    const ready = asked.filter(({ answer }) => answer === undefined).map(({ action }) => action);
    // Which of a fan-out's items go first depends on what is due first.
    const items = new Map(ready.map(({ node }) => [node, itemsThatMayBegin(this.graph, this.state, node)]));
    for (const action of ready) {
      const others = action.index === undefined ? [action] : items.get(action.node)!;
      const isOne = ({ kind, key }: Call) => others.some((one) => one.kind === kind && one.key === key);
      const call = await this.calls.take(isOne, others.map(({ kind, key }) => `${kind} ${key}`).join(' or '));
      const { round } = stepState(this.state, action.node.name);
      const chosen = others.find(({ kind, key }) => kind === call.kind && key === call.key)!;
      started.push({ attempt: { ...chosen, node: action.node, round }, call });
    }
    // In an order that is the same each time, so that a seed gives the same play again.
    started.sort((a, b) => (a.attempt.key < b.attempt.key ? -1 : 1));
    for (const held of started) this.began(held);
    for (const { call, attempt } of started) this.check(call, attempt);
    if (started.some(({ attempt: { kind, node } }) => kind === 'run' && !node.idempotent)) this.record();
    for (const { action, answer } of asked) if (answer) this.answered(action, answer(this.now));
  }

  private began(held: Held): void {
    const { attempt } = held;
    const before = this.state;
    // What has begun was due.
    this.now = Math.max(this.now, stepState(before, attempt.key).retryAt ?? 0);
    this.apply({ type: STARTED[attempt.kind as keyof typeof STARTED], step: attempt.key });
    if (this.state === before) throw new Error(`${attempt.kind} ${attempt.key} must not begin`);
    this.entries.push({ type: 'started', attempt, before, after: this.state });
    this.inProgress.push(held);
  }

  private answered({ node, key }: Action, events: readonly SagaEvent[]): void {
    const { round } = stepState(this.state, key);
    // The answer to another one has ended the way forward.
    if (evolve(this.graph, this.state, events[0]!) === this.state) return;
    const failed = events.some(({ type }) => type === 'step-failed');
    const attempt: Attempt = { kind: 'run', node, key, round };
    if (failed) this.entries.push({ type: 'took effect', attempt, effect: 'none' });
    this.checkpoint(...events);
  }

  /** Checks the context that the method receives. */
  private check(call: Call, { kind, key, round }: Attempt): void {
    const step = stepState(this.state, key);
    const isUndoing = kind === 'compensate';
    const again = round > 1 ? `~${round}` : '';
    const should: Partial<Call> = {
      round,
      attempt: isUndoing ? step.compensationAttempts : step.attempts,
      idempotencyKey: `${this.id}:${key}${again}${isUndoing ? ':compensate' : ''}`,
      result: isUndoing && step.result !== undefined ? JSON.parse(step.result) : undefined,
      results: decodeResults(this.state),
      payload: isUndoing || step.wait?.payload === undefined ? undefined : JSON.parse(step.wait.payload),
    };
    for (const [what, value] of Object.entries(should)) {
      const received = call[what as keyof Call];
      if (!isDeepStrictEqual(asStored(received), asStored(value)))
        throw new Error(
          `${kind} ${key}~${round} receives the ${what} ${JSON.stringify(received)}, should be ${JSON.stringify(value)}`,
        );
    }
  }

  protected keysInProgress(): ReadonlySet<string> {
    return new Set(this.inProgress.map(({ attempt }) => attempt.key));
  }

  protected async move(move: Move): Promise<void> {
    await this.endOne(this.picked(move), move);
  }

  protected picked({ pick }: Move): Held {
    const sorted = this.inProgress.toSorted((a, b) => (a.attempt.key < b.attempt.key ? -1 : 1));
    return sorted[pick % sorted.length]!;
  }

  /** One of the calls ends, as the move says. */
  private async endOne(held: Held, move: Move): Promise<void> {
    const { attempt, call } = held;
    const { kind, node, key } = attempt;
    const isUnwanted = kind === 'run' && !goesOn(this.graph, this.state, node.name);
    const isInDoubt = stepState(this.state, key).unknown;
    if (isUnwanted) await becomes(() => (call.aborted ? undefined : `${key} is not aborted`));
    else if (call.aborted) throw new Error(`${kind} ${key} is aborted, but required`);
    this.inProgress = this.inProgress.filter((other) => other !== held);
    const value = `${key} ${this.entries.length}`;
    const outcome = scriptedOutcome(attempt, move, { isUnwanted, isInDoubt }, value);
    call.end(outcome.ending);
    if (outcome.found) {
      const isProbe = (other: Call) => other.kind === 'probe' && other.key === key;
      const probe = await this.calls.take(isProbe, `probe ${key}, right after it`);
      // The probe receives the same context as its attempt.
      const { results, attempt: number, idempotencyKey } = call;
      const same = isDeepStrictEqual(
        [probe.results, probe.attempt, probe.idempotencyKey],
        [results, number, idempotencyKey],
      );
      if (!same) throw new Error(`the probe of ${key} receives another context than its attempt`);
      probe.end({ type: 'return', value: outcome.found });
    }
    const result = outcome.effect === 'done' && kind !== 'compensate' ? JSON.stringify(value) : undefined;
    this.entries.push({ type: 'took effect', attempt, effect: outcome.effect, result });
    this.checkpoint(outcome.event(this.now));
  }

  /** A move on a saga that needs an operator. @returns false if no operator acts */
  protected async operate(): Promise<boolean> {
    return false;
  }

  /** Ends the calls that the engine no longer waits for. They change nothing. */
  async endLate(): Promise<void> {
    for (const call of this.dropped.splice(0)) call.end({ type: 'return', value: 'late' });
    await this.follow();
  }

  protected letGo(): void {
    for (const { attempt, call } of this.inProgress) {
      this.dropped.push(call);
      if (!attempt.node.transactional) this.entries.push({ type: 'took effect', attempt, effect: 'maybe' });
    }
    this.inProgress = [];
  }

  protected checkpoint(...events: SagaEvent[]): void {
    for (const event of events) this.apply(event);
    this.record();
  }

  protected apply(event: SagaEvent): void {
    const before = this.state;
    this.state = evolve(this.graph, before, event);
    this.entries.push({ type: 'event', event, before, after: this.state, late: false });
  }

  private record(): void {
    this.takeovers = 0;
    const steps = [...this.state.steps].map(([key, step]) => [key, { ...step, active: false }] as const);
    this.stored = { ...this.state, steps: new Map(steps) };
    this.entries.push({ type: 'recorded' });
  }
}

function asStored(value: unknown): unknown {
  return JSON.parse(JSON.stringify({ value }));
}
