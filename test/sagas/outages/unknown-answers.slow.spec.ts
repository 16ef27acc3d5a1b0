import {
  answeredFor,
  answeredOnce,
  bothWays,
  expectTimeOnly,
  NO_CODE,
  ONE_OF_EACH_CLASS,
  OUTAGES,
  ownDatabases,
  SEEN,
} from '../../support/outage-runs.js';
import type { Answer } from '../../support/answering-proxy.js';

const databases = ownDatabases();
const ANSWERS = [...OUTAGES, ...NO_CODE];
const TIMEOUT = 1_800_000;

/** The answers in parts, each of which is one test, so that a run shows how far it is. */
const inParts = (answers: readonly Answer[], size: number): [string, readonly Answer[]][] =>
  Array.from({ length: Math.ceil(answers.length / size) }, (_, n) => {
    const part = answers.slice(n * size, (n + 1) * size);
    return [`${part[0]!.code} to ${part.at(-1)!.code ?? 'none'}`, part];
  });

/**
 * A primary answers 25006 to the checkpoint of a step's transaction only if the method made its transaction read-only, which
 * fails the step (aborted-transactions.spec.ts).
 */
const answersTo = (kind: string, answers: readonly Answer[]) => {
  if (kind === 'COMMIT') return [];
  return kind === 'checkpoint_one' ? answers.filter(({ code }) => code !== '25006') : answers;
};

test.each(inParts(ANSWERS, 32))(
  'each kind of statement is answered with each SQLSTATE from %s once, and everything completes',
  async (_, answers) => {
    expectTimeOnly(await answeredOnce(databases, (kind) => answersTo(kind, answers)));
  },
  TIMEOUT,
);

test(
  'each kind of statement is executed and answered with each class once, and everything completes once',
  async () => {
    const executed = ONE_OF_EACH_CLASS.map((answer) => ({ ...answer, isExecuted: true }));
    const { statuses, started, problems } = await answeredOnce(databases, (kind) =>
      kind === 'COMMIT' ? [] : executed,
    );
    expect({ statuses, problems }).toEqual({ statuses: { completed: started }, problems: [] });
  },
  TIMEOUT,
);

test(
  'COMMIT is answered with each SQLSTATE, in place of it and after it, and everything completes once',
  async () => {
    const answersOf = (kind: string) => (kind === 'COMMIT' ? bothWays(ANSWERS) : []);
    const { statuses, started, problems } = await answeredOnce(databases, answersOf);
    expect({ statuses, problems }).toEqual({ statuses: { completed: started }, problems: [] });
  },
  TIMEOUT,
);

test(
  'each class of answers for three seconds costs time only',
  async () => {
    expectTimeOnly(await answeredFor(databases, 3_000, [...ONE_OF_EACH_CLASS, ...SEEN, ...NO_CODE]));
  },
  TIMEOUT,
);
