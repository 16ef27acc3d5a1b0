import { check, format } from 'prettier';
import { databaseModule } from './database-module.js';
import { firstSaga, type Manner } from './first-saga.js';
import { LAYERS } from './layers.js';
import type { NestApp } from './nest-app.js';

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

/** Nothing of it is there, except this version of MikroORM. */
const appWith = (mikroOrm: string) =>
  ({ root: '/nowhere', sourceRoot: 'src', isModule: true, installed: () => mikroOrm }) as unknown as NestApp;

const MODULES = LAYERS.flatMap(({ name, partsOf }) =>
  partsOf ? ['6.6.16', '7.2.1'].map((version) => [name, version, partsOf] as const) : [],
);

describe('the module that connects a database layer', () => {
  test.each(MODULES)(
    'is formatted as nest new formats: %s, beside MikroORM %s',
    async (_, version, partsOf) => {
      const text = databaseModule(partsOf(appWith(version), '.js'));
      expect(await format(text, FORMAT)).toBe(text);
    },
  );
});
