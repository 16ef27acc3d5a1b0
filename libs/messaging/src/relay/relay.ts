import {
  type Clock,
  type EngineLog,
  type ResolvedRetryPolicy,
  type Timer,
  cut,
  relayedMessage,
  repeated,
  retryDelay,
  systemClock,
  transientWait,
} from 'nestjs-durable-saga/internal';
import {
  type FailedMessage,
  OUTBOX_PAGE_BYTES,
  type OutboxStore,
  type PageLimits,
  type Settlement,
  type TakenLanes,
  type TakenMessage,
  Trouble,
} from 'nestjs-durable-saga/internal/runtime';
import { BrokerWatch, type Failure, sendInOrder, type SendReport } from './send-in-order.js';
import { LaneLeases } from './lane-leases.js';
import type { MessageTransport } from './message-transport.js';

export interface RelaySettings {
  /** Names the relay among all. */
  readonly name: string;
  /** Messages taken at once. */
  readonly batch: number;
  /** Batches in progress at once. */
  readonly batchesAtOnce: number;
  /** Milliseconds. */
  readonly lease: number;
  /** Milliseconds that the broker may take for a message. */
  readonly sendTimeout: number;
  /** The retry policy for messages that the broker refuses. */
  readonly retry: ResolvedRetryPolicy;
  /** Milliseconds that what is in progress may take when the application stops. */
  readonly shutdownTimeout: number;
}

/** What a relay goes by; the simulation brings its own. */
export interface RelayTime {
  readonly clock: Clock;
  /** 0 to below 1. */
  readonly random: () => number;
}

/** Lanes taken at once; the rest is left to others. */
const LANES_AT_ONCE = 8;
/**
 * After so long (ms), a turn of which only a few keys are not through yet gives its lanes back: a key with very many
 * messages, which are sent one after the other, does not keep those of its neighbours waiting.
 */
const LONG_TURN = 1_000;
const FEW_KEYS_SHARE = 0.25;
/** While the broker is out of order, so many messages ask whether it is back. */
const PROBE = { messages: 10, lanes: 1 };
/** Down to a page of one message. */
const MOST_HALVINGS = 20;
/** Waits (ms) while the broker is out of order. */
const OUTAGE_WAITS = { first: 200, longest: 5_000 };
/**
 * A message that failed beside others that did not, and may or may not be the reason, is due again after (ms), about: such
 * messages are not to be tried together for ever.
 */
const SUSPECT_AGAIN = 1_000;
/**
 * The delays (ms) of further reads after the last message was found. A transaction that began to publish while relays
 * were busy sends no notification (publish.sql), and may commit a little later.
 */
const LOOKS_AGAIN = [10, 30, 100, 300, 1_000];
/** The number of characters that are stored of an error. */
const LONGEST_ERROR = 2_000;

/**
 * Sends what is in the outbox, at least once, in order per topic and key, beside other relays.
 *
 * A turn takes some lanes with their messages, sends them, and settles: two statements for a batch, and no transaction
 * in between. Whatever happens in between, the messages are still there, and the lanes free once their lease is over.
 */
export class Relay {
  private readonly turns = new Set<Promise<void>>();
  private readonly watch: BrokerWatch;
  private readonly leases: LaneLeases;
  /** Outages in a row. */
  private outages = 0;
  /** Turns in a row that the database failed. */
  private failures = 0;
  /** Pages are halved so many times: one that the database cannot give in time is not asked for again for ever. */
  private halvings = 0;
  private readonly trouble: Trouble;
  private pausedUntil = 0;
  private wake: Timer | undefined;
  private wakeAt = Infinity;
  private looks = LOOKS_AGAIN.length;
  private running = false;
  private abandoned = false;
  /** Topics of which the broker refuses a message, until one that it refused is sent, or dead. The log has each once. */
  private readonly refusedTopics = new Set<string>();
  /** Calls of `take()` that have no answer yet. */
  private taking = 0;
  /** The answer of a call of `take()` was lost: lanes may be ours of which this process does not know. */
  private answerLost = false;
  private anew = false;

  constructor(
    private readonly outbox: Pick<
      OutboxStore,
      'take' | 'lanesOf' | 'settle' | 'renew' | 'isOutage' | 'isTransient'
    >,
    private readonly transport: MessageTransport,
    private readonly settings: RelaySettings,
    private readonly log: EngineLog,
    private readonly time: RelayTime = { clock: systemClock, random: Math.random },
    /** Receives each turn in which the database failed. */
    failed: (error: unknown) => void = () => undefined,
  ) {
    this.trouble = new Trouble(
      { store: outbox, clock: time.clock, log, count: failed },
      { what: 'A run of the relay', meanwhile: 'The next run reads smaller pages' },
    );
    this.leases = new LaneLeases(outbox, settings.lease, time.clock);
    this.watch = new BrokerWatch(() => time.clock.monotonic());
  }

