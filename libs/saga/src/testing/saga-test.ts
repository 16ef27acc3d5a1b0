import {
  type DynamicModule,
  Global,
  type InjectionToken,
  Logger,
  Module,
  type ModuleMetadata,
  type Provider,
  type Type,
} from '@nestjs/common';
import { DiscoveryModule, NestFactory } from '@nestjs/core';
import { buildSagaGraph } from '../definition/build/build-saga-graph.js';
import { type Duration, toMilliseconds } from '../definition/options/duration.js';
import type { InputOf } from '../definition/types/contexts.js';
import { SagaConfigurationError } from '../errors.js';
import * as kind from '../definition/options/kinds.js';
import { optional } from '../definition/options/option-reader.js';
import { readOptions } from '../definition/options/read-options.js';
import { SagaExplorer } from '../nest/discovery/saga.explorer.js';
import {
  type ResolvedSagaOptions,
  type SagaModuleOptions,
  TEST_OPTIONS,
  withDefaults,
} from '../nest/saga.options.js';
import { SERVICES } from '../nest/saga.services.js';
import type { SagaRegistry } from '../nest/discovery/saga.registry.js';
import type { StartOptions } from '../nest/calls/start-options.js';
import { currentWorld } from './current-call.js';
import {
  EVERY_FAILURE_OPTIONS,
  type EveryFailureOptions,
  type FailureCheck,
  FailureMatrix,
  type FailureReport,
} from './failure-matrix.js';
import { SagaTestRun, type SignalAnswer } from './saga-test-run.js';
import { SETTLE_PATIENCE } from './pending-work.js';
import { readPeriod, type ScheduledRun, scheduledRuns, type TestPeriod } from './scheduled-runs.js';
import type { Fault } from './scripted-calls.js';
import type { CrashPoint } from './test-process.js';
import { TestWorld } from './test-world.js';

/** The names of a saga's methods. */
type MethodOf<S> = Extract<
  { [K in keyof S]: S[K] extends (...args: never[]) => unknown ? K : never }[keyof S],
  string
>;

const FAULT_OPTIONS = {
  times: optional(
    kind.checked<number>(
      (times) => times === Infinity || (Number.isInteger(times) && times >= 1),
      'give a whole number from 1',
    ),
  ),
};

interface Script {
  readonly faults: readonly Fault[];
  readonly crashes: readonly CrashPoint[];
  readonly answers: readonly SignalAnswer[];
  /** Milliseconds of real time. */
  readonly patience: number;
}

@Module({})
class SagaTestModule {}

/** Reaches imported modules, too, as SagaModule does. */
@Global()
@Module({
  providers: SERVICES.map((service) => ({ provide: service, useFactory: () => new service(currentWorld) })),
  exports: [...SERVICES],
})
class SagaServicesModule {}

interface ApplicationParts {
  readonly sagas: readonly Type[];
  readonly providers: readonly Provider[];
  readonly imports: NonNullable<ModuleMetadata['imports']>;
  readonly options: SagaModuleOptions;
  readonly manager?: object;
}

/** The Nest application of a test; shared by all tests that were made from one. */
class TestApplication {
  private opened: Promise<SagaRegistry> | undefined;
  readonly options: ResolvedSagaOptions;

  constructor(readonly parts: ApplicationParts) {
    this.options = withDefaults(parts.options);
  }

  registry(): Promise<SagaRegistry> {
    this.opened ??= this.open();
    return this.opened;
  }

  private async open(): Promise<SagaRegistry> {
    const { sagas, providers, imports } = this.parts;
    const module: DynamicModule = {
      module: SagaTestModule,
      imports: [DiscoveryModule, SagaServicesModule, ...imports],
      providers: [SagaExplorer, ...withSubSagas(sagas), ...providers],
    };
    const app = await NestFactory.createApplicationContext(module, { logger: false, abortOnError: false });
    return app.get(SagaExplorer).explore(this.options);
  }
}

/**
 * Tests one saga without a database and in virtual time: retries, delays and timeouts take no real time. The engine is
 * the production engine; its store is in memory. Each `run` begins with an empty store. Provided fakes live as long as
 * the test: reset them between runs.
 *
 * Every method returns a new test and leaves the original unchanged.
 */
export class SagaTest<S> {
  private constructor(
    private readonly saga: Type<S>,
    private readonly application: TestApplication,
    private readonly script: Script,
  ) {}

  /**
   * Creates a test of a saga.
   * @param others further sagas, and providers with step handlers. The sagas of `@SubSaga` steps are added
   * automatically
   */
  static of<S>(saga: Type<S>, ...others: Type[]): SagaTest<S> {
    const script: Script = { faults: [], crashes: [], answers: [], patience: SETTLE_PATIENCE };
    const parts: ApplicationParts = { sagas: [saga, ...others], providers: [], imports: [], options: {} };
    return new SagaTest(saga, new TestApplication(parts), script);
  }

