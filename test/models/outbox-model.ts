import type { OutgoingMessage } from '../../libs/saga/src/engine/payload/outgoing-message.js';
import type { OutboxStore } from '../../libs/saga/src/store/outbox-store.js';
import { LANES } from '../../libs/saga/src/store/postgres/outbox/postgres-outbox.js';
import type {
  StoredDeadMessage,
  Settlement,
  TakenLanes,
  TakenMessage,
} from '../../libs/saga/src/store/postgres/outbox/postgres-outbox.js';
import type { JoinedTransaction } from '../../libs/saga/src/store/postgres/connection/saga-database.js';
import { sendWithin } from '../../libs/saga/src/store/postgres/connection/transaction-watch.js';
import {
  hasEnded,
  type ModelSnapshot,
  type ModelTransaction,
  sessionOf,
  type TransactionModel,
} from './transaction-model.js';

/** As in relay.sql and relay-order.sql. */
const DUE_AT_ONCE = 100;
const LET_GO_AT_ONCE = 1_000;
const FROM_START = 60_000;
const NEWEST_MARKS = 6;

interface Row {
  readonly message: OutgoingMessage & { readonly id: string };
  readonly seq: number;
  readonly lane: number;
  readonly line: string;
  readonly transaction: ModelTransaction;
  readonly createdAt: number;
  held: boolean;
  attempts: number;
  retryAt?: number;
  deadAt?: number;
  error?: string;
}

interface Mark {
  readonly xid: number;
  readonly seq: number;
}

interface Lane {
  readonly lane: number;
  epoch: number;
  leasedBy?: string;
  leasedUntil: number;
  servedAt: number;
  readTo: number;
  readIn?: ModelSnapshot;
  marks: Mark[];
  readFromStartAt: number;
}

export interface OutboxModelOptions {
  /** Milliseconds by the database's clock. */
  readonly now: () => number;
  readonly transactions: TransactionModel;
  /** Fewer lanes have more keys each. Default: as many as PostgreSQL's outbox. */
  readonly lanes?: number;
  /** Announces that something is there, once relays sleep. */
  readonly notify?: () => void;
}

/**
 * The outbox of PostgreSQL, as a model: what publishers, relays and operators see of it, statement by statement. A
 * message has its seq when it is published, and is there for others when its transaction has committed.
 */
export class OutboxModel implements OutboxStore {
  private readonly lanes: Lane[];
  private rows: Row[] = [];
  private seq = 0;
  private asleep = true;

  constructor(private readonly options: OutboxModelOptions) {
    this.lanes = Array.from({ length: options.lanes ?? LANES }, (_, lane) => ({
      ...{ lane, epoch: 0, leasedUntil: -Infinity, servedAt: -Infinity },
      ...{ readTo: 0, marks: [], readFromStartAt: -Infinity },
    }));
  }

  /** Those that are there for others, in order. */
  get stored(): readonly (OutgoingMessage & { readonly id: string; readonly isDead: boolean })[] {
    return this.visible().map(({ message, deadAt }) => ({ ...message, isDead: deadAt !== undefined }));
  }

  laneOf(topic: string, key: string): number {
    let hash = 7;
    for (const char of `${topic} ${key}`) hash = (Math.imul(hash, 31) + char.charCodeAt(0)) | 0;
    return (hash >>> 0) % this.lanes.length;
  }

  isOutage(): boolean {
    return false;
  }

  isTransient(): boolean {
    return false;
  }

  async publish(
    on: JoinedTransaction,
    messages: readonly (OutgoingMessage & { id: string })[],
  ): Promise<void> {
    if (messages.length === 0) return;
    const store = async (transaction: ModelTransaction) => this.store(transaction, messages);
    await sendWithin(on, 'The message', () => sessionOf(on).statement(store));
  }

  /** In this transaction. */
  store(transaction: ModelTransaction, messages: readonly (OutgoingMessage & { id: string })[]): void {
    this.options.transactions.xidOf(transaction);
    for (const message of messages) {
      if (this.rows.some((row) => row.message.id === message.id)) continue;
      const { topic, key } = message;
      const place = { seq: (this.seq += 1), lane: this.laneOf(topic, key), line: `${topic}\0${key}` };
      const row: Row = { message, ...place, transaction, createdAt: this.now, held: false, attempts: 0 };
      this.rows.push(row);
      transaction.undo.push(() => this.remove(new Set([row])));
    }
    if (this.asleep) transaction.onCommit.push(() => this.options.notify?.());
  }

