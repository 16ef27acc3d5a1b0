import type { SagaGraph, StepNode } from '../../libs/saga/src/definition/graph/saga-graph.js';
import { StepRejectedError, UnknownOutcomeError } from '../../libs/saga/src/errors.js';
import { never } from '../../libs/saga/src/testing/test-process.js';
import type { Rng, Dice } from './rng.js';
import type { SimulatedTransaction } from './database.js';
import { effectKeyOf } from './effect-key.js';
import { inputOfChild } from './families.js';
import type { Published } from './message-checker.js';
import type { Weather } from './scenario.js';
import { StepReporter } from './step-reporter.js';
import type { Life, Timeline } from './timeline.js';
import type { InvariantChecker } from './invariant-checker.js';
import type { CallContext, Effect } from './effect.js';
import { UNSTORABLE } from './effect.js';

/** Who calls. */
export interface Caller {
  readonly worker: string;
  readonly life: Life;
}

type Outcome =
  | 'answers'
  | 'fails'
  | 'rejects'
  | 'breaks off'
  | 'breaks off, done'
  | 'answers late'
  | 'hangs'
  | 'gives what cannot be stored'
  | 'loses its database';

const PATIENCE = 60_000;

/** What participants do beside answering. */
export interface Habits {
  readonly isSlowOff: boolean;
  /** Methods publish messages. */
  readonly publishes: boolean;
  /** Methods report how far they are. */
  readonly reports: boolean;
}

/** One call of a method. */
interface Call {
  readonly effect: Effect;
  readonly node: StepNode;
  readonly ctx: CallContext;
  readonly dice: Dice;
  readonly caller: Caller;
  /** How much longer it takes (ms). */
  readonly longer: number;
}

/**
 * The other services. Each does what a call asks for once per idempotency key, wherever the call comes from and
 * whatever has become of the caller; what was undone under a key is not done any more under it.
 */
export class Participants {
  readonly effects = new Map<string, Effect>();
  private readonly reporter: StepReporter;

  constructor(
    private readonly timeline: Timeline,
    private readonly chance: Rng,
    private readonly weather: Weather,
    private readonly checker: InvariantChecker,
    private readonly habits: Habits,
  ) {
    const violate = checker.violate.bind(checker);
    this.reporter = new StepReporter(timeline, checker.heartbeats, violate);
  }

  /** One method of a saga is called in a worker. */
  call(
    graph: SagaGraph,
    method: string,
    ctx: CallContext,
    caller: Caller,
    payload: unknown,
  ): Promise<unknown> {
    const [first, second] = method.split(' ');
    const node = graph.steps.get(second ?? first!)!;
    const kind = second === undefined ? 'run' : (first as 'undo' | 'probe');
    if (!caller.life.call()) return never();
    this.checker.called({ kind, node, ctx, worker: caller.worker, payload });
    const effect = this.effect(effectKeyOf(ctx));
    effect.calls += 1;
    const dice = this.chance.for('call', nameOf(ctx, kind), effect.calls);
    if (this.checker.isFatal(ctx.sagaId) && kind !== 'probe') caller.life.callsLeft = 1;
    if (kind !== 'probe' && node.kind !== 'sub-saga') this.publish(ctx, effect.calls);
    if (kind === 'probe') return this.asked(effect, dice, caller);
    if (kind === 'run' && node.kind === 'sub-saga')
      return this.after(1, caller, () => inputOfChild(node.name, ctx.input));
    return this.reporting(kind, { effect, node, ctx, dice, caller, longer: 0 });
  }

  /** The step or its compensation, with what it reports meanwhile. */
  private reporting(kind: 'run' | 'undo', call: Call): Promise<unknown> {
    const { node, ctx, caller, effect } = call;
    const record = this.checker.books.get(ctx.sagaId)!;
    const attempt = { record, node, kind, ctx, ...caller };
    this.checker.heartbeats.begins(attempt);
    const dice = this.chance.for('reports', nameOf(ctx, kind), effect.calls);
    const plan = this.habits.reports ? this.reporter.planOf(node, kind, dice) : undefined;
    const longer = plan?.longer ?? 0;
    const answer = kind === 'undo' ? this.undo(call) : this.run({ ...call, longer });
    const reported = this.reporter.during(attempt, plan, answer);
    if (kind === 'undo') return reported;
    return this.checker.slots.during(attempt, () => caller.life.isAlive, reported);
  }

  /** So many messages, whichever attempt it is, and each says which. */
  publishedBy(idempotencyKey: string): number {
    if (!this.habits.publishes) return 0;
    return Math.floor(this.chance.for('publishes', idempotencyKey).long(0, 3));
  }

  private publish(ctx: CallContext, call: number): void {
    const key = ctx.idempotencyKey;
    const payload: Published = { key, call };
    const count = this.publishedBy(key);
    for (let n = 0; n < count; n += 1) ctx.publish({ topic: 'orders', payload });
    if (count > 0) ctx.setTags({ [key]: `${call}` });
  }

