import { type DynamicModule, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { SagaAdminModule } from '../../libs/admin/src/index.js';
import { SagaMessagingModule } from '../../libs/messaging/src/index.js';
import { SagaConfigurationError, SagaModule } from '../../libs/saga/src/index.js';
import { SagaTelemetryModule } from '../../libs/telemetry/src/index.js';

/** A module as its two forms take what they are given. */
interface Form {
  readonly name: string;
  readonly given: (options: unknown) => DynamicModule;
  readonly from: (factory: () => unknown) => DynamicModule;
}

const FORMS: readonly Form[] = [
  {
    name: 'SagaModule',
    given: (options) => SagaModule.forRoot(options as never),
    from: (useFactory) => SagaModule.forRootAsync({ useFactory: useFactory as never }),
  },
  {
    name: 'SagaMessagingModule',
    given: (options) => SagaMessagingModule.forRoot(options as never),
    from: (useFactory) => SagaMessagingModule.forRootAsync({ useFactory: useFactory as never }),
  },
  {
    name: 'SagaTelemetryModule',
    given: (options) => SagaTelemetryModule.forRoot(options as never),
    from: (useFactory) => SagaTelemetryModule.forRootAsync({ useFactory: useFactory as never }),
  },
  {
    name: 'SagaAdminModule',
    given: (options) => SagaAdminModule.register(options as never),
    from: (useFactory) => SagaAdminModule.registerAsync({ guards: [], useFactory: useFactory as never }),
  },
];

/** What the start of an application with this module throws. */
async function refusalOf(moduleOf: () => DynamicModule): Promise<unknown> {
  @Module({})
  class AppModule {}
  try {
    const app = await NestFactory.createApplicationContext(
      { module: AppModule, imports: [moduleOf()] },
      { logger: false, abortOnError: false },
    );
    await app.close();
    return undefined;
  } catch (error) {
    return error;
  }
}

const NO_OPTIONS: readonly [unknown, string][] = [
  ['x', "'x'"],
  [null, 'null'],
  [5, '5'],
  [[], '[]'],
];

describe.each(FORMS)('$name', ({ name, given, from }) => {
  test.each(NO_OPTIONS)('refuses %j in the place of its options, and says why', async (options, shown) => {
    for (const moduleOf of [() => given(options), () => from(() => options)]) {
      const refusal = await refusalOf(moduleOf);
      expect(refusal).toBeInstanceOf(SagaConfigurationError);
      expect((refusal as Error).message).toBe(`${name}: options are ${shown}; give an object.`);
    }
  });

  test('refuses a factory that returns nothing', async () => {
    const refusal = await refusalOf(() => from(() => undefined));
    expect(refusal).toBeInstanceOf(SagaConfigurationError);
    expect((refusal as Error).message).toBe(
      `${name}: options are undefined; give an object, or return one from the factory.`,
    );
  });

  test('refuses what is given in the place of a factory, and what is beside it', async () => {
    for (const [options, why] of NO_OPTIONS) {
      const register = () => (name === 'SagaAdminModule' ? 'registerAsync' : 'forRootAsync');
      const refusal = await refusalOf(() =>
        name === 'SagaAdminModule'
          ? SagaAdminModule.registerAsync(options as never)
          : (
              { SagaModule, SagaMessagingModule, SagaTelemetryModule } as unknown as Record<
                string,
                { forRootAsync(given: unknown): DynamicModule }
              >
            )[name]!.forRootAsync(options),
      );
      expect(refusal).toBeInstanceOf(SagaConfigurationError);
      expect((refusal as Error).message).toContain(
        `${name}.${register()}: options are ${why}; give an object`,
      );
    }
  });
});

describe('SagaAdminModule', () => {
  const messageOf = async (moduleOf: () => DynamicModule) => ((await refusalOf(moduleOf)) as Error).message;

  test('lists all of its options when one is unknown, in each form those that belong there', async () => {
    const ALL = 'authorize, operator, origins, title, path, guards, dashboard, imports';
    expect(await messageOf(() => SagaAdminModule.register({ guards: [], whatever: 1 } as never))).toBe(
      `SagaAdminModule: unknown option 'whatever'. The options are: ${ALL}.`,
    );
    expect(await messageOf(() => SagaAdminModule.register({ guard: [], guards: [] } as never))).toContain(
      "Did you mean 'guards'?",
    );
    const useFactory = () => ({ whatever: 1 }) as never;
    expect(await messageOf(() => SagaAdminModule.registerAsync({ guards: [], useFactory }))).toBe(
      "SagaAdminModule: unknown option 'whatever'. The options are: authorize, operator, origins, title.",
    );
  });

  test('checks the options of its routes, beside a factory as well', async () => {
    const invalid = { path: 5, guards: [5], dashboard: 'no', imports: 5 } as never;
    for (const moduleOf of [
      () => SagaAdminModule.register(invalid),
      () => SagaAdminModule.registerAsync({ ...(invalid as object), useFactory: () => ({}) } as never),
    ])
      expect(await messageOf(moduleOf)).toBe(
        "SagaAdminModule: path is 5; give a path such as 'sagas' or 'ops/sagas'. " +
          'guards is [ 5 ]; give an array of guards, as @UseGuards() takes them. ' +
          "dashboard is 'no'; give true or false. imports is 5; give an array of modules.",
      );
  });
});
