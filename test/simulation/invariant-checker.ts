import { isDeepStrictEqual } from 'node:util';
import { type SagaGraph, sagaLabel, type StepNode } from '../../libs/saga/src/definition/graph/saga-graph.js';
import type { ClaimRequest, Edit, StartResult } from '../../libs/saga/src/engine/ports/saga-store.js';
import type { Checkpoint } from '../../libs/saga/src/engine/ports/checkpoint.js';
import type {
  HeldLease,
  Lease,
  NewSaga,
  StoredSaga,
  StoredSignal,
} from '../../libs/saga/src/engine/ports/stored-saga.js';
import { isSettled, isTerminal, type SagaState, stepState } from '../../libs/saga/src/machine/saga-state.js';
import { isDropped } from '../oracle/is-dropped.js';
import { DatabaseTime } from './clock-steps.js';
import { describeState } from './describe-state.js';
import { DurationChecker } from './duration-checker.js';
import { effectKey, effectKeyOf, partsOfKey } from './effect-key.js';
import { hasAdvanced } from './has-advanced.js';
import { HeartbeatChecker } from './heartbeat-checker.js';
import { LockChecker } from './lock-checker.js';
import { mayBegin } from './may-begin.js';
import { SlotChecker } from './slot-checker.js';
import { MessageChecker } from './message-checker.js';
import type { CallContext, Effect } from './effect.js';

import type { Promised, Violation } from './promises.js';
import { MAX_TAKEOVERS } from './scenario.js';
import { SagaRecord } from './saga-record.js';
import type { Timeline } from './timeline.js';

/** The database's clock counts from another beginning (ms). */
const ROUNDING = 0.001;

export interface Called {
  readonly kind: 'run' | 'undo' | 'probe';
  readonly node: StepNode;
  readonly ctx: CallContext;
  readonly worker: string;
  /** What a step that waits was sent. */
  readonly payload: unknown;
}

/**
 * Sees every statement that the database executes, and every call of a method, and holds them against the
 * promises.
 * It knows nothing of the machine: what follows from what is read off the graph.
 */
export class InvariantChecker {
  readonly books = new Map<string, SagaRecord>();
  readonly violations: Violation[] = [];
  readonly log: string[] = [];
  /** Ids of sagas whose methods take their worker down. */
  readonly fatal = new Set<string>();
  effects: ReadonlyMap<string, Effect> = new Map();
  private readonly begun = new Map<string, number[]>();
  readonly messages: MessageChecker;
  readonly locks: LockChecker;
  readonly slots: SlotChecker;
  readonly heartbeats: HeartbeatChecker;
  private readonly durations: DurationChecker;
  /** When a process was gone last, by the timeline. */
  lastLossAt = -Infinity;
  /** The database's clock. */
  readonly time: DatabaseTime;
  /** Called for each attempt of a pivot, as it starts. */
  onPivot: (id: string) => void = () => undefined;

  constructor(
    private readonly timeline: Timeline,
    private readonly graphs: ReadonlyMap<string, SagaGraph>,
    /** Answers take less than a permit of a rate limit is good for. */
    private readonly isQuick: boolean,
    private readonly isLogging: boolean,
  ) {
    const violate = (promise: Promised, what: string) => this.violate(promise, what);
    this.time = new DatabaseTime(timeline);
    this.durations = new DurationChecker(this.time, violate);
    this.messages = new MessageChecker(this.time, violate);
    this.locks = new LockChecker(this.books, violate);
    this.slots = new SlotChecker(violate, () => this.time.now);
    this.heartbeats = new HeartbeatChecker(timeline, violate);
  }

  note(text: () => string): void {
    if (this.isLogging) this.log.push(`${this.timeline.now.toFixed(1).padStart(9)}  ${text()}`);
  }

  violate(promise: Promised, what: string): void {
    this.violations.push({ promise, what, at: this.timeline.now });
    this.note(() => `VIOLATION ${promise}: ${what}`);
  }

