import assert from 'node:assert/strict';
import {
  type DynamicModule,
  Global,
  type INestApplicationContext,
  Injectable,
  Module,
  type OnApplicationBootstrap,
  type OnModuleDestroy,
} from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import {
  Saga,
  SagaModule,
  type SagaModuleOptions,
  SagaService,
  Step,
  type StepContext,
} from 'nestjs-durable-saga';

/** Where SagaModule is imported, relative to the modules that close what sagas use. */
export const IMPORT_ORDERS = ['first', 'last', 'in a feature module', 'async', 'async, last'] as const;
export type ImportOrder = (typeof IMPORT_ORDERS)[number];

/** Makes an application of a root module, and initialises it. */
export type CreateApp = (module: DynamicModule) => Promise<INestApplicationContext>;

/** What the test and a running step of the application tell each other. */
export class Scene {
  readonly started = new Signal();
  readonly closing = new Signal();
}

class Signal {
  send!: () => void;
  readonly sent = new Promise<void>((resolve) => (this.send = resolve));
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** As a client of Redis, or of a broker: open from its bootstrap hook until its destroy hook. */
abstract class Client implements OnApplicationBootstrap, OnModuleDestroy {
  private state: 'not open yet' | 'open' | 'closed' = 'not open yet';

  async onApplicationBootstrap(): Promise<void> {
    await pause(100);
    this.state = 'open';
  }

  async onModuleDestroy(): Promise<void> {
    this.state = 'closed';
  }

  use(): void {
    if (this.state !== 'open') throw new Error(`${this.constructor.name} is ${this.state}`);
  }
}

@Injectable()
class RootClient extends Client {}
@Injectable()
class FeatureClient extends Client {}
@Injectable()
class GlobalClient extends Client {}

@Module({ providers: [FeatureClient], exports: [FeatureClient] })
class FeatureModule {}

@Global()
@Module({ providers: [GlobalClient], exports: [GlobalClient] })
class GlobalModule {}

/** Uses what other modules own, first and last, and SagaService, which is of SagaModule. */
@Saga({ name: 'life-cycle', retry: { attempts: 1 } })
class LifeCycleSaga {
  constructor(
    private readonly root: RootClient,
    private readonly feature: FeatureClient,
    private readonly global: GlobalClient,
    private readonly scene: Scene,
    private readonly sagas: SagaService,
  ) {}

  @Step()
  async act({ input, sagaId }: StepContext<{ untilClosing?: boolean }>): Promise<string> {
    await this.useAll(sagaId);
    if (!input.untilClosing) return 'done';
    this.scene.started.send();
    await this.scene.closing.sent;
    await pause(100);
    await this.useAll(sagaId);
    return 'done';
  }

  private async useAll(sagaId: string): Promise<void> {
    for (const client of [this.root, this.feature, this.global]) client.use();
    await this.sagas.get(sagaId);
  }
}

export function lifeCycleModule(
  order: ImportOrder,
  scene: Scene,
  options: SagaModuleOptions = {},
): DynamicModule {
  const database = TypeOrmModule.forRoot({
    type: 'postgres',
    url: process.env.DATABASE_URL,
    retryAttempts: 0,
  });
  const sagas = order.startsWith('async')
    ? SagaModule.forRootAsync({ useFactory: () => pause(10).then(() => options) })
    : SagaModule.forRoot(options);
  const others = [FeatureModule, GlobalModule];
  const feature = { module: class SagasModule {}, imports: [sagas] };
  const imports = {
    first: [sagas, database, ...others],
    last: [...others, database, sagas],
    'in a feature module': [feature, ...others, database],
    async: [sagas, ...others, database],
    'async, last': [database, ...others, sagas],
  }[order];
  return {
    module: class LifeCycleModule {},
    imports,
    providers: [RootClient, LifeCycleSaga, { provide: Scene, useValue: scene }],
  };
}

/**
 * A saga that is due when the application starts finds every client open, and a step in progress when it closes finds them
 * open until it has settled. The step's one attempt is recorded.
 */
export async function itKeepsProvidersForSteps(create: CreateApp, order: ImportOrder): Promise<void> {
  const before = await create(lifeCycleModule(order, new Scene(), { worker: false }));
  const due = await before.get(SagaService, { strict: false }).start(LifeCycleSaga, {});
  await before.close();

  const scene = new Scene();
  const app = await create(lifeCycleModule(order, scene));
  const sagas = app.get(SagaService, { strict: false });
  const outcome = await sagas.wait(due.id, { timeout: '60s' });
  assert.equal(outcome.failure?.error?.message, undefined);
  assert.equal(outcome.status, 'completed');

  const held = await sagas.start(LifeCycleSaga, { untilClosing: true });
  await scene.started.sent;
  const closed = app.close();
  scene.closing.send();
  await closed;

  const after = await create(lifeCycleModule(order, new Scene()));
  const { failure } = await after.get(SagaService, { strict: false }).wait(held.id, { timeout: '60s' });
  const { status, steps } = await after.get(SagaService, { strict: false }).get(held.id);
  await after.close();
  assert.equal(failure?.error?.message, undefined);
  assert.deepEqual([status, ...steps.map((step) => step.attempts)], ['completed', 1]);
}
