import { SagaValidationError } from '../../errors.js';
import { addTagChanges, changeTags, tagsToStore } from './tags.js';

const many = (count: number, value: string | null = 'x') =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`tag-${n}`, value] as const));

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
    expect(() => addTagChanges({}, undefined, given)).toThrow(SagaValidationError);
    expect(() => addTagChanges({}, undefined, given)).toThrow(reason);
    expect(() => addTagChanges({}, undefined, given)).toThrow('or null to remove the tag');
  });

  test('come into effect in their order, and null removes a tag', () => {
    const tags = changeTags({ tenant: 'acme', region: 'eu' }, [{ region: null, step: 'a' }, { step: 'b' }]);
    expect(tags).toEqual({ tenant: 'acme', step: 'b' });
    expect(
      changeTags(undefined, [addTagChanges(undefined, undefined, { region: 'eu', other: null })]),
    ).toEqual({ region: 'eu' });
  });
});

describe('the number of tags of a saga', () => {
  test('is limited where it is started, or found', () => {
    expect(Object.keys(tagsToStore(many(100))!)).toHaveLength(100);
    expect(tagsToStore(many(101))).toBeUndefined();
  });

  test('is limited where a method changes them, with those that it has', () => {
    const changes = addTagChanges({ tenant: 'acme' }, many(50), { more: 'x' });
    expect(Object.keys(changes)).toHaveLength(51);
    expect(() => addTagChanges({ tenant: 'acme' }, many(50), { ...many(50), ...many(100) })).toThrow(
      'setTags(): the saga would have 101 tags; the limit is 100.',
    );
    const full = many(100) as Record<string, string>;
    expect(() => addTagChanges(full, undefined, { more: 'x' })).toThrow(SagaValidationError);
    expect(addTagChanges(full, { 'tag-0': null }, { more: 'x' })).toEqual({ 'tag-0': null, more: 'x' });
  });
});