  isFatal(id: string): boolean {
    return this.fatal.has(id);
  }

  /** A process is asked to start it. */
  submitted(id: string): void {
    this.durations.submitted(id);
  }

  started(saga: NewSaga & { parent?: { id: string } }, result: StartResult | undefined, lease: Lease): void {
    if (result && !result.created) return;
    if (this.books.has(saga.id)) return;
    const book = new SagaRecord(
      saga.id,
      this.graphs.get(sagaLabel(saga))!,
      saga.lockKey,
      saga.parent?.id,
      saga.correlationId,
      saga.limitKey,
    );
    this.durations.stored(book, saga);
    this.books.set(saga.id, book);
    this.note(() => `${saga.id} (${saga.name}) is stored${result?.leased ? ` for ${lease.worker}` : ''}`);
    if (!result?.leased) return;
    Object.assign(book, { epoch: 1, holder: lease.worker, leaseEnds: this.time.now + lease.duration });
  }

  /** A claim takes sagas, in any order. A sub-saga among them enters the lock of its ancestor. */
  claimed(sagas: readonly StoredSaga[], request: ClaimRequest): void {
    const depthOf = (id: string): number => {
      const parent = this.books.get(id)?.parent;
      return parent === undefined ? 0 : 1 + depthOf(parent);
    };
    for (const saga of sagas.toSorted((one, other) => depthOf(one.id) - depthOf(other.id)))
      this.claimedOne(saga, request);
    // Whatever it took, it has fenced the leases of its kinds of sagas that had ended. They do not come back when the clock is set back.
    const names = new Set(request.sagas.map(({ name }) => name));
    for (const book of this.books.values())
      if (names.has(book.graph.name) && book.leaseEnds - ROUNDING <= this.time.now)
        book.leaseEnds = -Infinity;
  }

  private claimedOne(saga: StoredSaga, { lease, sagas }: ClaimRequest): void {
    const book = this.books.get(saga.id)!;
    this.note(() => `${lease.worker} claims ${saga.id}, epoch ${saga.epoch}, takeovers ${saga.takeovers}`);
    if (saga.epoch <= book.epoch)
      this.violate('I5', `${saga.id} is claimed under epoch ${saga.epoch}, after ${book.epoch}`);
    if (book.holder !== undefined) {
      book.wasTakenOver = true;
      if (book.holder !== lease.worker) book.overtaken.add(book.holder);
      if (this.time.now < book.leaseEnds - ROUNDING)
        this.violate('I5', `${saga.id} is claimed by ${lease.worker} while it is leased to ${book.holder}`);
    }
    Object.assign(book, {
      epoch: saga.epoch,
      holder: lease.worker,
      leaseEnds: this.time.now + lease.duration,
    });
    const hadLock = book.lockHeld;
    book.lockHeld = saga.lock?.held ?? false;
    this.locks.claimed(book, hadLock);
    const claimable = sagas.find(({ name, version }) => name === saga.name && version === saga.version);
    if (!claimable)
      return this.violate(
        'I38',
        `${lease.worker} claims ${saga.id} of version ${saga.version}, which it lacks`,
      );
    const { maxLeases: limit, keyed } = claimable;
    if (limit === undefined) return;
    const held = [...this.books.values()].filter(
      ({ graph, holder }) => graph.name === saga.name && holder !== undefined,
    );
    const leased = held.filter(
      (other) => (!keyed || other.limitKey === book.limitKey) && this.time.now < other.leaseEnds - ROUNDING,
    );
    if (leased.length > limit)
      this.violate('I14', `${leased.length} of ${saga.name} are leased, ${limit} may be`);
  }

  renewed(held: HeldLease, { duration, worker }: Lease): void {
    const { id } = held;
    const book = this.books.get(id)!;
    this.heartbeats.renewed(held, book);
    if (book.holder === worker) book.leaseEnds = this.time.now + duration;
    else this.violate('I5', `${worker} renews ${id}, which is ${book.holder}'s`);
  }

