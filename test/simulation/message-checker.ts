import type { StepNode } from '../../libs/saga/src/definition/graph/saga-graph.js';
import type { Checkpoint, StoredMessage } from '../../libs/saga/src/engine/ports/checkpoint.js';
import type { StoredSignal } from '../../libs/saga/src/engine/ports/stored-saga.js';
import { type SagaState, stepState } from '../../libs/saga/src/machine/saga-state.js';
import { partsOfKey } from './effect-key.js';
import type { Promised } from './promises.js';
import type { SagaRecord } from './saga-record.js';
import type { DatabaseTime } from './clock-steps.js';

/** How far the engine's idea of the database's time may be wrong (ms). */
const INEXACT = 500;

/** What a method publishes: which call of which method it was. */
export interface Published {
  /** An idempotency key. */
  readonly key: string;
  readonly call: number;
}

type Violate = (promise: Promised, what: string) => void;

/** Sees what sagas are sent, and what they publish, where it is stored and where it is used. */
export class MessageChecker {
  /** By saga: what it was sent, in order. */
  private readonly kept = new Map<string, StoredSignal[]>();
  /** By saga and message id: the key and round to whose method it was given. */
  private readonly givenTo = new Map<string, string>();
  /** By saga, key and round. */
  private readonly given = new Map<string, string>();
  /** By idempotency key: what is in the outbox. */
  private readonly outbox = new Map<string, Published[]>();
  private readonly ids = new Set<string>();
  /** Who has sent an approval: saga, step and operator. */
  private readonly approvers = new Set<string>();

  constructor(
    private readonly time: DatabaseTime,
    private readonly violate: Violate,
  ) {}

  /** A signal is stored, or was before. */
  keeps(id: string, signal: StoredSignal): void {
    const all = this.kept.get(id) ?? [];
    this.kept.set(id, all);
    if (all.some(({ number }) => number === signal.number)) return;
    const twice = all.find(({ messageId }) => messageId === signal.messageId);
    if (twice) this.violate('I23', `${id} keeps ${signal.messageId} twice`);
    all.push(signal);
  }

  /** An operator sends an approval of this step. */
  approves(id: string, step: string, by: string): void {
    this.approvers.add(`${id} ${step} ${by}`);
  }

  /** The method of a step that waits is called with this. */
  called({ id, state }: SagaRecord, node: StepNode, key: string, payload: unknown): void {
    const { signal, quorum } = node.wait!;
    const { comment } = (payload ?? {}) as { comment?: string };
    const kept = this.kept.get(id)?.find(({ messageId }) => messageId === comment);
    const text = `${key} of ${id} is given ${comment}`;
    if (quorum !== undefined) {
      const { approvals = [] } = (payload ?? {}) as { approvals?: readonly { by: string }[] };
      const people = new Set(approvals.map(({ by }) => by));
      const haveAll = [...people].every((by) => this.approvers.has(`${id} ${node.name} ${by}`));
      if (people.size !== quorum || !haveAll)
        this.violate('I32', `${text}, approved by ${[...people].join(', ')}, of ${quorum}`);
    }
    if (kept?.name !== signal) return this.violate('I23', `${text}, which was sent as ${kept?.name}`);
    const { until = Infinity } = stepState(state, node.name).wait ?? {};
    if (kept.at > until + INEXACT && !this.time.hasStepped)
      this.violate('I24', `${text}, which came after ${until}, at ${kept.at}`);
    const [message, call] = [`${id} ${comment}`, `${id} ${key}`];
    const other = this.givenTo.get(message) ?? key;
    if (other !== key) this.violate('I23', `${text}, and ${other} was before`);
    const before = this.given.get(call) ?? comment;
    if (before !== comment) this.violate('I23', `${text}, and before ${before}`);
    this.givenTo.set(message, key);
    this.given.set(call, comment!);
  }

