import type { StoredMessage } from '../../../engine/ports/checkpoint.js';

/** The arguments of publish: an array a column. */
export function publishParameters(messages: readonly StoredMessage[]): unknown[][] {
  return [
    messages.map(({ id }) => id),
    messages.map(({ topic }) => topic),
    messages.map(({ key }) => key),
    messages.map(({ type }) => type),
    messages.map(({ payload }) => payload),
    messages.map(({ headers }) => JSON.stringify(headers)),
  ];
}