  gaveBack(id: string, epoch: number, { worker }: Lease): void {
    const book = this.books.get(id)!;
    if (book.holder !== worker || book.epoch !== epoch) return;
    this.note(() => `${worker} gives ${id} back`);
    book.holder = undefined;
  }

  saved({ id, epoch, number, state, release, starts, messages, tags }: Checkpoint, worker: string): void {
    const book = this.books.get(id)!;
    // Sent before, and answered again.
    if (number <= book.checkpoints) return;
    book.checkpoints = number;
    // A worker that gives the saga back in order was not taken down by it.
    if (release) book.tookDown.delete(worker);
    this.note(() => `${worker} saves ${id}: ${describeState(state)}${release ? ', and gives it back' : ''}`);
    if (epoch !== book.epoch || book.holder !== worker)
      this.violate(
        'I5',
        `${worker} saves ${id} under epoch ${epoch}; it is ${book.holder}'s under ${book.epoch}`,
      );
    this.heartbeats.saved(book, book.state, state);
    this.changed(book, state);
    this.messages.published(book, state, messages ?? []);
    this.messages.tagged(book, messages ?? [], tags);
    if (release || isSettled(state.status)) book.holder = undefined;
    for (const child of starts ?? []) this.started(child, undefined, { worker: '', duration: 0 });
  }

  edited(saga: StoredSaga, edit: Edit): void {
    const book = this.books.get(saga.id)!;
    if ('signal' in edit || 'proposal' in edit || 'putBack' in edit) return;
    if ('requestPause' in edit) return this.note(() => `${saga.id} is asked to stand still`);
    book.operated += 1;
    if ('requestCancel' in edit) {
      book.cancelAccepted = true;
      this.note(() => `${saga.id} is asked to roll back`);
      return;
    }
    this.note(() => `${saga.id} is changed by an operator: ${describeState(edit.state)}`);
    if (edit.state.failure?.kind === 'cancelled' && edit.state.status === 'compensating')
      book.cancelAccepted = true;
    this.changed(book, saga.state, true);
    Object.assign(book, { epoch: saga.epoch, checkpoints: saga.checkpoints, holder: undefined });
  }

  /** Something that was sent to a saga is stored. */
  keeps(id: string, signal: StoredSignal): void {
    this.note(() => `${signal.messageId} is stored for ${id} as ${signal.name}`);
    this.messages.keeps(id, signal);
  }

  /** A process calls a method of a saga by this graph. */
  runsBy(graph: SagaGraph, { sagaId }: CallContext, caller: string | undefined): void {
    const book = this.books.get(sagaId)!;
    if (caller !== undefined) this.violate('I41', `${sagaId} runs in the context of ${caller}`);
    if (graph !== book.graph)
      this.violate('I38', `${sagaId} of version ${book.graph.version} runs by version ${graph.version}`);
  }

  called({ kind, node, ctx, worker, payload }: Called): void {
    const book = this.books.get(ctx.sagaId)!;
    const parts = partsOfKey(effectKeyOf(ctx));
    const text = `${kind} ${parts.key}~${parts.round} of ${ctx.sagaId}`;
    this.note(() => `${worker} calls ${text}, attempt ${ctx.attempt}`);
    // A probe only asks.
    const isOvertaken = book.overtaken.has(worker) && book.holder !== worker;
    if (kind !== 'probe' && isOvertaken && !this.time.hasCutLeases)
      this.violate('I6', `${worker} begins ${text}; it was overtaken by ${book.holder ?? 'another'}`);
    const id = `${kind} ${parts.key}~${parts.round}`;
    if (kind === 'run') this.run(book, { node, ctx, worker }, parts, text);
    this.durations.called(book, text);
    if (kind === 'run' && node.pivot) this.onPivot(book.id);
    if (kind === 'run' && node.wait) this.messages.called(book, node, `${parts.key}~${parts.round}`, payload);
    if (kind === 'undo') this.undone(book, node, parts, ctx, text);
    if (!book.called.has(id)) book.called.set(id, book.operated);
    if (!this.fatal.has(book.id) || kind === 'probe') return;
    book.tookDown.add(worker);
    if (book.tookDown.size > MAX_TAKEOVERS + 1)
      this.violate(
        'I18',
        `${book.id} takes ${worker} down, the ${book.tookDown.size}th, with nothing recorded in between`,
      );
  }

