import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { KafkaContext, MqttContext, NatsContext, RmqContext } from '@nestjs/microservices';
import { JetStreamContext } from '../servers/jetstream.context.js';
import { isEnvelope } from '../transports/envelope.js';

const WITH_HEADERS = [RmqContext, KafkaContext, JetStreamContext, NatsContext] as const;

/** A message as its receiver sees it, for every broker. */
export interface IncomingMessage<P = unknown> {
  /** The id, the same on every delivery: the `messageId` of `Inbox.once`. Empty if the message has none. */
  readonly id: string;
  /** The type of the message. */
  readonly type: string;
  /** The key. Messages of one topic and key are in order. */
  readonly key: string;
  /** The headers as they were published, including `saga-id` and `traceparent`. `id`, `type` and `key` are properties. */
  readonly headers: Readonly<Record<string, string>>;
  /** The payload as it was published. */
  readonly payload: P;
}

/**
 * Returns the message from the arguments of a microservice handler.
 * @param data the handler's payload
 * @param context the context of its transport
 */
export function incomingMessage(data: unknown, context: unknown): IncomingMessage {
  const { id, key, ...native } = nativeOf(context);
  const headers = unfolded(native.headers);
  if (mayBeEnvelope(context, headers) && isEnvelope(data)) {
    const { id, type, key, headers, payload } = data;
    return { id, type, key, headers: without(headers), payload };
  }
  return {
    id: headers.id ?? id ?? '',
    type: headers.type ?? '',
    key: headers.key ?? key ?? '',
    headers: without(headers),
    payload: data,
  };
}

/**
 * If the broker has native headers, they alone identify a message: a payload that only looks like an envelope is a
 * payload. MQTT has headers since version 5, and one topic may have senders of both versions.
 */
function mayBeEnvelope(context: unknown, headers: Readonly<Record<string, string>>): boolean {
  if (context instanceof MqttContext) return headers.id === undefined;
  return !WITH_HEADERS.some((broker) => context instanceof broker);
}

/** A message, as log lines and errors call it. */
export function labelOf({ id }: Pick<IncomingMessage, 'id'>): string {
  return id === '' ? 'a message without an id' : `message ${id}`;
}

interface Native {
  readonly id?: string;
  readonly key?: string;
  readonly headers: Record<string, string>;
}

function nativeOf(context: unknown): Native {
  if (context instanceof RmqContext) {
    const { properties } = context.getMessage() as {
      properties?: { headers?: object; messageId?: unknown };
    };
    return { id: textOf(properties?.messageId), headers: textsOf(properties?.headers) };
  }
  if (context instanceof KafkaContext) {
    const { key, headers } = context.getMessage() as { key?: unknown; headers?: object };
    return { key: textOf(key), headers: textsOf(headers) };
  }
  if (context instanceof MqttContext) {
    const { properties } = context.getPacket() as { properties?: { userProperties?: object } };
    return { headers: textsOf(properties?.userProperties) };
  }
  if (context instanceof JetStreamContext) return { headers: linesOf(context.getHeaders()) };
  if (context instanceof NatsContext) return { headers: linesOf(context.getHeaders()) };
  return { headers: {} };
}

function linesOf(headers: unknown): Record<string, string> {
  const lines = headers as { keys(): string[]; get(name: string): string } | null | undefined;
  return lines ? Object.fromEntries(lines.keys().map((name) => [name, lines.get(name)])) : {};
}

function textsOf(headers: object | null | undefined): Record<string, string> {
  const texts: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers ?? {})) {
    const text = textOf(value);
    if (text !== undefined) texts[name] = text;
  }
  return texts;
}

function textOf(value: unknown): string | undefined {
  if (Array.isArray(value)) return textOf(value[0]);
  if (Buffer.isBuffer(value)) return value.toString();
  return typeof value === 'string' ? value : undefined;
}

/** Change data capture puts the column of headers into one header, as it is: JSON. */
function unfolded(headers: Record<string, string>): Record<string, string> {
  if (!headers.headers?.startsWith('{')) return headers;
  const { headers: folded, ...others } = headers;
  try {
    return { ...textsOf(JSON.parse(folded) as object), ...others };
  } catch {
    return headers;
  }
}

function without(headers: Readonly<Record<string, string>>): Record<string, string> {
  const { id: _id, type: _type, key: _key, ...others } = headers;
  return others;
}

/**
 * Injects the message as an `IncomingMessage` into a parameter of a handler (`@DurableEvent`, `@SagaReply`,
 * `@EventPattern`), with its id, key and headers, for every broker.
 */
export const Incoming = createParamDecorator((_: unknown, context: ExecutionContext): IncomingMessage => {
  const rpc = context.switchToRpc();
  return incomingMessage(rpc.getData(), rpc.getContext());
});
