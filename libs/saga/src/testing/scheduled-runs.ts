import { SagaValidationError } from '../errors.js';
import { decodePayload } from '../engine/payload/payload.js';
import {
  type Kind,
  type OptionsRead,
  type OptionTable,
  required,
} from '../definition/options/option-reader.js';
import { reportedOptions, withoutProblems } from '../definition/options/read-options.js';
import type { SagaOutcome } from '../nest/views/saga-snapshot.js';
import { toOutcome } from '../nest/views/to-snapshot.js';
import { shown } from '../shared/shown-value.js';
import type { TestWorld } from './test-world.js';

/** A period of virtual time: dates, or ISO 8601 with an offset, such as `'2026-03-28T00:00:00+01:00'`. */
export interface TestPeriod {
  /** The first moment. A tick at exactly this time is not part of the period. */
  from: Date | string;
  /** The last moment. A tick at exactly this time is part of the period. */
  until: Date | string;
}

/** A saga that a schedule has started in a test. */
export interface ScheduledRun<S> {
  /** The time at which the saga was started. */
  readonly at: Date;
  /** The id of the saga. */
  readonly sagaId: string;
  /** The input that the schedule gave it. */
  readonly input: unknown;
  /** The outcome at the end of the period. `running`: it has not ended by then. */
  readonly outcome: SagaOutcome<S>;
}

const moment: Kind<Date | string, number> = {
  read: (value, option, reader) => {
    const time = value instanceof Date || typeof value === 'string' ? new Date(value).getTime() : NaN;
    return Number.isNaN(time) ? reader.refuse(value, option, 'give a Date, or a time in ISO 8601') : time;
  },
};
const PERIOD = { from: required(moment), until: required(moment) } satisfies OptionTable<TestPeriod>;

/** @throws SagaValidationError for a period that is none */
export function readPeriod(given: TestPeriod): OptionsRead<typeof PERIOD> {
  return withoutProblems('ticks()', SagaValidationError, (report) => {
    const period = reportedOptions(PERIOD, given, report, 'period');
    if (period.from >= period.until) report(`until is ${shown(given.until)}`, 'give a time after from');
    return period;
  });
}

export async function scheduledRuns<S>(world: TestWorld, saga: string): Promise<ScheduledRun<S>[]> {
  const runs: ScheduledRun<S>[] = [];
  let cursor: string | undefined;
  do {
    const page = await world.sagas.find({ saga, cursor });
    for (const { id } of page.items) {
      const stored = (await world.store.load({ id }))!;
      const { createdAt: at, input } = stored;
      runs.push({ at: new Date(at), sagaId: id, input: decodePayload(input), outcome: toOutcome<S>(stored) });
    }
    cursor = page.next;
  } while (cursor !== undefined);
  return runs.sort((a, b) => a.at.getTime() - b.at.getTime());
}
