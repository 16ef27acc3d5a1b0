import type { EntityManager } from 'typeorm';
import { Inbox } from '../../libs/messaging/src/inbox.js';
import type { MessagingRuntime } from '../../libs/messaging/src/messaging.runtime.js';
import type { RelayedMessage } from '../../libs/messaging/src/relay/message-transport.js';
import { Relay } from '../../libs/messaging/src/relay/relay.js';
import type { StoredMessage } from '../../libs/saga/src/engine/ports/checkpoint.js';
import { InboxModel } from '../models/inbox-model.js';
import { MemoryWakeupHub } from '../../libs/saga/src/store/memory/memory-wakeup.js';
import { OutboxModel } from '../models/outbox-model.js';
import {
  databaseError,
  joinedOf,
  managerOver,
  MODEL_DATABASE,
  ModelSession,
  ModelTransaction,
  TransactionModel,
} from '../models/transaction-model.js';
import { Broker } from './broker.js';
import type { Rng, Dice } from './rng.js';
import { DeliveryChecker } from './delivery-checker.js';
import type { MessagePlan, PlannedTransaction, Publication } from './message-plan.js';
import { EPOCH } from './simulated-clock.js';
import type { Timeline } from './timeline.js';
import type { InvariantChecker } from './invariant-checker.js';
import type { MessageHost } from './message-host.js';

/** After so long (ms), at most, the server knows that a client is gone. */
const NOTICED = 5_000;
/** Operators look after dead messages, so often (ms). */
const ROUNDS = 4_000;

/** The outbox, the inbox and the broker that all processes share; it outlives them. */
export class MessageWorld {
  readonly deliveries: DeliveryChecker;
  readonly hub = new MemoryWakeupHub();
  readonly broker: Broker;
  private readonly transactions = new TransactionModel();
  private readonly outbox: OutboxModel;
  private readonly inbox: InboxModel;
  private readonly dice: Dice;
  private isWell = false;
  private open = 0;

  constructor(
    private readonly timeline: Timeline,
    chance: Rng,
    readonly plan: MessagePlan,
    private readonly checker: InvariantChecker,
    private readonly hostOf: (n: number) => MessageHost | undefined,
  ) {
    this.dice = chance.for('messages');
    this.deliveries = new DeliveryChecker((promise, what) => checker.violate(promise, what));
    const now = () => EPOCH + timeline.now;
    const notify = () => this.hub.announce({ type: 'published' });
    this.outbox = new OutboxModel({ now, transactions: this.transactions, lanes: plan.lanes, notify });
    this.inbox = new InboxModel(this.transactions);
    const handle = (message: RelayedMessage) => this.handle(message);
    this.broker = new Broker(timeline, chance, plan.broker, checker, this.deliveries, handle);
  }

  start(): void {
    for (const publication of this.plan.publications)
      this.timeline.after(publication.at, () => void this.publish(publication));
    this.operate();
  }

  calmDown(): void {
    this.isWell = true;
    this.broker.calmDown();
  }

  /** All that was published is sent and handled, and no transaction is open. */
  get rests(): boolean {
    const [missing] = this.deliveries.missing();
    return this.open === 0 && missing === undefined && this.outbox.stored.length === 0;
  }

  /** The relay as it is, over the outbox of this world. */
  relayOf({ name, clock, dice, log, send, ...host }: MessageHost): Relay {
    const { outbox, plan } = this;
    const mayBeLate = { mayBeLate: true };
    return new Relay(
      {
        take: (...args) => send(() => outbox.take(...args), mayBeLate),
        lanesOf: (...args) => send(() => outbox.lanesOf(...args), mayBeLate),
        settle: (...args) => send(() => outbox.settle(...args), mayBeLate),
        renew: (...args) => send(() => outbox.renew(...args), mayBeLate),
        isOutage: (error) => (error as { code?: string }).code === '08006',
        isTransient: (error) => (error as { code?: string }).code === '08006',
      },
      this.broker.transport({ name, clock, dice, log, send, ...host }),
      { ...plan, name, shutdownTimeout: 2_000 },
      log,
      { clock, random: dice.next },
    );
  }

  /** What a checkpoint publishes, which is committed with it. */
  checkpointed(messages: readonly StoredMessage[]): void {
    if (messages.length === 0) return;
    const transaction = new ModelTransaction();
    for (const { id, topic, key } of messages) this.deliveries.publishes(transaction, id, topic, key);
    this.outbox.store(transaction, messages);
    this.transactions.commit(transaction);
  }

  /** One transaction strictly after the other, as far as the publisher knows. */
  private async publish({ name, by, key, transactions }: Publication): Promise<void> {
    for (const [n, planned] of transactions.entries()) {
      const host = this.hostOf(by);
      if (!host?.life.isAlive) continue;
      const session = this.session(host);
      await this.carryOut(session, host, planned, `${name}.${n}`, key).catch((error: Error) =>
        this.checker.note(() => `${name}.${n} fails: ${error.message}`),
      );
    }
  }

