import { Select, setting } from './select.js';

describe('a SELECT in parts', () => {
  test('selects, from something or from nothing', () => {
    expect(new Select('a AS b, c').text).toBe('SELECT a AS b, c');
    expect(new Select('c.id', 'f($1) AS c(id)').text).toBe('SELECT c.id FROM f($1) AS c(id)');
  });

  test('makes settings before it selects, the last one first', () => {
    const select = new Select('(SELECT 1) AS one', 'f()')
      .with(setting('a', "'off'"))
      .with(setting('b', '$1'));
    expect(select.text).toBe(
      "SELECT set_config('b', $1, true), set_config('a', 'off', true), (SELECT 1) AS one FROM f()",
    );
  });

  test('comes after a call, and refuses to if it selects from something', () => {
    expect(new Select('f() AS saved').after('fence($1)').text).toBe('SELECT f() AS saved FROM fence($1)');
    expect(() => new Select('a', 'b').after('c')).toThrow('has a FROM of its own: SELECT a FROM b');
  });
});
