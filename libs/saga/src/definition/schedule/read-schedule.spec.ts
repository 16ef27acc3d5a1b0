import { ticksOf } from './read-schedule.js';

function ticks(cron: string, timezone: string, from: string, count: number): string[] {
  const next = ticksOf(cron, timezone);
  const found: string[] = [];
  for (let after = Date.parse(from); found.length < count;) {
    after = next(after);
    found.push(new Date(after).toISOString().replace('.000Z', 'Z'));
  }
  return found;
}

describe('The ticks of a cron expression', () => {
  test('are at the wall clock time of the zone, before and after the clock is changed', () => {
    expect(ticks('0 2 * * *', 'Europe/Berlin', '2026-03-27T12:00:00Z', 4)).toEqual([
      ...['2026-03-28T01:00:00Z', '2026-03-29T01:00:00Z', '2026-03-30T00:00:00Z', '2026-03-31T00:00:00Z'],
    ]);
  });

  test.each([
    ['Europe/Berlin', '2026-03-28T12:00:00Z', '30 2 * * *', '2026-03-29T01:00:00Z', '2026-03-30T00:30:00Z'],
    [
      'Australia/Sydney',
      '2026-10-03T12:00:00Z',
      '30 2 * * *',
      '2026-10-03T16:00:00Z',
      '2026-10-04T15:30:00Z',
    ],
    [
      'America/New_York',
      '2026-03-07T12:00:00Z',
      '30 2 * * *',
      '2026-03-08T07:00:00Z',
      '2026-03-09T06:30:00Z',
    ],
    // Half an hour only.
    [
      'Australia/Lord_Howe',
      '2026-10-03T12:00:00Z',
      '15 2 * * *',
      '2026-10-03T15:30:00Z',
      '2026-10-04T15:15:00Z',
    ],
    // At midnight: the day begins at 01:00.
    [
      'America/Santiago',
      '2026-09-05T12:00:00Z',
      '30 0 * * *',
      '2026-09-06T04:00:00Z',
      '2026-09-07T03:30:00Z',
    ],
  ])(
    'of a time that is missing in %s is at the moment the clock is put forward',
    (zone, from, cron, one, two) => {
      expect(ticks(cron, zone, from, 2)).toEqual([one, two]);
    },
  );

  test.each([
    ['Europe/Berlin', '2026-10-24T12:00:00Z', '30 2 * * *', '2026-10-25T00:30:00Z', '2026-10-26T01:30:00Z'],
    [
      'Australia/Sydney',
      '2026-04-04T12:00:00Z',
      '30 2 * * *',
      '2026-04-04T15:30:00Z',
      '2026-04-05T16:30:00Z',
    ],
    [
      'America/New_York',
      '2026-10-31T12:00:00Z',
      '30 1 * * *',
      '2026-11-01T05:30:00Z',
      '2026-11-02T06:30:00Z',
    ],
    [
      'Australia/Lord_Howe',
      '2026-04-04T12:00:00Z',
      '45 1 * * *',
      '2026-04-04T14:45:00Z',
      '2026-04-05T15:15:00Z',
    ],
  ])('of a time that comes twice in %s is the first one', (zone, from, cron, one, two) => {
    expect(ticks(cron, zone, from, 2)).toEqual([one, two]);
  });

  test('of a time that comes twice is not the second one, whenever it is asked for', () => {
    expect(ticks('30 2 * * *', 'Europe/Berlin', '2026-10-25T01:10:00Z', 1)).toEqual(['2026-10-26T01:30:00Z']);
  });

  test('is one when several missing times fall on the moment the clock is put forward', () => {
    expect(ticks('0,15,45 2,3 * * *', 'Europe/Berlin', '2026-03-29T00:59:59Z', 4)).toEqual([
      ...['2026-03-29T01:00:00Z', '2026-03-29T01:15:00Z', '2026-03-29T01:45:00Z', '2026-03-30T00:00:00Z'],
    ]);
  });

  test('go on in both hours that are shown twice, if it runs in every hour', () => {
    expect(ticks('*/30 * * * *', 'Europe/Berlin', '2026-10-24T23:40:00Z', 7)).toEqual([
      ...['2026-10-25T00:00:00Z', '2026-10-25T00:30:00Z', '2026-10-25T01:00:00Z', '2026-10-25T01:30:00Z'],
      ...['2026-10-25T02:00:00Z', '2026-10-25T02:30:00Z', '2026-10-25T03:00:00Z'],
    ]);
    expect(ticks('5 * * * *', 'Europe/Berlin', '2026-10-25T01:10:00Z', 1)).toEqual(['2026-10-25T02:05:00Z']);
  });

  test('are every minute without a gap, if it runs in every hour, however the clock is changed', () => {
    for (const [zone, from] of [
      ['Europe/Berlin', '2026-03-29T00:10:00Z'],
      ['Europe/Berlin', '2026-10-24T23:40:00Z'],
      ['Australia/Lord_Howe', '2026-04-04T14:00:00Z'],
      ['Australia/Lord_Howe', '2026-10-03T15:00:00Z'],
      ['America/Santiago', '2026-04-05T02:20:00Z'],
    ] as const) {
      const found = ticks('* * * * *', zone, from, 100).map((at) => Date.parse(at));
      expect(found).toEqual(found.map((_, n) => Date.parse(from) + (n + 1) * 60_000));
    }
  });

  test('leave out an hour that does not exist, if it runs in every hour', () => {
    expect(ticks('30 * * * *', 'Europe/Berlin', '2026-03-29T00:00:00Z', 3)).toEqual([
      ...['2026-03-29T00:30:00Z', '2026-03-29T01:30:00Z', '2026-03-29T02:30:00Z'],
    ]);
  });

  test('never go back, in any zone, over a year', () => {
    for (const zone of ['Europe/Berlin'])
      for (const cron of ['45 */7 * * *', '0 0 * * *']) {
        const found = ticks(cron, zone, '2026-02-01T00:00:00Z', 300).map((at) => Date.parse(at));
        expect(found.every((at, n) => n === 0 || at > found[n - 1]!)).toBe(true);
      }
  });

  test('are seconds, months, names of days and lists as @Cron() of @nestjs/schedule reads them', () => {
    expect(ticks('*/20 * * * * *', 'UTC', '2026-01-01T00:00:05.500Z', 3)).toEqual([
      ...['2026-01-01T00:00:20Z', '2026-01-01T00:00:40Z', '2026-01-01T00:01:00Z'],
    ]);
    expect(ticks('0 9 * 2 mon,fri', 'UTC', '2026-01-01T00:00:00Z', 2)).toEqual([
      ...['2026-02-02T09:00:00Z', '2026-02-06T09:00:00Z'],
    ]);
    expect(ticks('0 0 29 2 *', 'UTC', '2026-01-01T00:00:00Z', 1)).toEqual(['2028-02-29T00:00:00Z']);
  });
});