  /** A transaction is committed: what it did is there. */
  committed(effect: Effect, value: string): void {
    if (effect.value !== undefined)
      this.violate('I12', `${effect.key} is done by ${effect.value}, and again by ${value}`);
    effect.value = value;
  }

  /** A request arrives after its effect was compensated. */
  refused(effect: Effect): void {
    this.note(() => `${effect.key} arrives late, and is refused`);
  }

  private run(
    book: SagaRecord,
    { node, ctx, worker }: Pick<Called, 'node' | 'ctx' | 'worker'>,
    { key, step, round }: ReturnType<typeof partsOfKey>,
    text: string,
  ): void {
    const id = `${key}~${round}`;
    if (book.results.has(id) && !book.overtaken.has(worker))
      this.violate('I2', `${text}, whose result is recorded`);
    if (!mayBegin(book.state, node))
      this.violate('I4', `${text} begins before what it waits for is recorded`);
    // Who asks for it again, asks for all the attempts that its policy has.
    const isAgain = !node.idempotent && book.called.get(`run ${id}`) === book.operated;
    const effect = this.effectOf(book, key, round);
    // A step that failed permanently may be tried again.
    if (isAgain && effect && (effect.value !== undefined || effect.underWay > 0))
      this.violate('I11', `${text} begins again, and had taken effect or may yet`);
    // In one attempt, a transaction may be tried again; and what is recorded first may be long in being
    // recorded.
    if (!node.rateLimit || node.transactional || !node.idempotent || !this.isQuick || this.time.hasStepped)
      return;
    const limit = `${book.graph.name} ${step} ${node.rateLimit.key?.(ctx as never) ?? ''}`;
    const times = this.begun.get(limit) ?? [];
    this.begun.set(limit, [...times, this.timeline.now].slice(-20));
    const { count, per } = node.rateLimit;
    const within = times.filter((time) => time > this.timeline.now - per * 0.99).length;
    if (within >= count)
      this.violate(
        'I15',
        `${text} begins at ${this.timeline.now}, after ${times.slice(-count).join(', ')}; ${count} may within ${per} ms`,
      );
  }

  private undone(
    book: SagaRecord,
    node: StepNode,
    { key, round }: ReturnType<typeof partsOfKey>,
    ctx: CallContext,
    text: string,
  ): void {
    const id = `${key}~${round}`;
    if (!book.called.has(`run ${id}`) && !book.byHand.has(id) && !book.wasTakenOver)
      this.violate('I9', `${text}, which was never called`);
    const recorded = book.results.get(id);
    const expected = recorded === undefined ? undefined : (JSON.parse(recorded) as unknown);
    if (!isDeepStrictEqual(ctx.result, expected))
      this.violate('I8', `${text} is given ${JSON.stringify(ctx.result)}, and should be ${recorded}`);
    const isGone = isDropped(stepState(book.state, node.name));
    if (!isGone) this.checkPivots(book, text);
    for (const name of book.relations.descendants(node.name)) {
      const dependent = book.relations.node(name);
      // A join any does not depend on those that lost it, nor a step on an optional one that failed.
      if (isGone || dependent.compensate === undefined || dependent.kind === 'sub-saga') continue;
      const standing = this.standing(book, name).find((effect) => partsOfKey(effect.key).round === round);
      if (standing && !isStillGoingOn(standing)) this.violate('I7', `${text} before ${standing.key}`);
    }
  }

