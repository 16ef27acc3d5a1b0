import { hostname } from 'node:os';
import { Inject, Injectable, Logger, type OnModuleInit, Optional } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { v4 as uuid } from 'uuid';
import { ApplicationLifeCycle, type LifeCyclePart } from '../nest/life-cycle/application-life-cycle.js';
import { requireAmbient, SAGA_AMBIENT, type SagaAmbient } from '../nest/ambient.js';
import { SAGA_CODEC } from '../nest/saga-codec.js';
import { SagaPoller } from '../nest/maintenance/saga.poller.js';
import { applicationDatabase } from '../nest/application-database.js';
import { SagaConfigurationError } from '../errors.js';
import { SagaObservers } from '../engine/observe/saga-observers.js';
import { Coder } from '../store/coded/coder.js';
import type { PayloadCodec } from '../store/coded/payload-codec.js';
import { EngineSql } from '../store/postgres/connection/engine-sql.js';
import { ListenWakeup } from '../store/postgres/connection/listen-wakeup.js';
import { prepareTables } from '../store/postgres/setup/prepare-tables.js';
import { MESSAGING_NEEDS } from '../store/postgres/setup/needs.js';
import { PostgresInbox } from '../store/postgres/outbox/postgres-inbox.js';
import type { PostgresOutbox } from '../store/postgres/outbox/postgres-outbox.js';
import { wakeupChannel } from '../store/postgres/connection/wakeup-channel.js';
import { CodedOutbox, decodingTransport } from './relay/coded-outbox.js';
import { MODULE_OPTIONS_TOKEN } from './messaging.module-definition.js';
import {
  type ResolvedMessagingOptions,
  type SagaMessagingModuleOptions,
  withMessagingDefaults,
} from './messaging.options.js';
import { Relay } from './relay/relay.js';
import { Retention } from './retention.js';

/** The name of the relay's poll among the application's scheduled intervals. */
export const RELAY_POLL_INTERVAL = 'saga:relay';

/** While hints arrive, only every so many polls look. */
const POLLS_WHILE_LISTENING = 5;

/** How long (ms) answers of PostgreSQL are waited for: a third of the lease, and no shorter than this. */
const SHORTEST_PATIENCE = 1_000;
const DEFAULT_LEASE = 30_000;
/** How long (ms) message handlers may take when an application stops that has no relay, and so no `shutdownTimeout`. */
const HANDLERS_PATIENCE = 10_000;

/** What runs once the application does. */
export interface Messaging {
  readonly options: ResolvedMessagingOptions;
  readonly sql: EngineSql;
  readonly outbox: PostgresOutbox;
  readonly inbox: PostgresInbox;
  readonly retention: Retention;
  readonly relay?: Relay;
  readonly wakeup?: ListenWakeup;
  /** Tells every relay that there may be something to send. */
  readonly announce: () => Promise<void>;
}

/**
 * Wires the outbox and the inbox into the application's life: tables are made when modules are initialised, the relay
 * starts after the application's last bootstrap hook, and ends before its first destroy hook, after sagas and handlers have.
 */
@Injectable()
export class MessagingRuntime implements OnModuleInit, LifeCyclePart {
  private readonly log = new Logger('SagaMessagingModule');
  private readonly options: ResolvedMessagingOptions;
  private readonly coder: Coder;
  private set: Promise<Messaging> | undefined;
  private polls = 0;

  constructor(
    @Inject(MODULE_OPTIONS_TOKEN) options: SagaMessagingModuleOptions | undefined,
    @Inject(SagaPoller) private readonly poller: SagaPoller,
    @Inject(ModuleRef) private readonly moduleRef: ModuleRef,
    @Optional() @Inject(SAGA_CODEC) sagaCodec: PayloadCodec | null | undefined,
    @Optional() @Inject(SagaObservers) private readonly observers: SagaObservers | undefined,
    @Inject(ApplicationLifeCycle) private readonly lifeCycle: ApplicationLifeCycle,
    /** SagaModule's. */
    @Optional() @Inject(SAGA_AMBIENT) private readonly ambient: SagaAmbient | null | undefined,
  ) {
    this.options = withMessagingDefaults(options ?? {});
    this.coder = new Coder(oneCodec(this.options.codec, sagaCodec ?? undefined));
    lifeCycle.add(this, 'send', this.options.relay?.shutdownTimeout ?? HANDLERS_PATIENCE);
  }

