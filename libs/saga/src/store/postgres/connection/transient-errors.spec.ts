import { SQLSTATES } from '../../../../../../test/fixtures/sqlstates.js';
import {
  asEngineFailure,
  asUnreached,
  isOutage,
  isTransientError,
  refusesData,
  spoilsConnection,
} from './transient-errors.js';

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

describe('what a statement of the engine is answered with', () => {
  const answered = (code: string | undefined, severity = 'ERROR') =>
    [
      Object.assign(new Error('from the server'), { code, severity }),
      Object.assign(new Error('wrapped'), { driverError: { code, severity } }),
    ].map(asEngineFailure);

  it('refuses data by class 22, class 23 and 54000, and is an outage by each other SQLSTATE', () => {
    const refusals = SQLSTATES.filter((code) => /^2[23]|^54000$/.test(code));
    expect(refusals.length).toBeGreaterThan(70);
    expect(SQLSTATES.filter((code) => answered(code).every(refusesData))).toEqual(refusals);
    expect(SQLSTATES.filter((code) => !answered(code).some(isOutage))).toEqual(refusals);
  });

  it('is an outage without a SQLSTATE, and with any after which the connection is closed', () => {
    expect(answered(undefined).map(isOutage)).toEqual([true, true]);
    expect(answered('22P02', 'FATAL').map(isOutage)).toEqual([true, true]);
  });

  it('is no outage if it was the program that failed, but for connecting (fetch of a password)', () => {
    expect(isOutage(asEngineFailure(new TypeError('fetch failed')))).toBe(false);
    expect(isOutage(asUnreached(new TypeError('fetch failed')))).toBe(true);
  });

  it('spoils its connection, but for deadlocks and the like and refused data', () => {
    const kept = SQLSTATES.filter((code) => !answered(code).some(spoilsConnection));
    expect(kept.filter((code) => !/^2[23]/.test(code))).toEqual([
      '40001',
      '40P01',
      '54000',
      '55P03',
      '57014',
    ]);
  });
});

it('the error of a statement of the application is no outage because of a SQLSTATE that is not listed', () => {
  expect(isOutage(Object.assign(new Error('no such column'), { code: '42703' }))).toBe(false);
});
