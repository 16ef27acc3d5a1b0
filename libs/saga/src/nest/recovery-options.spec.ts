import { withDefaults } from './saga.options.js';

test('what a process puts back after a failover is bounded by 60 s and 64 MiB', () => {
  expect(withDefaults({}).recovery).toEqual({ window: 60_000, bytes: 67_108_864 });
  const given = withDefaults({ recoveryWindow: '5m', maxRecoveryBytes: 1_000 });
  expect(given.recovery).toEqual({ window: 300_000, bytes: 1_000 });
});

test.each([0, '0s', false] as const)('a recoveryWindow of %p turns it off', (recoveryWindow) => {
  expect(withDefaults({ recoveryWindow }).recovery).toBeUndefined();
});

test.each([
  [{ recoveryWindow: 'soon' as never }, /recoveryWindow: 'soon' is not a duration/],
  [{ recoveryWindow: '61m' as const }, /recoveryWindow: '61m'/],
  [{ recoveryWindow: -1 }, /recoveryWindow: -1 is not a duration/],
  [{ recoveryWindow: true as never }, /recoveryWindow: true is not a duration/],
  [{ maxRecoveryBytes: 0 }, /maxRecoveryBytes/],
  [{ recoveryWindow: false as const, maxRecoveryBytes: NaN }, /maxRecoveryBytes/],
])('%p is refused by name', (options, problem) => {
  expect(() => withDefaults(options)).toThrow(problem);
});
