import { Inject, Injectable, Logger, type OnModuleInit, Optional } from '@nestjs/common';
import { ModuleRef, ModulesContainer } from '@nestjs/core';
import { SagaConfigurationError, type SagaModuleOptions } from 'nestjs-durable-saga';
import type { PayloadCodec } from 'nestjs-durable-saga/encryption';
import { inOwnContext } from 'nestjs-durable-saga/internal';
import {
  ApplicationLifeCycle,
  Coder,
  type LifeCyclePart,
  MODULE_OPTIONS_TOKEN as SAGA_OPTIONS,
  SagaObservers,
  SagaPoller,
  type ShardsRead,
  applicationDatabase,
  checkImportedOnce,
  readShardOptions,
  requireAmbient,
  shardPlaces,
} from 'nestjs-durable-saga/internal/runtime';
import { type MessagingDatabases, OneDatabase } from './databases/messaging-databases.js';
import { MessagingShards } from './databases/messaging-shards.js';
import {
  MODULE_OPTIONS_TOKEN,
  type ResolvedMessagingOptions,
  type SagaMessagingModuleOptions,
  withMessagingDefaults,
} from './messaging.options.js';

/** How long (ms) message handlers may take when an application stops that has no relay, and so no `shutdownTimeout`. */
const HANDLERS_PATIENCE = 10_000;

/** What runs once the application does. */
export interface Messaging {
  readonly options: ResolvedMessagingOptions;
  readonly databases: MessagingDatabases;
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

  constructor(
    @Inject(MODULE_OPTIONS_TOKEN) options: SagaMessagingModuleOptions,
    @Inject(SagaPoller) private readonly poller: SagaPoller,
    @Inject(ModuleRef) private readonly moduleRef: ModuleRef,
    @Optional() @Inject(SagaObservers) private readonly observers: SagaObservers | undefined,
    @Inject(ApplicationLifeCycle) private readonly lifeCycle: ApplicationLifeCycle,
    /** SagaModule's. Undefined: the application does not import it, or it was given none. */
    @Optional() @Inject(SAGA_OPTIONS) private readonly ofSagas: SagaModuleOptions | undefined,
    @Inject(ModulesContainer) modules: ModulesContainer,
  ) {
    checkImportedOnce(modules, MessagingRuntime, 'SagaMessagingModule');
    this.options = withMessagingDefaults(options);
    this.coder = new Coder(oneCodec(this.options.codec, ofSagas?.codec));
    lifeCycle.add(this, 'send', this.options.relay?.shutdownTimeout ?? HANDLERS_PATIENCE);
  }

  async onModuleInit(): Promise<void> {
    if (!this.lifeCycle.isEnding) await this.ready();
  }

  async begin(): Promise<void> {
    await (await this.ready()).databases.begin();
  }

  async drain(): Promise<void> {
    const messaging = await this.set?.catch(() => undefined);
    await messaging?.databases.drain();
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
    return requireAmbient(this.ofSagas?.ambient, call);
  }

  /** Sets everything up at the first call. The first hook of any provider may publish messages. */
  ready(): Promise<Messaging> {
    this.set ??= inOwnContext(() => this.setUp());
    return this.set;
  }

  private async setUp(): Promise<Messaging> {
    const { options, coder, poller, observers, log, moduleRef } = this;
    const parts = { options, coder, poller, observers, log };
    const shards = oneChoice(options, this.ofSagas?.shards);
    if (shards) {
      const places = shardPlaces(moduleRef, shards, 'SagaMessagingModule');
      return { options, databases: await MessagingShards.over(places, parts) };
    }
    const database = applicationDatabase(moduleRef, options, 'SagaMessagingModule');
    return { options, databases: await OneDatabase.over(database, parts) };
  }
}

/**
 * Returns the shards. Undefined: there is one database. A relay over some of SagaModule's shards would leave the messages
 * of the others in their outbox.
 */
function oneChoice(
  { database, dataSource, shards, schema }: ResolvedMessagingOptions,
  ofSagas: SagaModuleOptions['shards'],
): ShardsRead['shards'] {
  if (!ofSagas) return shards;
  const names = Object.keys(ofSagas);
  const own = database === undefined ? (dataSource === undefined ? undefined : 'dataSource') : 'database';
  if (own !== undefined)
    throw new SagaConfigurationError(
      `SagaMessagingModule: ${own} is set, but SagaModule has the shards ${names.join(', ')}, and messages of each are in ` +
        `its own outbox; remove ${own} to use the shards of SagaModule.`,
    );
  const given = shards && [...shards.keys()];
  if (given && [...given].sort().join() !== [...names].sort().join())
    throw new SagaConfigurationError(
      `SagaMessagingModule: shards has ${given.join(', ')}, but SagaModule has the shards ${names.join(', ')}; remove it to use ` +
        `the shards of SagaModule.`,
    );
  // SagaModule reports what is wrong with them.
  const { shards: read } = readShardOptions({ shards: ofSagas }, schema, () => undefined);
  const [other] = [...(shards ?? [])].find(([name, place]) => read?.get(name)?.schema !== place.schema) ?? [];
  if (other === undefined) return shards ?? read;
  throw new SagaConfigurationError(
    `SagaMessagingModule: the schema of shards.${other} is '${shards!.get(other)!.schema}', but SagaModule has ` +
      `'${read?.get(other)?.schema}'; remove shards to use the shards of SagaModule.`,
  );
}

/** Messages of sagas and messages of transactions are in one outbox. */
function oneCodec(own: PayloadCodec | undefined, sagas: PayloadCodec | undefined): PayloadCodec | undefined {
  if (own === undefined || sagas === undefined || own === sagas) return own ?? sagas;
  throw new SagaConfigurationError(
    'SagaMessagingModule: codec differs from the codec of SagaModule; remove it to use the codec of SagaModule.',
  );
}
