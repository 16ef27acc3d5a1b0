import type { OutboxMessage } from '../../definition/types/outbox-message.js';
import { readObject, type ReadObject, type UnreadableOption } from '../../shared/read-object.js';
import { textOfDiagnostic, textOfProblems } from '../../shared/diagnostic.js';
import { shown } from '../../shared/shown-value.js';
import { SagaPayloadError } from '../../errors.js';
import { encodePayload } from './payload.js';
import { serializeError } from './serialize-error.js';
import { isKey, KEY_RULE, LONGEST_KEY } from './storable-key.js';

/** A message as it is stored, but for its id. */
export interface OutgoingMessage {
  readonly topic: string;
  readonly key: string;
  readonly type: string;
  /** JSON text. */
  readonly payload: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** What a message gets where it says nothing. */
export interface MessageDefaults {
  readonly key: string;
  /** The message's own headers win. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** What HTTP allows, and so every broker. */
const HEADER_NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
/** The end of a line would begin a header of its own, where headers are lines. */
const CONTROL = /\p{Cc}/u;
/** On the wire they are the message's own, which its receivers go by. */
const RESERVED: readonly string[] = ['id', 'type', 'key'];
const PROPERTIES = ['topic', 'key', 'type', 'payload', 'headers'] as const;
const LONGEST_HEADER = 8_192;

/**
 * A message in its stored form, checked. Each property is read once, so that what was checked is what is stored.
 *
 * @param what the name of the message, with which the paths in errors begin: `message`, `messages[2]`
 * @throws SagaPayloadError naming the path
 */
export function outgoingMessage(
  message: OutboxMessage,
  what: string,
  maxPayloadBytes: number,
  defaults: MessageDefaults,
): OutgoingMessage {
  const given = read(message, what);
  const topic = keyOf(given.topic, `${what}.topic`);
  return {
    topic,
    key: given.key === undefined ? defaults.key : keyOf(given.key, `${what}.key`),
    type: given.type === undefined ? topic : keyOf(given.type, `${what}.type`),
    payload: encodePayload(given.payload, `${what}.payload`, maxPayloadBytes) ?? 'null',
    headers: { ...defaults.headers, ...headersOf(given.headers, `${what}.headers`) },
  };
}

/** A stored message as transports send it: what receivers go by is in its headers, too. */
export function relayedMessage<M extends OutgoingMessage & { readonly id: string }>(message: M): M {
  const { id, type, key, headers } = message;
  return { ...message, headers: { ...headers, id, type, key } };
}

type Given = { [K in (typeof PROPERTIES)[number]]?: unknown };

function read(message: OutboxMessage, what: string): Given {
  let object: ReadObject<Given> | undefined;
  try {
    object = readObject<Given>(message, PROPERTIES);
  } catch (error) {
    return refuse(what, `could not be read: ${serializeError((error as UnreadableOption).cause).message}`);
  }
  if (!object)
    return refuse(what, `is ${shown(message)}; give an object such as { topic: 'orders', payload: { … } }`);
  if (object.flaws.length > 0)
    throw new SagaPayloadError(`${what}: ${textOfProblems(object.flaws.map(textOfDiagnostic))}`, what);
  return object.options;
}

function keyOf(value: unknown, path: string): string {
  if (isKey(value)) return value;
  return refuse(path, `is ${shown(value)}; give ${KEY_RULE}`);
}

function headersOf(given: unknown, path: string): Record<string, string> {
  if (given === undefined) return {};
  let entries: [string, unknown][] | undefined;
  try {
    if (typeof given === 'object' && given !== null && !Array.isArray(given)) entries = Object.entries(given);
  } catch {
    // Reported below.
  }
  if (!entries) return refuse(path, `is ${shown(given)}; give an object of strings`);
  for (const [name, value] of entries) checkHeader(name, value, `${path}[${shown(name)}]`);
  return Object.fromEntries(entries) as Record<string, string>;
}

function checkHeader(name: string, value: unknown, path: string): void {
  if (!HEADER_NAME.test(name) || name.length > LONGEST_KEY)
    refuse(
      path,
      `is not a valid header name; give letters, digits, '-' and '_', at most ${LONGEST_KEY} characters`,
    );
  if (RESERVED.includes(name.toLowerCase()))
    refuse(path, `is a reserved header; give another name, or set the property of the message`);
  if (
    typeof value !== 'string' ||
    value.length > LONGEST_HEADER ||
    CONTROL.test(value) ||
    !value.isWellFormed()
  )
    refuse(
      path,
      `is ${shown(value)}; give a string of at most ${LONGEST_HEADER} characters, without control characters or half ` +
        `surrogate pairs`,
    );
}

function refuse(path: string, problem: string): never {
  throw new SagaPayloadError(`${path} ${problem}.`, path);
}
