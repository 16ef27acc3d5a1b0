import { validate, version } from 'uuid';
import { newId } from './new-id.js';

test('new ids are UUIDs of version 7, each later in order than those before it', () => {
  const ids = Array.from({ length: 20_000 }, newId);
  expect(ids.every((id) => validate(id) && version(id) === 7)).toBe(true);
  expect(ids.slice(1).every((id, n) => id > ids[n]!)).toBe(true);
  const at = parseInt(ids[0]!.replace('-', '').slice(0, 12), 16);
  expect(Math.abs(Date.now() - at)).toBeLessThan(60_000);
});

test('new ids differ in their random part, also beyond what is drawn at once', () => {
  const tails = Array.from({ length: 2_000 }, () => newId().slice(-12));
  expect(new Set(tails).size).toBe(tails.length);
});