  private get now(): number {
    return this.time.clock.monotonic();
  }

  start(): void {
    this.running = true;
    this.look();
  }

  /** There may be something to send. */
  look(): void {
    this.looks = 0;
    this.begin();
  }

  /** Lets what is in progress end, in time; what is not sent by then is left to others. */
  async stop(): Promise<void> {
    this.running = false;
    const { clock } = this.time;
    clock.cancel(this.wake);
    const late = clock.after(this.settings.shutdownTimeout, () => (this.abandoned = true));
    const timeUp = new Promise<void>((resolve) =>
      clock.after(this.settings.shutdownTimeout + 1_000, resolve).unref(),
    );
    await Promise.race([Promise.all(this.turns), timeUp]);
    clock.cancel(late);
    this.leases.stop();
  }

  private begin(): void {
    if (!this.running) return;
    const pause = this.pausedUntil - this.now;
    if (pause > 0) return this.lookIn(pause);
    if (this.turns.size >= this.room) {
      this.anew = true;
      return;
    }
    const turn = this.turn().finally(() => {
      this.turns.delete(turn);
      if (this.anew) {
        this.anew = false;
        this.begin();
      }
    });
    this.turns.add(turn);
  }

  /** While the broker is out of order one asks for all. */
  private get room(): number {
    return this.outages > 0 || this.failures > 0 ? 1 : this.settings.batchesAtOnce;
  }

  private async turn(): Promise<void> {
    try {
      const most = this.outages > 0 ? PROBE : this.page;
      const asked = this.now;
      const taken = await this.take(most);
      this.databaseAnswers();
      if (!taken.found) return this.lookAgain();
      // Others of this process may find more, meanwhile.
      this.looks = 0;
      if (this.outages === 0) queueMicrotask(() => this.begin());
      await this.relay(taken, asked);
      this.begin();
    } catch (error) {
      this.databaseFailed(error as Error);
    }
  }

  private async take(most: PageLimits): Promise<TakenLanes> {
    // One that is in progress may have taken lanes of which this process learns with its answer.
    if (this.answerLost && this.taking === 0) await this.giveBack();
    this.taking += 1;
    try {
      return await this.outbox.take(this.settings.name, this.settings.lease, most);
    } catch (error) {
      this.answerLost = true;
      throw error;
    } finally {
      this.taking -= 1;
    }
  }

  /** Gives back the lanes of answers that were lost, which would wait for the end of their leases. None of their messages was sent. */
  private async giveBack(): Promise<void> {
    const leased = await this.outbox.lanesOf(this.settings.name);
    const inProgress = this.leases.lanes;
    const lanes = leased.filter(({ lane }) => !inProgress.has(lane));
    const unfinished = new Set(lanes.map(({ lane }) => lane));
    if (lanes.length > 0) await this.outbox.settle(lanes, { sent: [], failed: [], behind: [], unfinished });
    this.answerLost = false;
  }

  private get page(): PageLimits {
    const parts = 2 ** this.halvings;
    const part = (whole: number) => Math.max(1, Math.floor(whole / parts));
    return {
      messages: part(this.settings.batch),
      lanes: part(LANES_AT_ONCE),
      bytes: part(OUTBOX_PAGE_BYTES),
    };
  }

  private async relay(taken: TakenLanes, asked: number): Promise<void> {
    if (taken.messages.length === 0) return;
    const lease = this.leases.hold(taken.lanes, asked);
    const late = this.now + LONG_TURN;
    try {
      const messages = taken.messages.map(relayedMessage);
      const report = await sendInOrder(messages, {
        transport: this.transport,
        timeout: this.settings.sendTimeout,
        clock: this.time.clock,
        watch: this.watch,
        goesOn: (share) => !this.abandoned && (share > FEW_KEYS_SHARE || this.now < late) && lease.isHeld(),
      });
      const settlement = this.settlementOf(report);
      await this.persistently(() => this.outbox.settle(taken.lanes, settlement));
    } finally {
      lease.release();
    }
  }

