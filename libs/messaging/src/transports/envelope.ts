import type { RelayedMessage } from '../relay/message-transport.js';

/** A message with all that belongs to it as the data, for brokers without headers. */
export interface Envelope {
  readonly id: string;
  readonly type: string;
  readonly key: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly payload: unknown;
}

export function envelopeOf({ id, type, key, headers, payload }: RelayedMessage): Envelope {
  return { id, type, key, headers, payload: JSON.parse(payload) as unknown };
}

/** Is this data an envelope? */
export function isEnvelope(data: unknown): data is Envelope {
  if (typeof data !== 'object' || data === null) return false;
  const { id, type, key, headers } = data as Partial<Envelope>;
  const names = [id, type, key].every((name) => typeof name === 'string');
  return names && 'payload' in data && typeof headers === 'object' && headers !== null;
}
