import { isTransientError } from './transient-errors.js';

/** As the driver throws it, and as TypeORM wraps it. */
function withCode(code: string): Error[] {
  const driverError = Object.assign(new Error('from the server'), { code });
  return [driverError, Object.assign(new Error('wrapped'), { driverError })];
}

describe('what goes away by itself is tried again', () => {
  it.each([
    ['a serialization failure', '40001'],
    ['a deadlock', '40P01'],
    ['a lock that was not to be had in time', '55P03'],
    ['a server that is shut down', '57P01'],
    ['a server that has crashed', '57P02'],
    ['a server that is starting', '57P03'],
    ['a standby before the failover is over', '25006'],
    ['too many connections', '53300'],
    ['a connection that failed', '08006'],
    ['a server that cannot be reached', 'ECONNREFUSED'],
    ['a connection that was reset', 'ECONNRESET'],
  ])('%s (%s)', (_, code) => {
    expect(withCode(code).map((error) => isTransientError(error))).toEqual([true, true]);
  });

  it('a connection that was lost, which has no code', () => {
    expect(isTransientError(new Error('Connection terminated unexpectedly'))).toBe(true);
  });
});

describe('what would fail again is not', () => {
  it.each([
    ['a unique violation', '23505'],
    ['a value that is not valid', '22P02'],
    ['a table that is not there', '42P01'],
  ])('%s (%s)', (_, code) => {
    expect(withCode(code).map((error) => isTransientError(error))).toEqual([false, false]);
  });

  it.each([undefined, null, 'deadlock', new Error('no')])('%s', (error) => {
    expect(isTransientError(error)).toBe(false);
  });
});
