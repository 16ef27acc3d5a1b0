import 'reflect-metadata';
import { SagaError } from '../../libs/saga/src/index.js';
import { SagaMessagingModule } from '../../libs/messaging/src/index.js';
import { SagaTelemetryModule } from '../../libs/telemetry/src/index.js';
import { TestApps } from '../support/test-app.js';
import { waits } from '../support/waits.js';
import { Order, Publisher, type SampleContext, samplesFor } from './option-samples.js';
import { idOf, type OptionObject, publicOptionObjects } from './public-option-types.js';

/** What the package gives, and applications only pass on, or implement. */
const GIVEN_BY_US =
  /^(AesGcmCodec|PayloadCodec|MessageTransport|ClientProxyTransport|JetStreamTransport|SagaDatabase|PgClient|MikroOrmEntityManager|PrismaDatabaseClient)\./;
const OTHERS: Record<string, string> = {
  'Saga(0).input': 'a Standard Schema is an object of its own, of any library',
  'Saga(0).input.~standard': 'as above',
  'SagaModule.forRoot(0).database': 'a database of an entry, such as pgDatabase() makes',
  'SagaModule.forRoot(0).readFrom': 'as above',
  'SagaModule.forRoot(0).engine': 'an engine that a package of this library makes',
  'SagaMessagingModule.forRoot(0).database': 'as above',
  'layoutOf(0)': 'a graph, as describeSaga() gives it, with whatever else the caller knows of its steps',
  'mermaidOf(0)': 'as above',
  'describeWait(0)': 'what a snapshot waits for, as get() returns it',
  'timelineOf(0)': 'a snapshot, as get() returns it',
  'timelineOf(1)': 'its history, as history() returns it',
  'mikroOrmDatabase(0)': 'the MikroORM of the application',
  'new SagaFailureMatrixError(0)': 'made by the package alone',
  'new DeclaredSagaError(0)': 'as above',
};
const isOthers = (id: string) =>
  GIVEN_BY_US.test(id) || Object.keys(OTHERS).some((one) => id === one || id.startsWith(`${one}.`));

const apps = TestApps.onOwnDatabase();
const current = {} as SampleContext;
const SAMPLES = samplesFor(current);

beforeEach(async () => {
  current.app = await apps.start({
    sagas: [Order, Publisher],
    imports: [SagaMessagingModule.forRoot({ relay: false }), SagaTelemetryModule.forRoot()],
  });
  ({ id: current.id } = await current.app.sagas.start(Order, {}, { correlationId: 'o-1' }));
  await waits(apps, current.id);
});

/** Those that the compiler's types of Nest have, which say nothing of ours. */
const BESIDE: OptionObject[] = [
  ...['SagaModule.forRootAsync', 'SagaMessagingModule.forRootAsync', 'SagaTelemetryModule.forRootAsync'],
  ...['SagaAdminModule.register', 'SagaAdminModule.registerAsync'],
].map((call) => ({ call, path: [0], keys: ['useFactory', 'imports', 'guards'] }));

const objects = publicOptionObjects();
const walked = [...objects.filter((one) => !isOthers(idOf(one))), ...BESIDE.filter(isNew)];

function isNew({ call }: OptionObject): boolean {
  return !objects.some((one) => one.call === call);
}

/** The arguments with a key that is not there, in place of which the nearest one is meant. */
function withKey(value: unknown, [at, ...below]: readonly (number | string)[], key: PropertyKey): unknown {
  if (at === undefined) return { ...(value as object), [key]: 'x' };
  const copy = (Array.isArray(value) ? [...(value as unknown[])] : { ...(value as object) }) as Record<
    PropertyKey,
    unknown
  >;
  if (copy[at] === undefined || typeof copy[at] !== 'object')
    throw new Error(`the sample has nothing at ${String(at)}`);
  copy[at] = withKey(copy[at], below, key);
  return copy;
}

/** The longest key without its last letter but one: a slip. */
function slipOf(keys: readonly string[]): { meant: string; slip: string } {
  const meant = [...keys].sort((a, b) => b.length - a.length)[0]!;
  return { meant, slip: `${meant.slice(0, -2)}${meant.slice(-1)}` };
}

describe('every object that a public call takes', () => {
  test('is known to this test, by the built declarations', () => {
    const calls = [...new Set(walked.map(({ call }) => call))].sort();
    expect(Object.keys(SAMPLES).sort()).toEqual(calls);
    expect(walked.length).toBeGreaterThan(90);
    for (const other of Object.keys(OTHERS)) expect(objects.map(idOf)).toContain(other);
  });

  test.each(walked.map((one) => [idOf(one), one] as const))(
    'refuses an unknown key by name, with the one that may be meant: %s',
    async (_, { call, path, keys }) => {
      const { args, run } = SAMPLES[call]!;
      const { slip, meant } = slipOf(keys);
      const before = await stored();
      const refused = await failureOf(() => run(...(withKey(args, path, slip) as never[])));
      expect(refused).toBeInstanceOf(SagaError);
      const below = path.slice(1).join('.');
      const name = (key: string) => new RegExp(`'(target\\.)?(${below}\\.)?${key}'`);
      expect((refused as Error).message).toMatch(/unknown option/);
      expect((refused as Error).message).toMatch(name(slip));
      expect((refused as Error).message).toMatch(new RegExp(`Did you mean ${name(meant).source}\\?`));
      if (!/\.(publish|progress)$/.test(call)) expect(await stored()).toEqual(before);
    },
  );
});

async function failureOf(run: () => unknown): Promise<unknown> {
  try {
    await run();
    return 'it was taken';
  } catch (error) {
    return error;
  }
}

const stored = () =>
  apps.sql('SELECT id, status, checkpoints, cancel_requested_at FROM saga.instance ORDER BY id');