  private settlementOf(report: SendReport<TakenMessage>): Settlement {
    const outage = report.sent.length === 0 && report.failed.some(({ refused }) => !refused);
    if (outage) this.outageBegan(report.failed[0]!);
    // A refusal is an answer, too.
    else if (report.sent.length + report.failed.length > 0) this.outageEnded();
    // A broker that is out of order says nothing about messages: they stay as they are.
    const failed = report.failed.filter(({ refused }) => refused || !outage);
    const told = new Set(failed.map(({ message }) => lineOf(message)));
    const behind = report.behind.filter((message) => told.has(lineOf(message)));
    const sent = new Set(report.sent);
    for (const { topic, attempts } of sent) if (attempts > 0) this.accepted(topic);
    const [failures, held] = [failed.map((failure) => this.failedMessage(failure)), new Set(behind)];
    const settled = new Set<TakenMessage>([...sent, ...held, ...failed.map(({ message }) => message)]);
    const unfinished = new Set<number>();
    for (const message of [...report.failed.map((one) => one.message), ...report.behind, ...report.left])
      if (!settled.has(message)) unfinished.add(message.lane);
    return { sent: report.sent.map(idOf), failed: failures, behind: behind.map(idOf), unfinished };
  }

  private failedMessage({ message, error, refused }: Failure<TakenMessage>): FailedMessage {
    const { retry } = this.settings;
    const told = {
      id: message.id,
      error: cut(`${error.name}: ${error.message}`.replaceAll('\0', '\u2400'), LONGEST_ERROR),
    };
    if (!refused) {
      const retryIn = SUSPECT_AGAIN * (0.5 + this.time.random());
      this.lookIn(retryIn);
      return { ...told, attempts: message.attempts, retryIn };
    }
    const attempts = message.attempts + 1;
    if (attempts >= retry.attempts) {
      this.refusedTopics.delete(message.topic);
      this.log.error(
        `Message ${message.id} to '${message.topic}' (key '${message.key}') is dead after ${attempts} attempt(s): ` +
          `${error.message.replace(/\.$/, '')}. Later messages of its key wait until it is requeued or discarded`,
      );
      return { ...told, attempts };
    }
    this.refused(message.topic, error);
    const retryIn = retryDelay(retry, attempts, this.time.random());
    this.lookIn(retryIn);
    return { ...told, attempts, retryIn };
  }

  private refused(topic: string, error: Error): void {
    if (this.refusedTopics.has(topic)) return;
    this.refusedTopics.add(topic);
    this.log.warn(
      `The broker refuses a message to '${topic}': ${error.message.replace(/\.$/, '')}. Later messages of its key wait for it. It is sent ` +
        `again, and is dead after ${this.settings.retry.attempts} attempts. Is there a queue or a subscriber for '${topic}'?`,
    );
  }

  private accepted(topic: string): void {
    if (this.refusedTopics.delete(topic)) this.log.log(`The broker accepts messages to '${topic}' again`);
  }

  private outageBegan({ error }: Failure<TakenMessage>): void {
    // Another turn of this process has just received the same error.
    if (this.now < this.pausedUntil) return;
    if (this.outages === 0) this.log.warn(`The broker accepts no messages, retrying: ${error.message}`);
    const wait = transientWait(this.outages, this.time.random(), OUTAGE_WAITS);
    this.outages += 1;
    this.pausedUntil = this.now + wait;
  }

  private outageEnded(): void {
    if (this.outages > 0) this.log.log('The broker accepts messages again');
    this.outages = 0;
  }

  private databaseFailed(error: Error): void {
    if (!this.running) return;
    this.trouble.met(error);
    this.halvings = Math.min(MOST_HALVINGS, this.halvings + 1);
    this.pausedUntil = this.now + transientWait(this.failures, this.time.random());
    this.failures += 1;
    this.begin();
  }

  private databaseAnswers(): void {
    this.trouble.over();
    this.halvings = Math.max(0, this.halvings - 1);
    this.failures = 0;
  }

  /** What was sent is to be known as sent, or it would be sent again. */
  private persistently(settle: () => Promise<void>): Promise<void> {
    const until = this.now + this.settings.lease;
    const isRepeated = (error: unknown) =>
      this.outbox.isOutage(error) && this.now <= until && !this.abandoned;
    return repeated(settle, isRepeated, this.time);
  }

  private lookAgain(): void {
    const wait = LOOKS_AGAIN[this.looks];
    if (wait === undefined) return;
    this.looks += 1;
    this.lookIn(wait);
  }

  private lookIn(ms: number): void {
    const at = this.now + ms;
    if (!this.running || at >= this.wakeAt) return;
    this.time.clock.cancel(this.wake);
    this.wakeAt = at;
    this.wake = this.time.clock.after(ms, () => {
      this.wakeAt = Infinity;
      this.begin();
    });
    this.wake.unref();
  }
}

const idOf = ({ id }: TakenMessage): string => id;
const lineOf = ({ topic, key }: TakenMessage): string => `${topic}\0${key}`;
