import { type Duration, LONGEST_TIMER, toMilliseconds } from '../../definition/options/duration.js';

/** What DurableInterceptor goes by. */
export interface DurableSettings {
  readonly topic: string;
  /** Milliseconds. */
  readonly redeliverAfter: number;
  /** The signal that a reply is. */
  readonly signal?: string;
}

/** The key of a handler's metadata. */
export const DURABLE_EVENT = 'nestjs-durable-saga:durable-event';

/** In milliseconds; default a second. */
export function redelivery(redeliverAfter: Duration | undefined, owner: string): number {
  return toMilliseconds(redeliverAfter ?? '1s', `${owner} redeliverAfter`, LONGEST_TIMER);
}
