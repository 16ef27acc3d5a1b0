import fc from 'fast-check';
import {
  Saga,
  type SagaOutcome,
  type SagaService,
  Step,
  type StepContext,
  SubSaga,
  UnknownOutcomeError,
} from '../../libs/saga/src/index.js';
import { thrownThings } from '../fixtures/hostile-errors.js';
import { specimens } from '../fixtures/hostile-values.js';
import { isKey } from '../../libs/saga/src/engine/payload/storable-key.js';
import { TestApps } from '../support/test-app.js';
import { allAtOnce, casesOf, IN_TIME, Neighbour, Neighbours } from './neighbour-sagas.js';

/** What a function of a definition gives, or how it fails. */
interface Answer {
  readonly [fc.toStringMethod]: () => string;
  readonly give: () => unknown;
}
interface Case {
  readonly n: number;
}

const answerOf = (name: string, give: () => unknown): Answer => ({ [fc.toStringMethod]: () => name, give });
const rejecting = () => Promise.reject(new Error('later'));

const apps = TestApps.onOwnDatabase();
const answers: Answer[] = [
  answerOf('a promise', () => Promise.resolve(true)),
  answerOf('a promise that rejects', rejecting),
  answerOf('an async function', async () => Promise.reject(new Error('async'))),
  answerOf('a thenable', () => ({
    then: (_: unknown, reject: (error: Error) => void) => reject(new Error('then')),
  })),
  answerOf('an array with a toJSON', () => Object.assign([1], { toJSON: () => ({ 0: 1 }) })),
  answerOf('an array that is undefined as JSON', () => Object.assign([1], { toJSON: () => undefined })),
  answerOf('a probe’s answer that throws', () => ({ get done() { throw new Error('done'); } })), // prettier-ignore
  answerOf('a proxy', () => new Proxy({}, { has: () => { throw new Error('has'); } })), // prettier-ignore
  ...casesOf(specimens, 60).map((given) => answerOf(fc.stringify(given), () => given.value)),
  ...casesOf(thrownThings, 30).map((given) =>
    answerOf(`throws ${fc.stringify(given)}`, () => {
      throw given.thrown;
    }),
  ),
];
const answer = ({ n }: Case): unknown => answers[n]!.give();
/** Undefined: it throws. */
const given = (n: number): { value: unknown } | undefined => {
  try {
    const value = answer({ n });
    if (value instanceof Promise) value.catch(() => undefined);
    return { value };
  } catch {
    return undefined;
  }
};

const TWICE = { attempts: 2, delay: 0 };

@Saga({ name: 'when' })
class When {
  @Step({ when: ({ input }: StepContext<Case>) => answer(input) as boolean }) act() {
    return 'acted';
  }
}

@Saga({ name: 'rate-key' })
class RateKey {
  @Step({
    rateLimit: { count: 1_000, per: 1, key: ({ input }: { input: Case }) => answer(input) as string },
  })
  act() {
    return 'acted';
  }
}

@Saga({ name: 'for-each' })
class ForEach {
  @Step({ forEach: ({ input }: StepContext<Case>) => answer(input) as unknown[] }) act() {
    return 'acted';
  }
}

const asked: Case[] = [];
@Saga({
  name: 'retry-if',
  retry: { ...TWICE, retryIf: (error) => answer((error as { case: Case }).case) as boolean },
})
class RetryIf {
  @Step() act({ input }: StepContext<Case>) {
    asked.push(input);
    throw Object.assign(new Error('again?'), { case: input });
  }
}

@Saga({ name: 'lock-key', lockKey: ({ input }: { input: unknown }) => answer(input as Case) as string })
class LockKey {
  @Step() act() {
    return 'acted';
  }
}

@Saga({ name: 'lock-key-of-child', retry: { attempts: 1 } })
class LockKeyOfChild {
  @SubSaga(() => LockKey) child({ input }: StepContext<Case>) {
    return input;
  }
}

@Saga({ name: 'probe', retry: { attempts: 1 } })
class Probe {
  @Step({ probe: 'ask' }) act(): unknown {
    throw new UnknownOutcomeError('answer lost');
  }
  ask({ input }: StepContext<Case>) {
    return answer(input) as 'unknown';
  }
}

const unhandled: unknown[] = [];
const note = (reason: unknown) => void unhandled.push(reason);
beforeAll(() => process.on('unhandledRejection', note));
afterAll(() => process.off('unhandledRejection', note));
afterEach(() => expect(unhandled.splice(0)).toEqual([]));

type Start = (
  sagas: SagaService,
  input: Case,
) => Promise<{ outcome: (o: typeof IN_TIME) => Promise<SagaOutcome> }>;

