import { randomUUID } from 'node:crypto';
import {
  Saga,
  type SagaHandle,
  type SagaService,
  Step,
  type StepContext,
} from '../../libs/saga/src/index.js';
import { fuzz } from '../fixtures/fuzz-settings.js';
import fc from 'fast-check';

/** Longer than anything here may take: what is not settled by then hangs. */
export const IN_TIME = { timeout: '100s' } as const;

/** So many cases, the same in each run of the tests; with FUZZ_SEED others. */
export function casesOf<T>(arbitrary: fc.Arbitrary<T>, count: number): T[] {
  return fc.sample(arbitrary, fuzz(count));
}

interface Count {
  readonly n: number;
}

/** A saga that does nothing wrong, and that anyone can check. */
@Saga({ name: 'neighbour' })
export class Neighbour {
  @Step() double({ input }: StepContext<Count>) {
    return { n: input.n, twice: input.n * 2 };
  }
  @Step() async square({ input }: StepContext<Count>): Promise<string> {
    await Promise.resolve();
    return `${input.n}² = ${input.n ** 2}`;
  }
  @Step() list({ results, input }: StepContext<Count, Neighbour>): unknown[] {
    return [results.double?.twice, results.square, input.n];
  }
}

/** Sagas beside the hostile ones, started in the same turns of the event loop, and so stored by the same statements. */
export class Neighbours {
  private readonly started: Promise<SagaHandle<Neighbour>>[] = [];

  constructor(private readonly sagas: SagaService) {}

  start(): void {
    this.started.push(this.sagas.start(Neighbour, { n: this.started.length }, { id: randomUUID() }));
  }

  /** Each has come to its own result. */
  async expectUnharmed(): Promise<void> {
    const outcomes = await Promise.all(this.started.map(async (one) => (await one).outcome(IN_TIME)));
    const given = outcomes.map(({ status, results }) => ({ status, results }));
    expect(given).toEqual(
      outcomes.map((_, n) => ({
        status: 'completed',
        results: {
          double: { n, twice: n * 2 },
          square: `${n}² = ${n ** 2}`,
          list: [n * 2, `${n}² = ${n ** 2}`, n],
        },
      })),
    );
  }
}

/** What a call came to: its value, or its error; all begun in the same turn of the event loop, with a neighbour for each. */
export async function allAtOnce<Case, T>(
  cases: readonly Case[],
  neighbours: Neighbours,
  call: (one: Case, n: number) => Promise<T>,
): Promise<PromiseSettledResult<T>[]> {
  return Promise.allSettled(
    cases.map((one, n) => {
      neighbours.start();
      return call(one, n);
    }),
  );
}
