import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import {
  type CompensationContext,
  Saga,
  type SagaOutcome,
  type SagaService,
  Step,
  type StepContext,
  SubSaga,
} from '../../libs/saga/src/index.js';
import { type Specimen, specimens } from '../fixtures/hostile-values.js';
import { TestApps } from '../support/test-app.js';
import { allAtOnce, casesOf, IN_TIME, Neighbour, Neighbours } from './neighbour-sagas.js';

const ONCE = { attempts: 1 };
interface Case {
  readonly n: number;
}

const apps = TestApps.onOwnDatabase();
/** Enough to fill several statements with both kinds. */
const cases = casesOf(specimens, 120);
const given = ({ n }: Case): unknown => cases[n]!.value;
const undone = new Map<number, unknown>();

@Saga({ name: 'echo' })
class Echo {
  @Step() see({ input }: StepContext<unknown>) {
    return { input };
  }
}

@Saga({ name: 'give', retry: ONCE })
class Give {
  @Step({ compensate: 'undo' }) act({ input }: StepContext<Case>): unknown {
    return given(input);
  }
  undo({ input, result }: CompensationContext<Case, unknown>) {
    undone.set(input.n, result);
  }
  @Step() see({ results }: StepContext<Case, Give>): unknown {
    return { seen: results.act };
  }
}

@Saga({ name: 'spread' })
class Spread {
  @Step({ forEach: ({ input }: StepContext<Case>) => [given(input), 'sound'] })
  each({ item }: StepContext<Case>) {
    return { item };
  }
}

@Saga({ name: 'hand-on', retry: ONCE })
class HandOn {
  @SubSaga(() => Echo) child({ input }: StepContext<Case>): unknown {
    return given(input);
  }
}

@Saga({ name: 'halt', retry: ONCE, onFailure: 'suspend' })
class Halt {
  @Step() act({ input }: StepContext<{ halts?: boolean } | undefined>) {
    if (input?.halts) throw new Error('halted');
    return { input };
  }
  @Step() see({ results }: StepContext<unknown, Halt>): unknown {
    return { seen: results.act };
  }
}

/** The problems with the outcome of each case. Tests expect none. */
async function verdicts(
  sagas: SagaService,
  call: (n: number) => Promise<unknown>,
  judge: (one: Specimen, result: unknown, error: unknown) => unknown,
): Promise<string[]> {
  const neighbours = new Neighbours(sagas);
  const settled = await allAtOnce(cases, neighbours, (_, n) => call(n));
  await neighbours.expectUnharmed();
  return settled.flatMap((one, n) => {
    const [result, error] =
      one.status === 'fulfilled' ? [one.value, undefined] : [undefined, one.reason as unknown];
    const wrong = judge(cases[n]!, result, error);
    return wrong === undefined ? [] : [`${fc.stringify(cases[n])}: ${fc.stringify(wrong)}`];
  });
}

const isRefused = (error: unknown, path: string): boolean => {
  const { code, path: at } = error as { code?: unknown; path?: unknown };
  return code === 'SAGA_PAYLOAD' && at === path;
};
/** Where an undefined value is no property that can be left out. */
const flawIn = ({ flaw, stored }: Specimen): string | undefined =>
  flaw ?? (stored === undefined ? '' : undefined);
const leftOut = (record: object): unknown => JSON.parse(JSON.stringify(record));
const wrongUnless = (sound: boolean, found: unknown): unknown => (sound ? undefined : found);

test('an input comes to the steps and to get() exactly, or is refused by its path and nothing is stored', async () => {
  const { sagas } = await apps.start({ sagas: [Echo, Neighbour] });
  const call = async (n: number) => {
    const { id, outcome } = await sagas.start(Echo, cases[n]!.value);
    return { results: (await outcome(IN_TIME)).results, input: (await sagas.get(id)).input };
  };
  expect(
    await verdicts(sagas, call, ({ stored, flaw }, result, error) => {
      if (flaw !== undefined) return wrongUnless(isRefused(error, `input${flaw}`), error ?? result);
      const expected = { results: { see: leftOut({ input: stored }) }, input: stored };
      return wrongUnless(isDeepStrictEqual(result, expected), error ?? result);
    }),
  ).toEqual([]);
  const [{ count }] = (await apps.sql<{ count: number }>(
    `SELECT count(*)::int AS count FROM saga.instance WHERE name = 'echo'`,
  )) as [{ count: number }];
  expect(count).toBe(cases.filter(({ flaw }) => flaw === undefined).length);
});

