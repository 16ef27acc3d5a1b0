import { durationText, fromNow } from './duration-text.js';

test.each([
  [0, '0ms'],
  [3.44, '3.4ms'],
  [340, '340ms'],
  [999.6, '1s'],
  [2_540, '2.5s'],
  [59_960, '60s'],
  [250_000, '4m 10s'],
  [3 * 3_600_000 + 5 * 60_000 + 7_000, '3h 5m'],
  [2 * 86_400_000 + 4 * 3_600_000, '2d 4h'],
  [86_400_000 + 1_000, '1d 1s'],
  [-5, '0ms'],
])('%d ms is shown as %s', (ms, text) => {
  expect(durationText(ms)).toBe(text);
});

test('the dashboard shows the same durations', async () => {
  const { duration } = (await import(
    new URL('../../../admin/src/dashboard/format.js', import.meta.url).href
  )) as {
    duration: typeof durationText;
  };
  for (let ms = 0.3; ms < 1e9; ms *= 1.07) expect(duration(ms)).toBe(durationText(ms));
});

test('a time is shown by its distance from another', () => {
  expect(fromNow(new Date(1_000), 251_000)).toBe('4m 10s ago');
  expect(fromNow(new Date(21_000), 1_000)).toBe('in 20s');
});