/** Each answer with the outcome of its saga. No other saga is affected. */
async function outcomes(sagas: SagaService, start: Start): Promise<(SagaOutcome | { refusal: unknown })[]> {
  const neighbours = new Neighbours(sagas);
  const settled = await allAtOnce(answers, neighbours, async (_, n) =>
    (await start(sagas, { n })).outcome(IN_TIME),
  );
  await neighbours.expectUnharmed();
  return settled.map((one) => (one.status === 'fulfilled' ? one.value : { refusal: one.reason as unknown }));
}

const named = (n: number, outcome: unknown) => ({ answer: fc.stringify(answers[n]), outcome });

test('when() decides with true and false; anything else fails the step and turns only its saga back', async () => {
  const { sagas } = await apps.start({ sagas: [When, Neighbour] });
  (await outcomes(sagas, (s, input) => s.start(When, input))).forEach((outcome, n) => {
    const value = given(n)?.value;
    const expected =
      typeof value === 'boolean'
        ? { status: 'completed', results: value ? { act: 'acted' } : {} }
        : { status: 'compensated', results: {}, failure: { kind: 'error', step: 'act' } };
    expect(named(n, outcome)).toMatchObject(named(n, expected));
  });
});

test('rateLimit.key() gives a key; anything else fails the step', async () => {
  const { sagas } = await apps.start({ sagas: [RateKey, Neighbour] });
  (await outcomes(sagas, (s, input) => s.start(RateKey, input))).forEach((outcome, n) => {
    const expected = isKey(given(n)?.value, 500)
      ? { status: 'completed', results: { act: 'acted' } }
      : { status: 'compensated', results: {}, failure: { kind: 'error', step: 'act' } };
    expect(named(n, outcome)).toMatchObject(named(n, expected));
  });
});

test('forEach() spreads over an array; anything else fails the step', async () => {
  const { sagas } = await apps.start({ sagas: [ForEach, Neighbour] });
  (await outcomes(sagas, (s, input) => s.start(ForEach, input))).forEach((outcome, n) => {
    const { status, results } = outcome as SagaOutcome<ForEach>;
    const value = given(n)?.value;
    if (status === 'completed')
      expect(named(n, results.act)).toEqual(
        named(
          n,
          (value as unknown[]).map(() => 'acted'),
        ),
      );
    else
      expect(named(n, outcome)).toMatchObject(named(n, { status: 'compensated', failure: { step: 'act' } }));
  });
});

test('retryIf() decides; one that gives no answer is taken for a yes', async () => {
  const { sagas } = await apps.start({ sagas: [RetryIf, Neighbour] });
  (await outcomes(sagas, (s, input) => s.start(RetryIf, input))).forEach((outcome, n) => {
    const own = given(n);
    const again = own === undefined || own.value instanceof Promise || Boolean(own.value);
    expect(named(n, outcome)).toMatchObject(
      named(n, { status: 'compensated', failure: { kind: again ? 'error' : 'rejected' } }),
    );
    expect(named(n, asked.filter((one) => one.n === n).length)).toEqual(named(n, again ? 2 : 1));
  });
});

test('lockKey() gives a key, or the start is refused and nothing is stored', async () => {
  const { sagas } = await apps.start({ sagas: [LockKey, Neighbour] });
  (await outcomes(sagas, (s, input) => s.start(LockKey, input))).forEach((outcome, n) => {
    const own = given(n);
    const expected =
      own && isKey(own.value, 500)
        ? { status: 'completed', results: { act: 'acted' } }
        : {
            refusal: {
              code: 'SAGA_VALIDATION',
              message: expect.stringContaining(`lockKey of saga 'lock-key'`) as string,
            },
          };
    expect(named(n, outcome)).toMatchObject(named(n, expected));
  });
  const keys = await apps.sql<{ lock_key: string }>(
    `SELECT lock_key FROM saga.instance WHERE name = 'lock-key'`,
  );
  const expected = answers.flatMap((_, n) => [given(n)?.value].filter((value) => isKey(value, 500)));
  expect(keys.map((row) => row.lock_key).sort()).toEqual(expected.sort());
});

test('a lockKey() that gives a sub-saga no key fails the step that would start it', async () => {
  const { sagas } = await apps.start({ sagas: [LockKeyOfChild, LockKey, Neighbour] });
  (await outcomes(sagas, (s, input) => s.start(LockKeyOfChild, input))).forEach((outcome, n) => {
    const expected = isKey(given(n)?.value, 500)
      ? { status: 'completed', results: { child: { act: 'acted' } } }
      : { status: 'compensated', failure: { step: 'child', error: { code: 'SAGA_VALIDATION' } } };
    expect(named(n, outcome)).toMatchObject(named(n, expected));
  });
});

test('a valid answer of a probe decides the outcome, and any other leaves it unknown', async () => {
  const { sagas } = await apps.start({ sagas: [Probe, Neighbour] });
  (await outcomes(sagas, (s, input) => s.start(Probe, input))).forEach((outcome, n) => {
    expect(named(n, outcome)).toMatchObject(
      named(n, { status: 'compensated', failure: { error: { message: 'answer lost' } } }),
    );
  });
});
