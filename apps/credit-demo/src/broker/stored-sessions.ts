import { Readable } from 'node:stream';
import type { Client, PublishPacket, Subscription } from 'aedes';
import { ClassicLevel } from 'classic-level';
import { type Change, Journal } from './journal.js';
import { covers } from './topic-filter.js';

/** What aedes knows a stored message by. */
export interface Numbered {
  brokerId: string;
  brokerCounter: number;
}

type Delivery = PublishPacket & Numbered & { readonly messageId: number };

interface Session {
  readonly subscriptions: Map<string, Subscription>;
  /** Sent or not, and without their acknowledgement yet: by message id, in order. */
  readonly unacknowledged: Map<number, Delivery>;
}

/** Numbers of stored messages are a sequence of their own, beside the one that aedes gives to all packets. */
const STORED = 'stored';
/** Numbers are reserved so many at once, so that none is given twice, however often the broker is killed. */
const RESERVED_AT_ONCE = 1_000;
const RESERVED = 'reserved';
/** Message ids have 16 bits, without 0. */
const MESSAGE_IDS = 2 ** 16 - 1;

/**
 * The persistence that aedes asks for, of sessions with `clean: false` and their messages of QoS 1: in memory
 * to read,
 * in LevelDB to survive. The publisher has to `store` a message before it is acknowledged (mqtt-broker.ts).
 * The store assigns its number. Retained messages, wills and QoS 2 are not kept.
 */
export class StoredSessions {
  private readonly sessions = new Map<string, Session>();
  private readonly journal: Journal;
  private last = 0;
  private reserved = 0;

  private constructor(private readonly level: ClassicLevel) {
    this.journal = new Journal(level);
  }

  static async open(folder: string): Promise<StoredSessions> {
    const level = new ClassicLevel(folder);
    await level.open();
    const stored = new StoredSessions(level);
    for await (const [key, value] of level.iterator()) stored.restore(key, value);
    return stored;
  }

  /**
   * Stores a message for every session that subscribes to it, and numbers it.
   * @throws Error when one of them is as many messages behind as there are message ids
   */
  async store(packet: PublishPacket & Partial<Numbered>): Promise<void> {
    const number = (this.last += 1);
    Object.assign(packet, { brokerId: STORED, brokerCounter: number } satisfies Numbered);
    const ids = this.subscribed(packet.topic);
    const behind = ids.find((id) => this.session(id).unacknowledged.has(messageIdOf(number)));
    if (behind !== undefined) throw new Error(`the session ${behind} is too far behind`);
    const payload = Buffer.from(packet.payload).toString('base64');
    const value = JSON.stringify({ topic: packet.topic, payload });
    const puts = ids.map((id): Change => ({ type: 'put', key: messageKey(id, number), value }));
    await this.journal.commit([...this.reservation(), ...puts]);
    for (const id of ids) this.session(id).unacknowledged.set(messageIdOf(number), toDelivery(value, number));
  }

  private reservation(): Change[] {
    if (this.last < this.reserved) return [];
    this.reserved = this.last + RESERVED_AT_ONCE;
    return [{ type: 'put', key: RESERVED, value: String(this.reserved) }];
  }

  // What follows is called by aedes.

  async setup(): Promise<void> {}

  async addSubscriptions({ id }: Client, subscriptions: readonly Subscription[]): Promise<void> {
    const puts = subscriptions.map((one): Change => {
      return { type: 'put', key: subscriptionKey(id, one.topic), value: JSON.stringify(one) };
    });
    await this.journal.commit(puts);
    for (const one of subscriptions) this.session(id).subscriptions.set(one.topic, one);
  }

  async removeSubscriptions({ id }: Client, topics: readonly string[]): Promise<void> {
    for (const topic of topics) this.session(id).subscriptions.delete(topic);
    await this.journal.commit(topics.map((topic) => ({ type: 'del', key: subscriptionKey(id, topic) })));
  }

  async subscriptionsByClient({ id }: Client): Promise<Subscription[]> {
    return [...(this.sessions.get(id)?.subscriptions.values() ?? [])];
  }

  async subscriptionsByTopic(topic: string): Promise<{ clientId: string; topic: string }[]> {
    return this.subscribed(topic).map((clientId) => ({ clientId, topic }));
  }