  private async carryOut(
    session: ModelSession,
    host: MessageHost,
    { statements, hold, undone, swallows, starts, end }: PlannedTransaction,
    name: string,
    key: string,
  ): Promise<void> {
    const { manager, transaction } = session;
    const publish = (on: EntityManager, part: string, count: number) => {
      const ids = Array.from({ length: count }, (_, n) => `${name}.${part}.${n}`);
      for (const id of ids) this.deliveries.publishes(transaction, id, 't', key);
      const messages = ids.map((id) => ({ id, topic: 't', key, type: 'note', payload: '1', headers: {} }));
      return this.outbox.publish(joinedOf(on), messages);
    };
    await session.statement(async (of) => void this.transactions.xidOf(of));
    for (const [n, count] of statements.entries()) {
      await publish(manager, `${n}`, count);
      if (hold > 0) await new Promise<void>((resolve) => void host.clock.after(hold, resolve));
    }
    if (undone > 0) {
      const nested = manager.transaction(async (inner) => {
        await publish(inner, 'undone', undone);
        throw new Error('back to the savepoint');
      });
      await nested.catch(() => undefined);
    }
    if (starts) {
      this.deliveries.starts.set(`started-${name}`, transaction);
      await host.start(manager, `started-${name}`);
    }
    if (swallows)
      await session.statement(() => Promise.reject(databaseError('no', '23505'))).catch(() => undefined);
    await (end === 'commit' ? session.commit() : session.rollback());
    this.checker.note(() => `${name} is ${transaction.status}`);
  }

  /** Some process handles it, by the inbox as it is; rejects if it is not handled. */
  private async handle({ id, topic }: RelayedMessage): Promise<void> {
    const host = this.hostOf(this.dice.int(0, 20));
    if (!host?.life.isAlive) throw new Error('The process is down');
    const dice = this.isWell ? undefined : host.dice;
    const databases = {
      opener: (source: unknown) => MODEL_DATABASE.opener(source),
      join: (transaction: unknown) => MODEL_DATABASE.join(transaction),
      databaseOf: async () => ({ inbox: this.inbox }),
    };
    const runtime = { ready: async () => ({ databases }) };
    const inbox = new Inbox(runtime as unknown as MessagingRuntime);
    const work = async (manager: EntityManager) => {
      const { transaction } = (manager as unknown as { session: ModelSession }).session;
      transaction.onCommit.push(() => this.deliveries.handled(id));
      if (topic === 't') {
        const reply = {
          id: `${id} answered in ${transaction.xid}`,
          topic: 'replies',
          key: id,
          type: 'reply',
        };
        this.deliveries.publishes(transaction, reply.id, reply.topic, reply.key);
        await this.outbox.publish(joinedOf(manager), [{ ...reply, payload: '1', headers: {} }]);
      }
      if (dice?.happens(0.1)) throw new Error('not now');
      if (dice?.happens(0.1)) await this.fail(manager);
    };
    const manager = managerOver(() => this.session(host));
    if (host.dice.happens(0.3)) await manager.transaction((outer) => inbox.once(id, outer, work));
    else await inbox.once(id, manager, work);
    this.deliveries.done(id);
  }

  /** A statement fails, and the handler takes that for harmless. */
  private async fail(manager: EntityManager): Promise<void> {
    const { session } = manager as unknown as { session: ModelSession };
    await session.statement(() => Promise.reject(databaseError('no', '23505'))).catch(() => undefined);
  }

  /**
   * A connection with a transaction in it: what its process, or its network, leaves open is rolled back a
   * while later.
   */
  private session(host: MessageHost): ModelSession {
    let isBroken = false;
    const session = new ModelSession(this.transactions, async (statement) => {
      if (isBroken) throw databaseError('Connection terminated unexpectedly', '08006');
      try {
        return await host.send(statement);
      } catch (error) {
        isBroken ||= (error as { code?: string }).code === '08006';
        throw error;
      }
    });
    const { transaction } = session;
    this.open += 1;
    void transaction.ended.then(() => (this.open -= 1));
    const look = (): void => {
      if (isBroken || !host.life.isAlive) this.transactions.rollback(transaction);
      if (transaction.status === 'open' || transaction.status === 'aborted')
        this.timeline.after(this.dice.int(100, NOTICED), look);
    };
    look();
    return session;
  }

  /** Resends dead messages, which then succeed, or discards them. */
  private operate(): void {
    this.timeline.after(ROUNDS, () => {
      for (const { id, isDead } of this.outbox.stored) {
        if (!isDead || this.dice.happens(0.3)) continue;
        const discards = this.dice.happens(0.3);
        this.checker.note(() => `${id} is ${discards ? 'discarded' : 'sent again'}`);
        if (discards) {
          this.deliveries.messages.get(id)!.isDiscarded = true;
          void this.outbox.discard([id]);
        } else {
          this.broker.cure(id);
          void this.outbox.requeue([id]);
        }
      }
      this.operate();
    });
  }
}
