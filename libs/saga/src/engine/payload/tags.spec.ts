import { SagaValidationError } from '../../errors.js';
import { changeTags, readTagChanges } from './tags.js';

describe('changes of tags', () => {
  test.each([
    [{ region: undefined }, "'region' is undefined"],
    [{ region: 7 }, "'region' is 7"],
    [{ region: '' }, "'region' is ''"],
    [{ '': 'eu' }, "'' is 'eu'"],
    [{ region: 'x'.repeat(256) }, '255 characters'],
    [['eu'], 'they are'],
    [undefined, 'they are undefined'],
    [new Map([['region', 'eu']]), 'they are'],
  ])('%j are refused, with the reason', (given, reason) => {
    expect(() => readTagChanges(given)).toThrow(SagaValidationError);
    expect(() => readTagChanges(given)).toThrow(reason);
    expect(() => readTagChanges(given)).toThrow('or null to remove the tag');
  });

  test('come into effect in their order, and null removes a tag', () => {
    const tags = changeTags({ tenant: 'acme', region: 'eu' }, [{ region: null, step: 'a' }, { step: 'b' }]);
    expect(tags).toEqual({ tenant: 'acme', step: 'b' });
    expect(changeTags(undefined, [readTagChanges({ region: 'eu', other: null })])).toEqual({ region: 'eu' });
  });
});