  /** A session that begins clean forgets everything of the one before. */
  async cleanSubscriptions({ id }: Client): Promise<void> {
    const session = this.sessions.get(id);
    if (!session) return;
    this.sessions.delete(id);
    const keys = [
      ...[...session.subscriptions.keys()].map((topic) => subscriptionKey(id, topic)),
      ...[...session.unacknowledged.values()].map(({ brokerCounter }) => messageKey(id, brokerCounter)),
    ];
    await this.journal.commit(keys.map((key) => ({ type: 'del', key })));
  }

  /** Comes after the acknowledgement, and is done already: see `store`. */
  async outgoingEnqueueCombi(): Promise<void> {}

  /**
   * A message is about to be sent. aedes counts message ids anew for each connection; here a message keeps
   * the one that
   * it has, as MQTT wants it: its acknowledgement may come over the next connection, and must not be another's.
   */
  async outgoingUpdate(_client: Client, packet: PublishPacket & Numbered): Promise<void> {
    if (packet.brokerId === STORED) packet.messageId = messageIdOf(packet.brokerCounter);
  }

  /** Acknowledged. If the deletion is lost, it is sent once more: that is what QoS 1 says. */
  async outgoingClearMessageId(
    { id }: Client,
    { messageId }: { messageId?: number },
  ): Promise<Delivery | undefined> {
    const { unacknowledged } = this.session(id);
    const message = unacknowledged.get(messageId!);
    if (!message) return undefined;
    unacknowledged.delete(messageId!);
    await this.journal.commit([{ type: 'del', key: messageKey(id, message.brokerCounter) }]);
    return message;
  }

  /** What a session that comes back has to be sent. */
  outgoingStream({ id }: Client): Readable {
    return Readable.from([...(this.sessions.get(id)?.unacknowledged.values() ?? [])]);
  }

  createRetainedStreamCombi(): Readable {
    return Readable.from([]);
  }

  streamWill(): Readable {
    return Readable.from([]);
  }

  async putWill(): Promise<void> {}

  async delWill(): Promise<void> {}

  async destroy(): Promise<void> {
    await this.level.close();
  }

  private session(id: string): Session {
    const known = this.sessions.get(id);
    if (known) return known;
    const session: Session = { subscriptions: new Map(), unacknowledged: new Map() };
    this.sessions.set(id, session);
    return session;
  }

  private subscribed(topic: string): string[] {
    return [...this.sessions].flatMap(([id, { subscriptions }]) => {
      return [...subscriptions.values()].some((one) => one.qos > 0 && covers(one.topic, topic)) ? [id] : [];
    });
  }

  private restore(key: string, value: string): void {
    if (key === RESERVED) {
      this.last = this.reserved = Number(value);
      return;
    }
    const [kind, encoded, rest] = key.split('/') as [string, string, string];
    const session = this.session(decodeURIComponent(encoded));
    if (kind === 'subscription') {
      const one = JSON.parse(value) as Subscription;
      session.subscriptions.set(one.topic, one);
    } else {
      const delivery = toDelivery(value, Number(rest));
      session.unacknowledged.set(delivery.messageId, delivery);
    }
  }
}

/**
 * The id is the same after every restart. It is unique unless a session is more than MESSAGE_IDS messages
 * behind.
 */
function messageIdOf(number: number): number {
  return (number % MESSAGE_IDS) + 1;
}

/** In the order of the keys, which the restored messages are read in. */
function messageKey(id: string, number: number): string {
  return `message/${encodeURIComponent(id)}/${String(number).padStart(16, '0')}`;
}

function subscriptionKey(id: string, topic: string): string {
  return `subscription/${encodeURIComponent(id)}/${encodeURIComponent(topic)}`;
}

function toDelivery(value: string, number: number): Delivery {
  const { topic, payload } = JSON.parse(value) as { topic: string; payload: string };
  return {
    cmd: 'publish',
    topic,
    payload: Buffer.from(payload, 'base64'),
    qos: 1,
    retain: false,
    dup: false,
    brokerId: STORED,
    brokerCounter: number,
    messageId: messageIdOf(number),
  };
}
