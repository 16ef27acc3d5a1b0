/** Which texts are durations, and where the compiler knows. Compiled with the tests' type check; there is nothing to run. */
import {
  type Duration,
  Saga,
  SagaModule,
  type SagaModuleOptions,
  type SagaService,
  Step,
  type StepContext,
} from 'nestjs-durable-saga';

interface Trip {
  days: number;
  departsAt: string;
  express: boolean;
}

export const durations: Duration[] = [250, 1.5, '250ms', '10s', '15m', '24h', '7d', '1.5h', '0s'];

export const wrong: Duration[] = [
  // @ts-expect-error -- the units have one name each
  '10 minutes',
  // @ts-expect-error -- the units have one name each
  '10sec',
  // @ts-expect-error -- no unit
  '10',
  // @ts-expect-error -- no number
  's',
  // @ts-expect-error -- nothing
  '',
  // @ts-expect-error -- one unit only
  '1h30m',
  // @ts-expect-error -- a text that only the application knows
  process.env.SAGA_LEASE ?? '30s',
];

const widened = { worker: { lease: '30s' } };
// @ts-expect-error -- the compiler has made a string of it
SagaModule.forRoot(widened);

const options = { worker: { lease: '30s' } } satisfies SagaModuleOptions;
SagaModule.forRoot(options);
SagaModule.forRootAsync({ useFactory: () => ({ worker: { lease: '30s' } }) });
SagaModule.forRootAsync({ useFactory: async () => ({ retention: '90d' }) });

/** As Nest's ConfigService. */
interface Config {
  get<T>(name: string): T;
}
SagaModule.forRootAsync({
  useFactory: (config: Config) => ({ worker: { lease: config.get<Duration>('SAGA_LEASE') } }),
});

// @ts-expect-error -- the units have one name each
@Saga({ name: 'never', sla: '2 days' })
export class NeverSaga {}

@Saga({
  timeout: (ctx: { readonly input: Trip }) => `${ctx.input.days}d`,
  sla: ({ input }: { readonly input: Trip }) => (input.express ? '1h' : new Date(input.departsAt)),
})
export class TripSaga {
  constructor(private readonly sagas: SagaService) {}

  @Step({ delay: (ctx: StepContext<Trip>) => (ctx.input.express ? '1m' : '1h'), timeout: '10s' })
  book(_ctx: StepContext<Trip>): void {}

  // @ts-expect-error -- the same holds for what a function returns
  @Step({ delay: (ctx: StepContext<Trip>) => (ctx.input.express ? '1 minute' : '1h') })
  refused(_ctx: StepContext<Trip>): void {}

  @Step({
    delay: (ctx: StepContext<Trip>) => {
      if (ctx.input.express) return 0;
      const departure = new Date(ctx.input.departsAt);
      return ctx.input.days > 7 ? '7d' : departure;
    },
    retry: { attempts: 3, backoff: (attempt) => (attempt < 3 ? `${attempt}s` : '1m') },
  })
  async notify(ctx: StepContext<Trip>): Promise<void> {
    const delay = ctx.input.express ? '1m' : '1h';
    await this.sagas.start(TripSaga, ctx.input, { delay });
  }
}