  async onModuleInit(): Promise<void> {
    if (!this.lifeCycle.isEnding) await this.ready();
  }

  async begin(): Promise<void> {
    const { relay, wakeup, retention, options, sql } = await this.ready();
    this.boundAnswers(sql);
    retention.start();
    if (!relay || !wakeup || !options.relay) return;
    relay.start();
    await wakeup.start(({ type }) => {
      if (type === 'published' || type === 'missed') relay.look();
    });
    this.poller.start(
      options.relay.pollInterval,
      () => {
        this.polls += 1;
        if (!wakeup.listening || this.polls % POLLS_WHILE_LISTENING === 0) relay.look();
      },
      RELAY_POLL_INTERVAL,
    );
  }

  async drain(): Promise<void> {
    this.poller.stop(RELAY_POLL_INTERVAL);
    const { relay, wakeup, retention } = (await this.set?.catch(() => undefined)) ?? {};
    await Promise.all([relay?.stop(), wakeup?.stop(), retention?.stop()]);
  }

  /** Not before: hooks and requests in progress may send by the same client. */
  async close(): Promise<void> {
    if (this.set) await this.options.relay?.transport.close?.();
  }

  /**
   * Returns the transaction that is open in the context of a call.
   * @throws SagaTransactionError if none is open
   */
  ambientTransaction(call: string): object {
    return requireAmbient(this.ambient ?? undefined, call);
  }

  /** Sets everything up at the first call. The first hook of any provider may publish messages. */
  ready(): Promise<Messaging> {
    this.set ??= this.setUp();
    return this.set;
  }

  /** SagaModule, if it is there, has bounded them by its own lease. Migrations, which may take long, are over. */
  private boundAnswers({ watchdog }: EngineSql): void {
    const { relay } = this.options;
    if (!watchdog.bounded)
      watchdog.setStatementTimeout(Math.max(SHORTEST_PATIENCE, (relay?.lease ?? DEFAULT_LEASE) / 3));
  }

  private async setUp(): Promise<Messaging> {
    const { options, log } = this;
    const { schema } = options;
    const sql = new EngineSql(applicationDatabase(this.moduleRef, options, 'SagaMessagingModule'));
    await prepareTables(sql, options, MESSAGING_NEEDS, log);
    const outbox = new CodedOutbox(sql, schema, this.coder);
    const inbox = new PostgresInbox(sql, schema);
    const channel = wakeupChannel(schema);
    const notify = (name: string, payload: string) => sql.query('SELECT pg_notify($1, $2)', [name, payload]);
    const name = `${hostname()}:${process.pid}:${uuid().slice(0, 8)}`;
    const relay =
      options.relay &&
      new Relay(
        outbox,
        decodingTransport(options.relay.transport, this.coder),
        { ...options.relay, name },
        log,
        undefined,
        (error) => this.observers?.relayFailed(error),
      );
    return {
      ...{ options, sql, outbox, inbox, relay },
      retention: new Retention(outbox, inbox, options, this.poller, log),
      wakeup: relay && new ListenWakeup(sql.pool, channel, notify, log),
      announce: () => outbox.announce(channel),
    };
  }
}

/** Messages of sagas and messages of transactions are in one outbox. */
function oneCodec(own: PayloadCodec | undefined, sagas: PayloadCodec | undefined): PayloadCodec | undefined {
  if (own === undefined || sagas === undefined || own === sagas) return own ?? sagas;
  throw new SagaConfigurationError(
    'SagaMessagingModule.forRoot: codec differs from the codec of SagaModule; remove it to use the codec of SagaModule.',
  );
}
