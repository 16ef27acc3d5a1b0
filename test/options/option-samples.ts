import { randomUUID } from 'node:crypto';
import 'reflect-metadata';
import { type DynamicModule, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { decorated, Refused } from './decorated-class.js';
import { SagaAdminModule } from '../../libs/admin/src/index.js';
import {
  Approval,
  RemoteStep,
  Saga,
  SagaModule,
  type SagaOperations,
  Step,
  type StepContext,
  StepHandler,
  SubSaga,
  WaitFor,
} from '../../libs/saga/src/index.js';
import { AesGcmCodec } from '../../libs/saga/src/encryption.js';
import { describeSaga, layoutOf, mermaidOf } from '../../libs/saga/src/diagram.js';
import { sagaEntities, sagaMigrations } from '../../libs/saga/src/database.js';
import {
  ClientProxyTransport,
  DurableEvent,
  Inbox,
  JetStreamServer,
  JetStreamTransport,
  Outbox,
  SagaMessagingModule,
  SagaReply,
} from '../../libs/messaging/src/index.js';
import { declareSaga, readSagas } from '../../libs/declared/src/index.js';
import { SagaHealthIndicator, SagaTelemetryModule } from '../../libs/telemetry/src/index.js';
import { SagaTest } from '../../libs/saga/src/testing/index.js';
import { handling } from '../../libs/saga/src/engine/observe/handled-message.js';
import type { TestApp } from '../support/test-app.js';

@Saga({ name: 'order' })
export class Order {
  @Step({ compensate: 'undo' }) act() {}
  undo() {}
  @WaitFor({ signal: 'paid' }) paid() {}
}
const READING = {
  ...{ environment: {}, checkEnvironment: false, findMethod: () => 'none', sagas: [] },
  network: { allowHosts: ['a.example.com'], allowPrivate: true },
};
@Saga({ name: 'nightly', schedule: { cron: '0 2 * * *' } })
class Nightly {
  @Step() report() {}
}
@Saga({ name: 'publisher' })
export class Publisher {
  static message: object = {};
  static report: object | undefined;
  @Step({ retry: { attempts: 1 } }) publish(ctx: StepContext) {
    if (Publisher.report) ctx.progress(Publisher.report);
    ctx.publish(Publisher.message as never);
  }
}

/** A call with all that it may be given, and what runs it. */
export interface Sample {
  readonly args: readonly unknown[];
  readonly run: (...args: never[]) => unknown;
}

/** What the samples call: the running application, and a saga in it. Set before each test. */
export interface SampleContext {
  app: TestApp;
  id: string;
}

const retry = { attempts: 2, delay: 1, factor: 2, maxDelay: 10, jitter: 0, retryIf: () => true };
const expects = { status: 'running', revision: 1 };
const operator = { by: 'ann', reason: 'why', expects };
const filter = {
  ...{ saga: 'order', status: 'running', correlationId: 'o-1', tags: { a: 'b' } },
  ...{ createdAfter: new Date(0), createdBefore: new Date(), limit: 1, cursor: randomUUID() },
  ...{ startedAt: { from: new Date(0), to: new Date() }, endedAt: { from: new Date(0), to: new Date() } },
  ...{ step: 'pay', waitingFor: 'paid' },
  ...{ overdue: false, errorCode: 'DECLINED' },
};
const message = { topic: 't', key: 'k', type: 'y', payload: {}, headers: {} };
const stream = { name: 'S', subjects: ['s.>'], config: {} };
const policies = { retry, compensationRetry: retry };
const node = {
  compensate: 'undo',
  after: [],
  join: 'all',
  when: () => true,
  delay: 1,
  savepoint: { attempts: 2 },
  ...policies,
};

const target = () => ({ saga: Order, correlationId: 'o-1' });

@Module({})
class RootModule {}
const started = async (module: DynamicModule) => {
  const root = { module: RootModule, imports: [module] };
  const nest = await NestFactory.createApplicationContext(root, { logger: false, abortOnError: false });
  await nest.close();
};

/** A sample of each public call that takes an object. */
export function samplesFor(current: SampleContext): Record<string, Sample> {
  const callsOf =
    <Of extends 'sagas' | 'operations' | 'schedules' | 'shards'>(service: Of) =>
    (name: keyof TestApp[Of]) =>
    (...args: never[]) =>
      (current.app[service][name] as (...args: never[]) => unknown)(...args);
  const service = callsOf('sagas');
  const operation = callsOf('operations');
  const schedule = callsOf('schedules');
  const shard = callsOf('shards');
  const operatorCall = (name: keyof SagaOperations): Sample => ({
    args: [target(), operator],
    run: operation(name),
  });
  const outbox = () => current.app.nest.get(Outbox, { strict: false });
  const manager = () => current.app.dataSource.manager;

  const publishing = (one: object): Promise<void> => ran({ message: one });
  const progressing = (one: object): Promise<void> => ran({ report: one });
  const ran = async (given: { message?: object; report?: object }): Promise<void> => {
    Object.assign(Publisher, { message: {}, report: undefined, ...given });
    const { failure } = await (await current.app.sagas.start(Publisher, {})).outcome();
    throw new Refused(failure?.error?.message ?? 'nothing was wrong');
  };

  const samples: Record<string, Sample> = {
    ...{
      'SagaService.start': {
        args: [Order, {}, { id: randomUUID(), correlationId: 'o-2', priority: 1, delay: '1h', tags: {} }],
        run: service('start'),
      },
      'SagaService.get': { args: [target()], run: service('get') },
      'SagaOperations.history': { args: [target()], run: operation('history') },
      'SagaOperations.previewRollback': { args: [target()], run: operation('previewRollback') },
      'SagaService.wait': { args: [target(), { timeout: 1 }], run: service('wait') },
      'SagaService.watch': {
        args: [target()],
        run: async (given: never) => {
          for await (const _ of current.app.sagas.watch(given)) return;
        },
      },
      'SagaService.find': { args: [filter], run: service('find') },
      'SagaService.tasks': {
        args: [{ saga: 'order', step: 'agree', tags: { a: 'b' }, limit: 1 }],
        run: service('tasks'),
      },
      'SagaOperations.bulk': {
        args: ['cancel', filter, { by: 'ann', reason: 'why', dryRun: true, limit: 1 }],
        run: operation('bulk'),
      },
      'SagaOperations.cleanup': {
        args: [{ olderThan: '1d', saga: 'order', limit: 1, dryRun: true }],
        run: operation('cleanup'),
      },
      'SagaService.signal': { args: [target(), 'paid', {}, { messageId: 'm' }], run: service('signal') },
      'SagaService.approve': {
        args: [target(), 'act', { by: 'ann', comment: 'yes' }],
        run: service('approve'),
      },
      'SagaService.reject': { args: [target(), 'act', { by: 'ann', comment: 'no' }], run: service('reject') },
      'SagaOperations.retry': {
        args: [target(), { ...operator, input: {}, step: 'act' }],
        run: operation('retry'),
      },
      'SagaOperations.retryNow': {
        args: [target(), { ...operator, step: 'act' }],
        run: operation('retryNow'),
      },
      'SagaOperations.resolve': {
        args: [target(), 'act', { ...operator, result: {}, force: true }],
        run: operation('resolve'),
      },
      'SagaOperations.abandon': {
        args: [target(), 'act', { ...operator, force: true }],
        run: operation('abandon'),
      },
      'SagaOperations.reschedule': { args: [target(), 'act', '1h', operator], run: operation('reschedule') },
      'SagaService.cancel': { args: [target(), operator], run: service('cancel') },
      'SagaOperations.abort': operatorCall('abort'),
      'SagaOperations.undo': operatorCall('undo'),
      'SagaOperations.pause': operatorCall('pause'),
      'SagaOperations.resume': operatorCall('resume'),
      'SagaSchedules.pause': {
        args: ['order', { by: 'ann', reason: 'why' }],
        run: schedule('pause'),
      },
      'SagaSchedules.resume': {
        args: ['order', { by: 'ann', reason: 'why' }],
        run: schedule('resume'),
      },
      'SagaOperations.pauseStep': {
        args: ['order', 'act', { by: 'ann', reason: 'why' }],
        run: operation('pauseStep'),
      },
      'SagaOperations.resumeStep': {
        args: ['order', 'act', { by: 'ann', reason: 'why' }],
        run: operation('resumeStep'),
      },
      'SagaOperations.pausedSteps': { args: [{ resumed: 1 }], run: operation('pausedSteps') },
      'SagaShards.drain': { args: ['eu', { by: 'ann', reason: 'why' }], run: shard('drain') },
      'SagaShards.close': { args: ['eu', { by: 'ann', reason: 'why' }], run: shard('close') },
      'SagaShards.open': { args: ['eu', { by: 'ann', reason: 'why' }], run: shard('open') },
      'SagaHandle.outcome': {
        args: [{ timeout: 1 }],
        run: async (options: never) =>
          (await current.app.sagas.start(Order, {}, { correlationId: 'o-1' })).outcome(options),
      },
    },
    ...{
      'new AesGcmCodec': {
        args: [{ keys: { a: Buffer.alloc(32) }, current: 'a' }],
        run: (options: never) => new AesGcmCodec(options),
      },
      describeSaga: { args: [Order, policies], run: describeSaga },
      mermaidOf: { args: [describeSaga(Order), { direction: 'LR' }], run: mermaidOf },
      layoutOf: {
        args: [describeSaga(Order), { widthOf: () => 1, height: 1, columnGap: 1, rowGap: 1, margin: 1 }],
        run: layoutOf,
      },
      sagaMigrations: { args: ['saga', { partitions: 'day' }], run: sagaMigrations },
      readSagas: { args: ['no-such-file.yaml', READING], run: readSagas },
      declareSaga: { args: ['', { ...READING, file: 'a.yaml' }], run: declareSaga },
      sagaEntities: { args: ['saga', { codec: { encode: 1 } }], run: sagaEntities },
    },
    ...{
      Step: {
        args: [
          {
            ...{ ...node, rateLimit: { count: 1, per: '1s' }, limit: { count: 1 } },
            compensationReply: { signal: 's', timeout: '1h' },
          },
        ],
        run: decorated(Step as never),
      },
      WaitFor: { args: [{ ...node, signal: 's' }], run: decorated(WaitFor as never) },
      Approval: { args: [node], run: decorated(Approval as never) },
      SubSaga: { args: [() => Order, node], run: decorated(SubSaga as never) },
      RemoteStep: { args: ['stock', node], run: decorated(RemoteStep as never) },
      StepHandler: {
        args: ['stock', { ...policies, rateLimit: { count: 1, per: '1s' } }],
        run: decorated(StepHandler),
      },
      Saga: {
        args: [
          {
            ...{ name: 'x', ...policies, limit: { count: 1, key: () => 'a' } },
            rateLimit: { count: 1, per: '1s' },
            schedule: { cron: '0 2 * * *', timezone: 'UTC' },
          },
        ],
        run: (options: never) => {
          class Declared {
            act() {}
          }
          Step()(
            Declared.prototype as never,
            'act',
            Object.getOwnPropertyDescriptor(Declared.prototype, 'act') as never,
          );
          Saga(options)(Declared);
          return describeSaga(Declared);
        },
      },
    },
    ...{
      'SagaModule.forRoot': {
        args: [
          {
            ...{ ...policies, worker: { concurrency: 1 }, approvals: { resolve: 2 } },
            ambient: { tags: () => undefined },
          },
        ],
        run: (options: never) => started(SagaModule.forRoot(options)),
      },
      'SagaModule.forRootAsync': {
        args: [{ imports: [], inject: [], useFactory: () => ({}) }],
        run: (options: never) => SagaModule.forRootAsync(options),
      },
      'SagaMessagingModule.forRoot': {
        args: [
          {
            ...{ transport: { send: async () => undefined }, inbox: { retention: '1d' }, outbox: {} },
            relay: { batch: 1, retry: { attempts: 2 } },
          },
        ],
        run: (options: never) => started(SagaMessagingModule.forRoot(options)),
      },
      'SagaMessagingModule.forRootAsync': {
        args: [{ imports: [], inject: [], useFactory: () => ({}) }],
        run: (options: never) => SagaMessagingModule.forRootAsync(options),
      },
      'SagaTelemetryModule.forRoot': {
        args: [{ traces: false }],
        run: (options: never) => started(SagaTelemetryModule.forRoot(options)),
      },
      'SagaTelemetryModule.forRootAsync': {
        args: [{ imports: [], inject: [], useFactory: () => ({}) }],
        run: (options: never) => SagaTelemetryModule.forRootAsync(options),
      },
      'SagaAdminModule.register': {
        args: [{ guards: [], path: 'ops' }],
        run: (options: never) => started(SagaAdminModule.register(options)),
      },
      'SagaAdminModule.registerAsync': {
        args: [{ guards: [], path: 'ops', useFactory: () => ({}) }],
        run: (options: never) => SagaAdminModule.registerAsync(options),
      },
      'SagaHealthIndicator.isHealthy': {
        args: ['sagas', { maxOldestDue: '1m', maxStuck: 1, timeout: '1s' }],
        run: (...args: [never, never]) =>
          current.app.nest.get(SagaHealthIndicator, { strict: false }).isHealthy(...args),
      },
    },
    ...{
      'Outbox.dead': { args: [{ limit: 1 }], run: (...args: [never]) => outbox().dead(...args) },
      'Outbox.publish': {
        // The message is the first argument in an ambient transaction. Both forms read it in the same way.
        args: [message, message],
        run: (alone: object, one: object) => outbox().publish(manager(), { ...alone, ...one } as never),
      },
      'Outbox.reply': {
        args: [undefined, message],
        run: (_: never, one: never) =>
          handling({ 'saga-id': current.id }, () => outbox().reply(manager(), one)),
      },
      'Inbox.once': {
        // The options are the third argument in an ambient transaction. Both forms read them in the same way.
        args: ['m', undefined, { consumer: 'c' }, { consumer: 'c' }],
        run: (key: never, _: never, alone: object, options: object) =>
          current.app.nest
            .get(Inbox, { strict: false })
            .once(key, manager(), () => undefined, { ...alone, ...options }),
      },
      DurableEvent: { args: ['t', { redeliverAfter: 1, extras: {} }], run: DurableEvent },
      SagaReply: { args: ['t', { signal: 's', redeliverAfter: 1 }], run: SagaReply },
      'new ClientProxyTransport': {
        args: [{}, { close: true }],
        run: (client: never, options: never) => new ClientProxyTransport(client, options),
      },
      'new JetStreamTransport': {
        args: [{ stream }],
        run: (options: never) => new JetStreamTransport(options),
      },
      'new JetStreamServer': {
        args: [{ stream, consumer: 'c' }],
        run: (options: never) => new JetStreamServer(options),
      },
    },
    ...{
      'SagaTest.options': {
        args: [{ ...policies, maxPayloadBytes: 1_000 }],
        run: (options: never) => SagaTest.of(Order).options(options),
      },
      'SagaTest.run': {
        args: [{}, { correlationId: 'x' }],
        run: (...args: [never]) => SagaTest.of(Order).run(...args),
      },
      'SagaTest.start': {
        args: [{}, { correlationId: 'x' }],
        run: (...args: [never]) => SagaTest.of(Order).start(...args),
      },
      'SagaTest.failing': {
        args: ['act', new Error('no'), { times: 1 }],
        run: (...args: [never]) => SagaTest.of(Order).failing(...args),
      },
      'SagaTest.timingOut': {
        args: ['act', { times: 1 }],
        run: (...args: [never]) => SagaTest.of(Order).timingOut(...args),
      },
      'SagaTest.ticks': {
        args: [{ from: '2026-01-01T00:00:00Z', until: '2026-01-01T01:00:00Z' }],
        run: (...args: [never]) => SagaTest.of(Nightly).ticks(...args),
      },
      'SagaTest.everyFailure': {
        args: [{}, () => undefined, { beforeEach: () => undefined }],
        run: (...args: [never, never]) => SagaTest.of(Order).everyFailure(...args),
      },
      'SagaTestRun.signal': {
        args: ['paid', {}, { messageId: 'm' }],
        run: async (...args: [never]) => (await SagaTest.of(Order).start({})).signal(...args),
      },
    },
  };
  for (const context of [
    'StepContext',
    'CompensationContext',
    'HandlerContext',
    'HandlerCompensationContext',
    'ForEachContext',
    'ItemCompensationContext',
    'HeartbeatContext',
  ]) {
    samples[`${context}.publish`] = { args: [message], run: publishing };
    samples[`${context}.progress`] = { args: [{ percent: 1, message: 'm' }], run: progressing };
  }
  return samples;
}