  /** What comes after a savepoint is undone where that lies behind the pivot. */
  private checkPivots({ pivots, state, relations }: SagaRecord, text: string): void {
    const { rollbackTo, status } = state;
    // Going forward, only what has lost a race is undone.
    if (status === 'running') return;
    const region = rollbackTo === undefined ? undefined : relations.descendants(rollbackTo);
    const passed = [...pivots].find(
      (name) => !stepState(state, name).pruned && (!region || region.has(name)),
    );
    if (passed !== undefined) this.violate('I22', `${text}, and ${passed} was passed`);
  }

  private standing(book: SagaRecord, step: string): Effect[] {
    const items = stepState(book.state, step).items?.map((_, n) => `${step}[${n}]`) ?? [step];
    const { round } = stepState(book.state, step);
    return items.flatMap((key) => {
      const effect = this.effectOf(book, key, round);
      return effect?.value !== undefined && !effect.isUndone ? [effect] : [];
    });
  }

  private effectOf({ id }: SagaRecord, key: string, round: number): Effect | undefined {
    return this.effects.get(effectKey(id, key, round));
  }

  private changed(book: SagaRecord, state: SagaState, isByHand = false): void {
    const before = book.state;
    this.messages.changed(book, state);
    this.durations.changed(book, before, state);
    if (
      isTerminal(before.status) &&
      state.status !== before.status &&
      !(isByHand && before.status === 'completed')
    )
      this.violate('I10', `${book.id} was ${before.status}, and is ${state.status}`);
    for (const [key, step] of state.steps) {
      const id = `${key}~${stepState(state, key.replace(/\[.*/, '')).round}`;
      if (isByHand && isByHandOf(before, state, key)) book.byHand.add(id);
      if (step.status === 'compensated') book.undone.add(id);
      if (step.status !== 'completed') continue;
      if (book.relations.node(key).pivot) book.pivots.add(key);
      if (book.results.has(id) && book.results.get(id) !== step.result && !isByHand)
        this.violate('I2', `${id} of ${book.id}: ${step.result}, was ${book.results.get(id)}`);
      book.results.set(id, step.result);
      if (!isByHand) this.checkResult(book, key, id, step.result);
    }
    for (const [key, step] of before.steps) {
      const now = stepState(state, key);
      if (
        step.status === 'completed' &&
        now.round === step.round &&
        (now.status === 'pending' || now.status === 'running')
      )
        this.violate('I2', `${key} of ${book.id} was completed, and is ${now.status}`);
    }
    book.state = state;
    const isCalledBack = state.pendingRollback !== undefined && before.pendingRollback === undefined;
    if (isByHand || isCalledBack || hasAdvanced(before, state)) book.tookDown.clear();
    if (isTerminal(state.status)) book.lockHeld = false;
  }

  private checkResult(book: SagaRecord, key: string, id: string, result: string | undefined): void {
    const node = book.relations.node(key);
    const isWhole = node.forEach && !key.endsWith(']');
    if (isWhole || node.kind === 'sub-saga' || book.byHand.has(id)) return;
    const round = Number(id.split('~')[1]);
    const effect = this.effectOf(book, key, round);
    // The transaction's own effect is there the moment after.
    if (node.transactional && effect?.value === undefined) return;
    if (effect?.value === undefined || JSON.stringify(effect.value) !== result)
      this.violate(
        'I3',
        `${id} of ${book.id} is recorded as ${result}; the participant has ${effect?.value}`,
      );
  }
}

/** A call without a waiter may still arrive. Its effect is then refused, or found by the final checks. */
function isStillGoingOn({ underWay }: Effect): boolean {
  return underWay > 0;
}

function isByHandOf(before: SagaState, after: SagaState, key: string): boolean {
  const [was, is] = [stepState(before, key).status, stepState(after, key).status];
  return was !== is && (is === 'completed' || is === 'compensated');
}
