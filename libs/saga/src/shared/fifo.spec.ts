import fc from 'fast-check';
import { collectGarbage } from '../../../../test/support/collect-garbage.js';
import { Fifo } from './fifo.js';

const item = (n: number) => ({ n });

test('a fifo gives what an array would give, whatever comes and goes', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.boolean(), fc.nat(80)), { maxLength: 30 }), (changes) => {
      const [fifo, array] = [new Fifo<{ n: number }>(), new Array<{ n: number }>()];
      for (const [adds, count] of changes)
        for (let n = 0; n < count; n += 1) {
          const one = item(n);
          if (adds) for (const to of [fifo, array]) to.push(one);
          else expect(fifo.shift()).toBe(array.shift());
          expect([fifo.first, fifo.length]).toEqual([array[0], array.length]);
        }
      expect(fifo.all()).toEqual(array);
    }),
  );
});

test('a fifo does not hold what has left it', () => {
  const fifo = new Fifo<object>();
  const refs = [1, 2, 3].map((n) => {
    const one = item(n);
    fifo.push(one);
    return new WeakRef(one);
  });
  fifo.shift();
  return new Promise<void>((resolve) => setImmediate(resolve)).then(() => {
    collectGarbage();
    expect(refs.map((ref) => ref.deref()?.n)).toEqual([undefined, 2, 3]);
  });
});
