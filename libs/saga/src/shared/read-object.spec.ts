import { readObject, UnreadableOption } from './read-object.js';
import { textOfDiagnostic } from './diagnostic.js';

interface Options {
  dryRun?: boolean;
  limit?: number;
}
const read = (given: unknown) => readObject<Options>(given, ['dryRun', 'limit']);
const flawsOf = (given: unknown) => read(given)!.flaws.map(textOfDiagnostic);

describe('an object of options', () => {
  test('is read once, without what is undefined, and without a prototype', () => {
    let reads = 0;
    const { options, flaws } = read({
      get limit() {
        return ++reads;
      },
      dryRun: undefined,
    })!;
    expect([Object.keys(options), options.limit, reads, flaws]).toEqual([['limit'], 1, 1, []]);
    expect('dryRun' in options).toBe(false);
    expect(Object.getPrototypeOf(options)).toBeNull();
  });

  test.each<[string, object, string]>([
    ['a slip', { dryrun: true }, "unknown option 'dryrun'. Did you mean 'dryRun'?"],
    ['another word', { nope: 1 }, "unknown option 'nope'. The options are: dryRun, limit"],
    ['one that is undefined', { nope: undefined }, "unknown option 'nope'. "],
    ['a symbol', { [Symbol('limit')]: 1 }, "unknown option 'Symbol(limit)'. "],
    [
      'a key of JSON that would be a prototype',
      JSON.parse('{"__proto__":{"limit":1}}') as object,
      "'__proto__'. ",
    ],
    ['an inherited one', Object.create({ dryrun: true }) as object, "unknown option 'dryrun'. "],
    ['an index', { ...['limit'] }, "unknown option '0'. "],
    ['control characters', { '\x1b[31m\0': 1 }, "unknown option '\ufffd[31m\ufffd'. "],
    ['a long one', { ['x'.repeat(10_000)]: 1 }, `unknown option '${'x'.repeat(60)}…'. `],
  ])('refuses %s by name', (_, given, expected) => {
    expect(flawsOf(given)).toEqual([expect.stringContaining(expected)]);
  });

  test('with thousands of unknown ones names three', () => {
    const flaws = flawsOf(Object.fromEntries(Array.from({ length: 5_000 }, (_, n) => [`x${n}`, n])));
    expect(flaws).toHaveLength(4);
    expect(flaws[3]).toBe('4997 more options are unknown; remove them');
  });

  test('may be an instance of a class, or have no prototype', () => {
    class Given {
      limit = 1;
      get dryRun() {
        return true;
      }
      save() {}
    }
    expect(read(new Given())).toEqual({ options: { limit: 1, dryRun: true }, flaws: [] });
    expect(read(Object.assign(Object.create(null), { limit: 1 }))!.options.limit).toBe(1);
  });

  test('has no property that was added to Object.prototype', () => {
    const polluted = Object.prototype as Options & { nope?: number };
    try {
      polluted.dryRun = false;
      polluted.nope = 1;
      expect([flawsOf({ limit: 1 }), read({})!.options.dryRun]).toEqual([[], undefined]);
    } finally {
      delete polluted.dryRun;
      delete polluted.nope;
    }
  });

  test.each<[string, unknown]>([
    ['null', null],
    ['a string', 'x'],
    ['a function', () => ({})],
    ['an array', []],
    ['a Map, whose entries are no properties', new Map([['dryRun', true]])],
    ['a promise of options, which was not awaited', Promise.resolve({ dryRun: true })],
    ['a Date', new Date()],
  ])('is not %s', (_, given) => expect(read(given)).toBeUndefined());

  test.each<[string, object, string | undefined]>([
    [
      'a getter',
      {
        get limit() {
          throw new Error('no');
        },
      },
      'limit',
    ],
    [
      'a proxy',
      new Proxy(
        {},
        {
          ownKeys() {
            throw new Error('no');
          },
        },
      ),
      undefined,
    ],
  ])('that throws when it is read, as %s may, says so', (_, given, option) => {
    expect(() => read(given)).toThrow(UnreadableOption);
    try {
      read(given);
    } catch (error) {
      expect((error as UnreadableOption).option).toBe(option);
    }
  });
});