  /**
   * Sets the value for a class or token that the saga injects. The services of SagaModule need no fake: injected
   * ones use the run's own sagas.
   */
  provide(token: InjectionToken, value: unknown): SagaTest<S> {
    return this.providers({ provide: token, useValue: value });
  }

  /** Adds providers as in a module, which Nest creates. */
  providers(...providers: Provider[]): SagaTest<S> {
    return this.with({ providers: [...this.application.parts.providers, ...providers] });
  }

  /** Adds modules that provide the saga's dependencies. */
  imports(...imports: NonNullable<ModuleMetadata['imports']>): SagaTest<S> {
    return this.with({ imports: [...this.application.parts.imports, ...imports] });
  }

  /**
   * Sets the fake that transactional steps and compensations receive as `ctx.manager`. Its writes are not rolled back.
   * Without it, a run rejects with SagaConfigurationError as soon as `ctx.manager` is used.
   */
  manager(manager: object): SagaTest<S> {
    return this.with({ manager });
  }

  /**
   * Sets the fake that transactional steps and compensations receive as `ctx.transaction`, for another database layer than
   * TypeORM. The same as `manager()`.
   */
  transaction(transaction: object): SagaTest<S> {
    return this.manager(transaction);
  }

  /** Sets options of SagaModule.forRoot: `retry`, `compensationRetry`, `maxPayloadBytes`. */
  options(options: Pick<SagaModuleOptions, 'retry' | 'compensationRetry' | 'maxPayloadBytes'>): SagaTest<S> {
    return this.with({ options: readOptions('options()', TEST_OPTIONS, options) });
  }

  /**
   * Makes a step's method or a compensation fail without calling it.
   * @param options `times`: only the first calls fail; default: all
   */
  failing(method: MethodOf<S>, error?: unknown, options?: { times?: number }): SagaTest<S> {
    return this.faulty({ method, kind: 'failing', error: error ?? new Error(`${method} failed`) }, options);
  }

  /** Makes a method time out after its side effect: the method is called, but its result never arrives. */
  timingOut(method: MethodOf<S>, options?: { times?: number }): SagaTest<S> {
    return this.faulty({ method, kind: 'timing-out' }, options);
  }

  /**
   * Cancels the saga while this step's method runs for the first time. `run.refusedCancellations` has the reason if the
   * cancellation was rejected, because the step is a pivot or comes after one.
   */
  cancelling(step: MethodOf<S>): SagaTest<S> {
    return this.faulty({ method: step, kind: 'cancelling' }, { times: 1 });
  }

  /**
   * Makes the process die when the checkpoint that records this step (or its compensation) is about to be stored, or
   * was just stored. Another process takes over. A number: at the n-th checkpoint of all.
   */
  crashing(at: MethodOf<S> | number, when: CrashPoint['when'] = 'before'): SagaTest<S> {
    return this.scripted({ crashes: [...this.script.crashes, { checkpoint: at, when }] });
  }

  /**
   * Sends this signal whenever the saga waits for it, with a fixed payload or the result of a function of the saga's
   * input.
   */
  signal(name: string, payload?: unknown): SagaTest<S> {
    return this.scripted({ answers: [...this.script.answers, { kind: 'signal', name, payload }] });
  }

  /** Approves this step whenever the saga waits for it. */
  approving(step: MethodOf<S>, by = 'the test'): SagaTest<S> {
    return this.scripted({ answers: [...this.script.answers, { kind: 'approve', name: step, by }] });
  }

  /** Rejects this step whenever the saga waits for it. */
  rejecting(step: MethodOf<S>, by = 'the test'): SagaTest<S> {
    return this.scripted({ answers: [...this.script.answers, { kind: 'reject', name: step, by }] });
  }

  /**
   * Sets how long, in real time, a run waits for a method before it rejects with SagaTestHangError. Default: 30 s. A
   * method whose step has a `timeout` is not waited for that long, because its timeout passes in virtual time.
   */
  patience(duration: Duration): SagaTest<S> {
    return this.scripted({ patience: toMilliseconds(duration, 'patience') });
  }

  /**
   * Runs a saga through all of its delays, retries and timeouts, until it has ended, is paused or needs attention, or
   * waits only for signals and approvals without a timeout.
   * @throws SagaTestHangError if it waits for a method that does not settle: see `patience()`
   */
  async run(input: InputOf<S>, options?: StartOptions): Promise<SagaTestRun<S>> {
    const run = await this.begin(input, options);
    await run.finish();
    return run;
  }

  /**
   * Runs a saga until it first waits for a signal or an approval that the script does not answer. The test continues
   * from there.
   */
  async start(input: InputOf<S>, options?: StartOptions): Promise<SagaTestRun<S>> {
    const run = await this.begin(input, options);
    await run.proceed();
    return run;
  }