  /** The saga's state is stored. */
  changed({ id, state: before }: SagaRecord, state: SagaState): void {
    for (const [name, number] of Object.entries(before.lastTakenSignals ?? {})) {
      const now = state.lastTakenSignals?.[name] ?? 0;
      if (now < number) this.violate('I23', `${id} had taken ${name} up to ${number}, now up to ${now}`);
    }
    for (const [key, { status, errors, round }] of state.steps) {
      const was = stepState(before, key);
      const isNew = errors.length > 0 && errors.at(-1) !== was.errors.at(-1) && was.status !== 'failed';
      if (status !== 'failed' || !isNew || errors.at(-1)!.name !== 'SignalTimeoutError') continue;
      if (was.round !== round || was.wait?.until === undefined) continue;
      // After a step of the clock, it is not known which came first.
      if (this.time.hasStepped) continue;
      const missed = this.missed(id, state, was.wait.signal, was.wait.until);
      if (missed) this.violate('I24', `${key} of ${id} has not waited for ${missed.messageId}`);
    }
  }

  /** A message that came before this time, and that nothing has taken. */
  private missed(
    id: string,
    { lastTakenSignals = {} }: SagaState,
    signal: string,
    until: number,
  ): StoredSignal | undefined {
    return this.kept
      .get(id)
      ?.find(
        ({ name, number, at }) =>
          name === signal && number > (lastTakenSignals[name] ?? 0) && at < until - INEXACT,
      );
  }

  /** What was stored in the outbox, with this state of the saga that published it. */
  published({ id, relations }: SagaRecord, state: SagaState, messages: readonly StoredMessage[]): void {
    for (const message of messages) {
      const published = JSON.parse(message.payload) as Published;
      if (this.ids.has(message.id)) this.violate('I25', `${message.id} is in the outbox twice`);
      this.ids.add(message.id);
      const parts = partsOfKey(published.key.replace(/:compensate$/, ''));
      const isUndone = published.key.endsWith(':compensate');
      const { status, wait } = stepState(state, parts.key);
      // Back at its savepoint, a saga begins the next round with the same checkpoint: the one in which its
      // last step was
      // undone, or ended, where there is nothing to undo.
      const endsRound = isUndone || relations.node(parts.step).compensate === undefined;
      const isOver = endsRound && stepState(state, parts.step).round > parts.round;
      // A pivot that completed during the rollback cannot be compensated.
      const isStranded = status === 'compensation_failed' && !isUndone && relations.node(parts.step).pivot;
      const isAsked = isUndone && status === 'compensating' && wait !== undefined;
      const isEnded = isOver || isStranded || isAsked || status === (isUndone ? 'compensated' : 'completed');
      if (parts.saga !== id || !isEnded) this.violate('I25', `${published.key} is published, and ${status}`);
      this.outbox.set(published.key, [...(this.outbox.get(published.key) ?? []), published]);
    }
  }

  /** A checkpoint stores the tags of a saga: each method sets one whenever it publishes. */
  tagged(
    { id, tags: before }: SagaRecord,
    messages: readonly StoredMessage[],
    tags: Checkpoint['tags'],
  ): void {
    for (const { payload } of messages) {
      const { key, call } = JSON.parse(payload) as Published;
      if (tags?.[key] !== `${call}`)
        this.violate('I35', `${key} set a tag in call ${call}; it is ${tags?.[key]}`);
      before.set(key, `${call}`);
    }
    for (const [key, call] of tags ? before : [])
      if (tags![key] !== call)
        this.violate('I35', `${id} has lost the tag ${key}=${call}; it is ${tags![key]}`);
    for (const [key, call] of Object.entries(tags ?? {}))
      if (partsOfKey(key).saga === id && before.get(key) !== call)
        this.violate('I35', `${key} is tagged ${call}, and no completion has set it`);
  }

  /** What is in the outbox of one call under this key; undefined: of several. */
  publishedBy(key: string): number | undefined {
    const all = this.outbox.get(key) ?? [];
    return all.every(({ call }) => call === all[0]!.call) ? all.length : undefined;
  }

  /** A signal is kept that a step of this state waits for. */
  isKeptFor(id: string, { lastTakenSignals = {} }: SagaState, signal: string): boolean {
    const all = this.kept.get(id) ?? [];
    return all.some(({ name, number }) => name === signal && number > (lastTakenSignals[name] ?? 0));
  }
}