  async take(relay: string, lease: number, most: { messages: number; lanes: number }): Promise<TakenLanes> {
    const now = this.now;
    const free = this.lanes
      .filter((lane) => lane.leasedUntil < now && this.hasSomething(lane))
      .sort((a, b) => a.servedAt - b.servedAt)
      .slice(0, most.lanes)
      .sort((a, b) => a.lane - b.lane);
    if (free.length === 0) {
      if (this.lanes.every(({ leasedUntil }) => leasedUntil < now)) this.asleep = true;
      return { lanes: [], messages: [], found: false };
    }
    this.options.transactions.ofOneStatement();
    const changed = this.letGo(free);
    for (const lane of changed) lane.readTo = 0;
    const share = Math.max(1, Math.floor(most.messages / free.length));
    const pages = free.map((lane) => this.page(lane, share, relay, lease));
    const found = pages.reduce((sum, page) => sum + page.found, 0);
    if (found >= Math.floor(most.messages / 2)) this.asleep = false;
    const lanes = pages.flatMap(({ lane, messages }) =>
      messages.length > 0 ? { lane: lane.lane, epoch: `${lane.epoch}` } : [],
    );
    return { lanes, messages: pages.flatMap(({ messages }) => messages), found: found > 0 };
  }

  async settle(lanes: TakenLanes['lanes'], { sent, failed, behind, unfinished }: Settlement): Promise<void> {
    const xid = this.options.transactions.ofOneStatement();
    const mine = new Set(lanes.filter((one) => this.isCurrent(one)).map(({ lane }) => lane));
    const gone = this.byId(sent);
    this.remove(new Set(gone));
    for (const { attempts, held, line } of gone) if (attempts > 0 || held) this.firstIsDue(line);
    for (const { id, error, attempts, retryIn } of failed) {
      const [row] = this.byId([id]);
      if (!row || !mine.has(row.lane)) continue;
      Object.assign(row, { held: true, attempts, error });
      row.retryAt = retryIn === undefined ? undefined : this.now + retryIn;
      row.deadAt = retryIn === undefined ? this.now : undefined;
    }
    const isBehind = this.byId(behind).filter((row) => mine.has(row.lane));
    for (const row of isBehind) row.held = true;
    for (const { line } of isBehind) this.firstIsDue(line);
    for (const one of lanes) {
      if (!this.isCurrent(one)) continue;
      const lane = this.lanes[one.lane]!;
      // All of these are of the lane as it was: as in one UPDATE.
      const marks = this.marksAfterSettlement(lane, xid);
      Object.assign(lane, { leasedBy: undefined, leasedUntil: -Infinity, marks });
      if (unfinished.has(one.lane)) lane.readTo = 0;
    }
  }

  async lanesOf(relay: string): Promise<TakenLanes['lanes']> {
    return this.lanes.flatMap(({ leasedBy, epoch }, lane) =>
      leasedBy === relay ? [{ lane, epoch: String(epoch) }] : [],
    );
  }

  async renew(lanes: TakenLanes['lanes'], lease: number): Promise<number[]> {
    const mine = lanes.filter((one) => this.isCurrent(one) && this.lanes[one.lane]!.leasedBy !== undefined);
    for (const { lane } of mine) this.lanes[lane]!.leasedUntil = this.now + lease;
    return mine.map(({ lane }) => lane);
  }

  async dead(limit: number, after?: { deadAt: string; id: string }): Promise<StoredDeadMessage[]> {
    const dead = this.visible().filter((row) => row.deadAt !== undefined);
    const ordered = dead.sort((a, b) => a.deadAt! - b.deadAt! || (a.message.id < b.message.id ? -1 : 1));
    const place = after === undefined ? 0 : ordered.findIndex(({ message }) => message.id === after.id) + 1;
    return ordered.slice(place, place + limit).map(({ message, attempts, error, createdAt, deadAt }) => ({
      ...message,
      ...{ attempts, error: error!, createdAt: new Date(createdAt) },
      ...{ deadAt: new Date(deadAt!), deadAtText: new Date(deadAt!).toISOString() },
    }));
  }

  async requeue(ids: readonly string[]): Promise<number> {
    const dead = this.byId(ids).filter(({ deadAt }) => deadAt !== undefined);
    for (const row of dead) Object.assign(row, { deadAt: undefined, attempts: 0, retryAt: this.now });
    return dead.length;
  }

  async discard(ids: readonly string[]): Promise<number> {
    const dead = this.byId(ids).filter(({ deadAt }) => deadAt !== undefined);
    this.remove(new Set(dead));
    for (const { line } of dead) this.firstIsDue(line);
    return dead.length;
  }