  /**
   * Lets the saga's schedule start sagas, from one virtual time to another, and runs them. Signals and approvals of the
   * script are not sent.
   * @returns the sagas that were started, in order
   * @throws SagaConfigurationError if the saga has no schedule
   */
  async ticks(period: TestPeriod): Promise<ScheduledRun<S>[]> {
    const registry = await this.application.registry();
    const graph = registry.latest(this.saga);
    if (!graph.schedule)
      throw new SagaConfigurationError(
        `${this.saga.name} has no schedule. Declare one with @Saga({ schedule }).`,
      );
    const { from, until } = readPeriod(period);
    const world = await this.world(from);
    await world.proceedTo(until);
    return scheduledRuns<S>(world, graph.name);
  }

  /**
   * Runs the saga once for each failure case of its graph: each step rejected; each step timing out after its side
   * effect; the saga cancelled while each step runs; each compensation failing once; a crash before and after each
   * checkpoint, going forward and compensating. The check is called after each run.
   * @throws SagaFailureMatrixError if a check failed, or a crash point was not reached; it names each of them
   */
  async everyFailure(
    input: InputOf<S>,
    check: FailureCheck<S>,
    options?: EveryFailureOptions,
  ): Promise<FailureReport> {
    const registry = await this.application.registry();
    const given = readOptions('everyFailure()', EVERY_FAILURE_OPTIONS, options);
    const matrix = new FailureMatrix<S>(registry.latest(this.saga), async (script) => {
      const run = await this.scripted({
        faults: [...script.faults, ...this.script.faults],
        crashes: [...script.crashes, ...this.script.crashes],
      }).run(input);
      if (script.undo) await run.undo();
      return run;
    });
    return matrix.walk(check, given);
  }

  private async begin(input: InputOf<S>, options?: StartOptions): Promise<SagaTestRun<S>> {
    const { answers } = this.script;
    return SagaTestRun.begin(await this.world(), this.saga, { input, options, answers });
  }

  /** @param from see TestWorldOptions */
  private async world(from?: number): Promise<TestWorld> {
    const registry = await this.application.registry();
    this.checkScript(registry);
    const log = new Logger('SagaTest');
    const quiet = {
      debug: () => undefined,
      log: () => undefined,
      warn: () => undefined,
      error: log.error.bind(log),
    };
    const { faults, crashes, patience } = this.script;
    const { options, parts } = this.application;
    return new TestWorld({
      ...{ registry, saga: registry.ofType(this.saga).graph.name, options, manager: parts.manager },
      ...{ faults, crashes, patience, from, log: quiet },
    });
  }

  /** Checks the script. @throws SagaConfigurationError that names a method that the saga does not have */
  private checkScript(registry: SagaRegistry): void {
    const { graph, methods } = registry.ofType(this.saga);
    const known = new Set([...graph.steps.keys(), ...(methods ?? [])]);
    const given = [
      ...this.script.faults.map(({ method }) => method),
      ...this.script.crashes.flatMap(({ checkpoint }) => (typeof checkpoint === 'string' ? checkpoint : [])),
    ];
    const unknown = given.find((method) => !known.has(method));
    if (unknown === undefined) return;
    throw new SagaConfigurationError(
      `${this.saga.name} has no method '${unknown}'. Give a step, or a compensation: ${[...known].join(', ')}.`,
    );
  }

  private faulty(fault: Omit<Fault, 'times'>, options: { times?: number } | undefined): SagaTest<S> {
    const call = fault.kind === 'failing' ? 'failing' : 'timingOut';
    const { times = Infinity } = readOptions(`${call}()`, FAULT_OPTIONS, options);
    return this.scripted({ faults: [...this.script.faults, { ...fault, times }] });
  }

  private scripted(script: Partial<Script>): SagaTest<S> {
    return new SagaTest(this.saga, this.application, { ...this.script, ...script });
  }

  private with(parts: Partial<ApplicationParts>): SagaTest<S> {
    const application = new TestApplication({ ...this.application.parts, ...parts });
    return new SagaTest(this.saga, application, this.script);
  }
}

/** With the sagas that their steps start, and so on. */
function withSubSagas(types: readonly Type[]): Type[] {
  const found = new Set<Type>();
  const add = (type: Type): void => {
    if (found.has(type)) return;
    found.add(type);
    for (const child of childrenOf(type)) add(child);
  };
  types.forEach(add);
  return [...found];
}

function childrenOf(type: Type): Type[] {
  try {
    return [...buildSagaGraph(type).steps.values()].flatMap(({ child }) => child?.() ?? []);
  } catch {
    // No saga, or a wrong one: the explorer says what is wrong with it.
    return [];
  }
}
