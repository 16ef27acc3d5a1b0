import { check } from 'prettier';
import { firstSaga, type Manner } from './first-saga.js';

const MANNERS: Manner[] = (['', '.js'] as const).flatMap((extension) =>
  [true, false].flatMap((namesInjected) =>
    (['jest', 'vitest'] as const).map((runner) => ({ extension, namesInjected, runner, hasHttp: true })),
  ),
);

describe('the files of a first saga', () => {
  test.each(MANNERS)('are formatted as nest new formats: %j', async (manner) => {
    for (const [name, text] of Object.entries(firstSaga(manner))) {
      const options = { parser: 'typescript', singleQuote: true, trailingComma: 'all' } as const;
      expect([name, await check(text, options)]).toEqual([name, true]);
    }
  });
});
