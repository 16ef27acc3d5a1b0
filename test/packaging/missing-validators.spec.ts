import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
const PROGRAM = fileURLToPath(new URL('missing-validators.mjs', import.meta.url));

interface Outcome {
  readonly what: string;
  readonly status?: string;
  readonly name?: string;
  readonly message?: string;
}

/** The outcomes of sagas in a process that cannot find these packages. Needs the built library. */
async function without(...packages: string[]): Promise<Record<string, Outcome>> {
  const { stdout } = await run(process.execPath, [PROGRAM, ...packages]);
  const lines = stdout.trim().split('\n');
  return Object.fromEntries(
    lines.map((line) => JSON.parse(line) as Outcome).map((outcome) => [outcome.what, outcome]),
  );
}

describe('where class-validator and class-transformer are not installed', () => {
  it('sagas run whose input is not checked by a class', async () => {
    const outcomes = await without('class-validator', 'class-transformer');
    expect([outcomes.none!.status, outcomes.schema!.status]).toEqual(['completed', 'completed']);
  });

  it.each([
    [['class-validator', 'class-transformer'], 'class-validator and class-transformer'],
    [['class-validator'], 'class-validator'],
    [['class-transformer'], 'class-transformer'],
  ])(
    'one whose input is a class stops the application, which names it and what to install: %p',
    async (gone, named) => {
      const outcomes = await without(...gone);
      expect(outcomes.class).toMatchObject({ name: 'SagaDefinitionError' });
      expect(outcomes.class!.message).toContain(
        `OfInput: @Saga input is the class OrderDto, but ${named}, required to validate it,`,
      );
      expect(outcomes.class!.message).toContain('npm install class-validator class-transformer');
    },
  );

  it('nothing is said to be missing that is there', async () => {
    const outcomes = await without();
    expect(outcomes.class!.message).toContain('has no decorators of class-validator');
  });
});