  /** All messages of the lane that may be sent now have a greater seq than this: see relay-order.sql. */
  private readFrom({ leasedBy, readFromStartAt, readIn, readTo, marks }: Lane): number {
    if (leasedBy !== undefined || readFromStartAt <= this.now - FROM_START || !readIn) return 0;
    const snapshot = this.options.transactions.snapshot();
    const ended = readIn.open.find((xid) => hasEnded(xid, snapshot)) ?? readIn.xmax;
    return Math.min(readTo, Math.max(0, ...marks.filter(({ xid }) => xid < ended).map(({ seq }) => seq)));
  }

  private marksAfterSettlement({ marks, readIn, readTo }: Lane, xid: number): Mark[] {
    const oldest = readIn?.open[0] ?? readIn?.xmax ?? Infinity;
    const kept = marks.filter((_, n) => {
      const next = marks[n + 1];
      return (!next || next.xid >= oldest) && (n === 0 || n >= marks.length - NEWEST_MARKS);
    });
    return [...kept, { xid, seq: readTo }];
  }

  private hasSomething(lane: Lane): boolean {
    const from = this.readFrom(lane);
    return this.visible().some(
      (row) => row.lane === lane.lane && ((!row.held && row.seq > from) || row.retryAt! <= this.now),
    );
  }

  private page(lane: Lane, share: number, relay: string, lease: number) {
    const after = this.readFrom(lane);
    const rows = this.visible()
      .filter((row) => row.lane === lane.lane && !row.held && row.seq > after)
      .slice(0, share);
    if (rows.length === 0) return { lane, messages: [], found: 0 };
    const behind = new Set(rows.filter(({ line, seq }) => this.heldOf(line).some((held) => held.seq < seq)));
    for (const row of behind) row.held = true;
    const isNothing = behind.size === rows.length;
    const last = rows.at(-1)!.seq;
    Object.assign(lane, {
      epoch: lane.epoch + 1,
      leasedBy: isNothing ? undefined : relay,
      leasedUntil: isNothing ? -Infinity : this.now + lease,
      servedAt: this.now,
      readTo: last,
      readIn: this.options.transactions.snapshot(),
      readFromStartAt: after === 0 ? this.now : lane.readFromStartAt,
    });
    const messages = rows.filter((row) => !behind.has(row)).map(taken);
    return { lane, messages, found: rows.length };
  }

  /** What is due again in these lanes is to be sent, with the line behind it; gives the lanes. */
  private letGo(lanes: readonly Lane[]): Set<Lane> {
    const changed = new Set<Lane>();
    const due = lanes.flatMap((lane) =>
      this.visible()
        .filter((row) => row.lane === lane.lane && row.retryAt! <= this.now)
        .sort((a, b) => a.retryAt! - b.retryAt!)
        .slice(0, DUE_AT_ONCE),
    );
    for (const row of due) {
      const line = this.heldOf(row.line);
      if (line.some(({ seq }) => seq < row.seq)) {
        row.retryAt = undefined;
        continue;
      }
      const dead = line.findIndex(({ deadAt }) => deadAt !== undefined);
      const size = Math.min(LET_GO_AT_ONCE, dead < 0 ? Infinity : dead);
      const free = row.attempts > 0 ? [row] : line.slice(0, size);
      for (const one of free) Object.assign(one, { held: false, retryAt: undefined });
      if (row.attempts === 0) this.firstIsDue(row.line);
      changed.add(this.lanes[row.lane]!);
    }
    return changed;
  }

  /** As FIRST_IS_DUE of relay.sql. */
  private firstIsDue(line: string): void {
    const [first] = this.heldOf(line);
    if (first && first.deadAt === undefined) first.retryAt ??= this.now;
  }

  private get now(): number {
    return this.options.now();
  }

  private visible(): Row[] {
    return this.rows.filter(({ transaction }) => transaction.status === 'committed');
  }

  private heldOf(line: string): Row[] {
    return this.visible().filter((row) => row.held && row.line === line);
  }

  private byId(ids: readonly string[]): Row[] {
    const wanted = new Set(ids);
    return this.visible().filter(({ message }) => wanted.has(message.id));
  }

  private remove(gone: ReadonlySet<Row>): void {
    this.rows = this.rows.filter((row) => !gone.has(row));
  }

  private isCurrent({ lane, epoch }: TakenLanes['lanes'][number]): boolean {
    return `${this.lanes[lane]!.epoch}` === epoch;
  }
}

function taken({ message, lane, attempts }: Row): TakenMessage {
  return { ...message, lane, attempts };
}