test('a result comes to later steps and to the outcome exactly, or fails its step, which is undone', async () => {
  const { sagas } = await apps.start({ sagas: [Give, Neighbour] });
  const call = async (n: number) => (await sagas.start(Give, { n })).outcome(IN_TIME);
  expect(
    await verdicts(sagas, call, (one, result, error) => {
      const { stored, flaw } = one;
      const { status, results, failure } = (result ?? {}) as Partial<SagaOutcome<Give>>;
      if (flaw === undefined) {
        const expected = { act: stored, see: leftOut({ seen: stored }) };
        return wrongUnless(status === 'completed' && isDeepStrictEqual(results, expected), error ?? result);
      }
      const n = cases.indexOf(one);
      const { message = '', code } = failure?.error ?? {};
      // One that throws wherever it is touched already does so when the step returns it.
      const isNamed =
        code === 'SAGA_PAYLOAD' ? message.includes(`result of step 'act'${flaw} `) : flaw === '';
      return wrongUnless(
        status === 'compensated' &&
          isNamed &&
          undone.has(n) === (code === 'SAGA_PAYLOAD') &&
          undone.get(n) === undefined,
        error ?? result,
      );
    }),
  ).toEqual([]);
});

test('items of a fan-out come to their runs exactly, or fail the step before any of them', async () => {
  const { sagas } = await apps.start({ sagas: [Spread, Neighbour] });
  const call = async (n: number) => (await sagas.start(Spread, { n })).outcome(IN_TIME);
  expect(
    await verdicts(sagas, call, (one, result, error) => {
      const { status, results, failure } = (result ?? {}) as Partial<SagaOutcome<Spread>>;
      const flaw = flawIn(one);
      return wrongUnless(
        flaw === undefined
          ? status === 'completed' &&
              isDeepStrictEqual(results, { each: [{ item: one.stored }, { item: 'sound' }] })
          : status === 'compensated' && failure?.error?.message.includes(`forEach()[0]${flaw} `) === true,
        error ?? result,
      );
    }),
  ).toEqual([]);
});

test('the input of a sub-saga comes to its steps exactly, or fails the step that gives it', async () => {
  const { sagas } = await apps.start({ sagas: [HandOn, Echo, Neighbour] });
  const call = async (n: number) => (await sagas.start(HandOn, { n })).outcome(IN_TIME);
  expect(
    await verdicts(sagas, call, ({ flaw, stored }, result, error) => {
      const { status, results } = (result ?? {}) as Partial<SagaOutcome<HandOn>>;
      const expected = { child: { see: leftOut({ input: stored }) } };
      return wrongUnless(
        flaw === undefined
          ? status === 'completed' && isDeepStrictEqual(results, expected)
          : status === 'compensated',
        error ?? result,
      );
    }),
  ).toEqual([]);
});

test('an input that is undefined is no input: the saga is retried with its own', async () => {
  const { sagas, operations } = await apps.start({ sagas: [Halt, Neighbour] });
  const handle = await sagas.start(Halt, { halts: true });
  await handle.outcome(IN_TIME);
  await operations.retry(handle.id, { input: undefined });
  await handle.outcome(IN_TIME);
  expect((await sagas.get(handle.id)).input).toEqual({ halts: true });
});

test('what an operator gives is used exactly, or refused by its path, and the saga waits on', async () => {
  const { sagas, operations } = await apps.start({ sagas: [Halt, Neighbour] });
  const halted = async () => {
    const { id, outcome } = await sagas.start(Halt, { halts: true });
    await outcome(IN_TIME);
    return id;
  };
  const tried = (call: Promise<void>) => call.then(undefined, (error: unknown) => error);
  const retried = async (n: number) => {
    const id = await halted();
    const { value } = cases[n]!;
    // An input that is undefined is none: see below.
    const error = value === undefined ? undefined : await tried(operations.retry(id, { input: value }));
    if (error || value === undefined) await operations.retry(id, { input: 'sound' });
    return { error, results: (await sagas.wait(id, IN_TIME)).results };
  };
  const skipped = async (n: number) => {
    const id = await halted();
    const error = await tried(operations.resolve(id, 'act', { result: cases[n]!.value }));
    if (error) await operations.resolve(id, 'act', { result: 'sound' });
    return { error, results: (await sagas.wait(id, IN_TIME)).results };
  };
  const judge =
    (what: string, act: (value: unknown) => unknown) => (one: Specimen, result: unknown, error: unknown) => {
      const { error: refusal, results } = (result ?? {}) as { error?: unknown; results?: unknown };
      const used = act(one.flaw === undefined ? one.stored : 'sound');
      const isRight = isDeepStrictEqual(results, { act: used, see: leftOut({ seen: used }) });
      const isTold =
        one.flaw === undefined ? refusal === undefined : isRefused(refusal, `${what}${one.flaw}`);
      return wrongUnless(isRight && isTold, error ?? result);
    };
  expect(
    await verdicts(
      sagas,
      retried,
      judge('input', (input) => leftOut({ input: input ?? (input === null ? null : 'sound') })),
    ),
  ).toEqual([]);
  expect(
    await verdicts(
      sagas,
      skipped,
      judge(`result of step 'act'`, (result) => result),
    ),
  ).toEqual([]);
});