  effect(key: string): Effect {
    let effect = this.effects.get(key);
    if (!effect) this.effects.set(key, (effect = { key, isUndone: false, calls: 0, underWay: 0 }));
    return effect;
  }

  private run({ effect, node, ctx, dice, caller, longer }: Call): Promise<unknown> {
    const outcome = this.outcome(dice, node.transactional);
    const value = `${effect.key} #${effect.calls}${outcome === 'gives what cannot be stored' ? UNSTORABLE : ''}`;
    const latency = this.latency(dice, outcome) + longer;
    if (node.transactional) return this.inTransaction(effect, ctx, outcome, latency, value, caller);
    const takesEffect = outcome !== 'fails' && outcome !== 'rejects' && outcome !== 'breaks off';
    if (takesEffect) {
      effect.underWay += 1;
      this.timeline.after(latency * dice.next(), () => {
        effect.underWay -= 1;
        if (!effect.isUndone) effect.value ??= value;
        else this.checker.refused(effect);
      });
    }
    const answered = this.after(latency, caller, () => answerTo(outcome, () => effect.value));
    return dice.happens(0.5) ? heeding(ctx.signal, answered) : answered;
  }

  private inTransaction(
    effect: Effect,
    { manager }: CallContext,
    outcome: Outcome,
    latency: number,
    value: string,
    caller: Caller,
  ): Promise<unknown> {
    return this.after(latency, caller, () =>
      answerTo(outcome, () => {
        (manager as SimulatedTransaction).effects.push(() => this.checker.committed(effect, value));
        return value;
      }),
    );
  }

  private undo({ effect, node, ctx, dice, caller }: Call): Promise<unknown> {
    const outcome = this.outcome(dice, node.transactional);
    const latency = this.latency(dice, outcome);
    const isDone = outcome !== 'fails' && outcome !== 'rejects' && outcome !== 'breaks off';
    const { manager } = ctx as { manager?: SimulatedTransaction };
    if (isDone && !manager) {
      this.timeline.after(latency * dice.next(), () => (effect.isUndone = true));
    }
    return this.after(latency, caller, () =>
      answerTo(outcome, () => void manager?.effects.push(() => (effect.isUndone = true))),
    );
  }

  /** Reports the outcome, as far as it is known. */
  private asked(effect: Effect, dice: Dice, caller: Caller): Promise<unknown> {
    return this.after(dice.long(0.5, 500), caller, () => {
      if (dice.happens(this.weather.failing / 2)) throw new Error('the probe fails');
      if (effect.value !== undefined) return { done: effect.value };
      return effect.underWay > 0 || dice.happens(0.1) ? 'unknown' : 'not-done';
    });
  }

  private outcome(dice: Dice, isTransactional: boolean): Outcome {
    const { failing } = this.weather;
    return dice.weighed<Outcome>({
      answers: 1 - failing,
      fails: failing * 0.4,
      rejects: failing * 0.04,
      'breaks off': isTransactional ? 0 : failing * 0.1,
      'breaks off, done': isTransactional ? 0 : failing * 0.1,
      'answers late': failing * 0.25,
      hangs: failing * 0.05,
      'gives what cannot be stored': failing * 0.02,
      'loses its database': isTransactional ? failing * 0.3 : 0,
    });
  }

  private latency(dice: Dice, outcome: Outcome): number {
    const usual = dice.long(0.2, 80);
    if (this.habits.isSlowOff) return usual;
    if (outcome === 'hangs') return PATIENCE;
    return outcome === 'answers late' ? dice.long(100, PATIENCE) : usual;
  }

  private async after<T>(delay: number, { life }: Caller, answer: () => T): Promise<T> {
    await new Promise<void>((resolve) => void this.timeline.after(delay, resolve, life));
    return answer();
  }
}

function answerTo<T>(outcome: Outcome, answer: () => T): T {
  if (outcome === 'fails') throw new Error('not now');
  if (outcome === 'rejects') throw new StepRejectedError('never');
  if (outcome.startsWith('breaks off')) throw new UnknownOutcomeError('the line broke');
  if (outcome === 'loses its database')
    throw Object.assign(new Error('deadlock detected'), { name: 'QueryFailedError', code: '40P01' });
  return answer();
}

/** A call that stops when its signal aborts. Its request still arrives. */
function heeding(signal: AbortSignal, answered: Promise<unknown>): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason as Error);
    if (signal.aborted) return abort();
    signal.addEventListener('abort', abort, { once: true });
    answered.then(resolve, reject);
  });
}

function nameOf({ sagaId, idempotencyKey }: CallContext, kind: string): string {
  return `${sagaId} ${idempotencyKey} ${kind}`;
}
