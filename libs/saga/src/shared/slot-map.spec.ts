import fc from 'fast-check';
import { SlotMap } from './slot-map.js';

interface Value {
  readonly n: number;
}

test('a slot map holds what a Map would hold, whatever comes and goes', () => {
  const key = fc.constantFrom('a', 'b', 'c', 'd', 'e');
  const changes = fc.array(fc.tuple(fc.boolean(), key, fc.nat()), { maxLength: 60 });
  fc.assert(
    fc.property(changes, (calls) => {
      const [slots, map] = [new SlotMap<string, Value>(), new Map<string, Value>()];
      for (const [adds, name, n] of calls) {
        const value = { n };
        if (adds) expect(slots.set(name, value)).toBe(slots);
        else expect(slots.delete(name)).toBe(map.has(name));
        if (adds) map.set(name, value);
        else map.delete(name);
        expect(slots.size).toBe(map.size);
        expect([...slots.keys()]).toEqual([...map.keys()]);
        expect(new Set(slots.values())).toEqual(new Set(map.values()));
        for (const one of 'abcde')
          expect([slots.has(one), slots.get(one)]).toEqual([map.has(one), map.get(one)]);
      }
    }),
  );
});

test('values that are deleted while they are walked through are left out', () => {
  const slots = new SlotMap<number, Value>();
  for (let n = 0; n < 4; n += 1) slots.set(n, { n });
  const seen: number[] = [];
  for (const { n } of slots.values()) {
    seen.push(n);
    slots.delete(3 - n);
  }
  expect(seen).toEqual([0, 1]);
});
