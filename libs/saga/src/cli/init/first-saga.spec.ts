import { check, format } from 'prettier';
import { databaseModule } from './database-module.js';
import { firstSaga, type Manner } from './first-saga.js';
import { LAYERS } from './layers.js';

const MANNERS: Manner[] = (['', '.js'] as const).flatMap((extension) =>
  [true, false].flatMap((namesInjected) =>
    (['jest', 'vitest'] as const).map((runner) => ({ extension, namesInjected, runner, hasHttp: true })),
  ),
);

/** As nest new formats. */
const FORMAT = { parser: 'typescript', singleQuote: true, trailingComma: 'all' } as const;

describe('the files of a first saga', () => {
  test.each(MANNERS)('are formatted as nest new formats: %j', async (manner) => {
    for (const [name, text] of Object.entries(firstSaga(manner)))
      expect([name, await check(text, FORMAT)]).toEqual([name, true]);
  });
});

describe('the module that connects a database layer', () => {
  test.each(LAYERS.flatMap(({ name, parts }) => (parts ? [[name, parts] as const] : [])))(
    'is formatted as nest new formats: %s',
    async (_, parts) => {
      const text = databaseModule(parts);
      expect(await format(text, FORMAT)).toBe(text);
    },
  );
});
