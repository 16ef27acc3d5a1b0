import { randomUUID } from 'node:crypto';
import type { EngineLog } from '../../../engine/ports/engine-log.js';
import type { Wakeup, WakeupMessage } from '../../../engine/ports/wakeup.js';
import { transientWait } from '../../../shared/transient-wait.js';
import { type StatementWatchdog, watchdogOf } from './statement-watchdog.js';
import type { PgClient, PgPool } from './pg-types.js';

/** Announcements are gathered this long (ms): under load, a hint a batch is enough, and NOTIFY serialises commits. */
const GATHER = 10;
const RECONNECT_WAITS = { first: 100, longest: 10_000 };
/** A connection that receives nothing looks as one that is only half there, so it is asked for an answer this often (ms). */
const HEARTBEAT = 10_000;
/** A connection is taken to receive nothing after so many tests, one a heartbeat. */
const TESTS = 2;

/**
 * Hints between processes by LISTEN/NOTIFY, on a connection of its own beside the application's pool, so that a
 * small pool is not made smaller. It reconnects by itself. It counts as listening once it has received itself: behind a
 * transaction-mode pooler LISTEN succeeds and nothing is ever received, so that polling does the work.
 */
export class ListenWakeup implements Wakeup {
  listening = false;
  private client: PgClient | undefined;
  private onMessage: (message: WakeupMessage) => void = () => undefined;
  private reconnect: NodeJS.Timeout | undefined;
  private announcement: NodeJS.Timeout | undefined;
  private heartbeat: NodeJS.Timeout | undefined;
  private stopped = false;
  private failures = 0;
  /** The payload that tests whether a connection receives notifications. */
  private echo = '';
  private isKnownDeaf = false;
  /** Counts the tests of this connection that were sent and not received. */
  private unheard = 0;
  private isEchoSent = false;
  private readonly watchdog: StatementWatchdog;

  constructor(
    private readonly pool: PgPool,
    private readonly channel: string,
    private readonly notify: (channel: string, payload: string) => Promise<unknown>,
    private readonly log: EngineLog,
    /** Milliseconds between two heartbeats. */
    private readonly pulse: number = HEARTBEAT,
  ) {
    this.watchdog = watchdogOf(pool);
  }

  async start(onMessage: (message: WakeupMessage) => void): Promise<void> {
    this.onMessage = onMessage;
    await this.connect();
  }

  announceDue(): void {
    this.announcement ??= setTimeout(() => {
      this.announcement = undefined;
      // Only a hint: a process that misses it polls.
      this.notify(this.channel, 'due').catch(() => undefined);
    }, GATHER);
  }

  /** Ends the connection. What is announced afterwards is still sent, over the pool, at the next stop at the latest. */
  async stop(): Promise<void> {
    this.stopped = true;
    this.listening = false;
    clearTimeout(this.reconnect);
    clearTimeout(this.heartbeat);
    if (this.announcement !== undefined) {
      clearTimeout(this.announcement);
      this.announcement = undefined;
      await this.notify(this.channel, 'due').catch(() => undefined);
    }
    const { client } = this;
    this.client = undefined;
    if (client) await this.watchdog.watch(client, client.end()).catch(() => undefined);
  }

  private async connect(): Promise<void> {
    const client = new this.pool.Client(this.pool.options);
    this.client = client;
    client.on('error', () => this.lost(client));
    client.on('end', () => this.lost(client));
    client.on('notification', ({ payload }) => {
      if (payload === this.echo && client === this.client && !this.stopped) {
        this.unheard = 0;
        return void (this.listening = true);
      }
      const message = parse(payload ?? '');
      if (message) this.onMessage(message);
    });
    try {
      await this.watchdog.watch(client, client.connect());
      await this.watchdog.watch(client, client.query(`LISTEN "${this.channel}"`));
      if (this.stopped) return void (await client.end());
      this.unheard = 0;
      await this.sayToItself();
      if (this.failures > 0) this.log.log(`LISTEN works again after ${this.failures} failed attempt(s)`);
      this.failures = 0;
      this.onMessage({ type: 'missed' });
      this.beatLater(client);
    } catch (error) {
      if (this.failures === 0 && !this.stopped) {
        this.log.warn(`LISTEN failed; the worker polls until it works again: ${(error as Error).message}`);
      }
      this.lost(client);
    }
  }

  private beatLater(client: PgClient): void {
    this.heartbeat = setTimeout(() => {
      if (client !== this.client) return;
      this.watchdog.watch(client, client.query('SELECT 1')).then(
        () => {
          if (!this.listening) this.testAgain();
          this.beatLater(client);
        },
        () => this.lost(client),
      );
    }, this.pulse);
    this.heartbeat.unref();
  }

  /** Sent over the pool, like all hints. Other processes ignore it. */
  private async sayToItself(): Promise<void> {
    const echo = (this.echo = `echo:${randomUUID()}`);
    this.isEchoSent = false;
    await this.notify(this.channel, echo).then(
      () => (this.isEchoSent = echo === this.echo),
      () => undefined,
    );
  }

  /**
   * The test was not received. During a failover it may not have been sent, or to the server that was the primary before, so
   * that one test alone says nothing.
   */
  private testAgain(): void {
    if (this.isEchoSent) this.unheard += 1;
    if (this.unheard >= TESTS && !this.isKnownDeaf) {
      this.log.warn(
        'No notifications arrive, as behind a pooler in transaction mode. The worker polls instead. Steps that wait for another ' +
          'process start at the next poll (worker.pollInterval). Use a session-mode or direct connection to start them at once.',
      );
      this.isKnownDeaf = true;
    }
    void this.sayToItself();
  }

  private lost(client: PgClient): void {
    if (client !== this.client || this.stopped) return;
    this.client = undefined;
    this.listening = false;
    clearTimeout(this.heartbeat);
    client.end().catch(() => undefined);
    const wait = transientWait(this.failures, Math.random(), RECONNECT_WAITS);
    this.failures += 1;
    this.reconnect = setTimeout(() => void this.connect(), wait);
    this.reconnect.unref();
  }
}

function parse(payload: string): WakeupMessage | undefined {
  const [type, id] = payload.split(':', 2) as [string, string?];
  if (type === 'due' || type === 'published' || type === 'pauses') return { type };
  if ((type === 'look' || type === 'settled') && id !== undefined) return { type, id };
  return undefined;
}
