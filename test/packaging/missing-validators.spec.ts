import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
const PROGRAM = fileURLToPath(new URL('missing-validators.mjs', import.meta.url));

interface Told {
  readonly what: string;
  readonly status?: string;
  readonly name?: string;
  readonly message?: string;
}

/** What came of sagas in a process that cannot find these packages. Needs the built library. */
async function without(...packages: string[]): Promise<Record<string, Told>> {
  const { stdout } = await run(process.execPath, [PROGRAM, ...packages]);
  const lines = stdout.trim().split('\n');
  return Object.fromEntries(lines.map((line) => JSON.parse(line) as Told).map((told) => [told.what, told]));
}

describe('where class-validator and class-transformer are not installed', () => {
  it('sagas run whose input is not checked by a class', async () => {
    const told = await without('class-validator', 'class-transformer');
    expect([told.none!.status, told.schema!.status]).toEqual(['completed', 'completed']);
  });

  it.each([
    [['class-validator', 'class-transformer'], 'class-validator and class-transformer'],
    [['class-validator'], 'class-validator'],
    [['class-transformer'], 'class-transformer'],
  ])(
    'one whose input is a class stops the application, which names it and what to install: %p',
    async (gone, named) => {
      const told = await without(...gone);
      expect(told.class).toMatchObject({ name: 'SagaDefinitionError' });
      expect(told.class!.message).toContain(
        `OfInput: @Saga input is the class OrderDto, but ${named}, required to validate it,`,
      );
      expect(told.class!.message).toContain('npm install class-validator class-transformer');
    },
  );

  it('nothing is said to be missing that is there', async () => {
    const told = await without();
    expect(told.class!.message).toContain('has no decorators of class-validator');
  });
});
