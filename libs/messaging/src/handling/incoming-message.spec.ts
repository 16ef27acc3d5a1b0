import { KafkaContext, MqttContext, NatsContext, RmqContext, TcpContext } from '@nestjs/microservices';
import { incomingMessage } from './incoming-message.js';
import { JetStreamContext } from '../servers/jetstream.context.js';

/** Payloads of users, and payloads that an attacker may send to pose as another sender. */
const LOOKS_SO = { id: 'false', type: 'False', key: 'false', headers: { 'saga-id': 'false' }, payload: 1 };
const HEADERS = { id: 'm-1', type: 'Placed', key: 'k-1', 'saga-id': 's-1' };
const TOLD = { id: 'm-1', type: 'Placed', key: 'k-1', headers: { 'saga-id': 's-1' } };
const NOBODY = { id: '', type: '', key: '', headers: {} };

const lines = (headers: Record<string, string>) => ({
  keys: () => Object.keys(headers),
  get: (name: string) => headers[name],
});

/** The contexts of brokers with headers, as their servers make them. */
const CONTEXTS: Record<string, (headers: Record<string, string>) => unknown> = {
  RabbitMQ: (headers) => new RmqContext([{ properties: { headers } }, {}, 'orders'] as never),
  Kafka: (headers) => new KafkaContext([{ headers }, 0, 'orders'] as never),
  NATS: (headers) => new NatsContext(['orders', lines(headers)] as never),
  JetStream: (headers) => new JetStreamContext([{ headers: lines(headers) }] as never),
  'MQTT 5': (headers) => new MqttContext(['orders', { properties: { userProperties: headers } }] as never),
};

describe('a payload that looks like an envelope', () => {
  test.each(Object.keys(CONTEXTS))('is a payload if the headers of %s identify the message', (broker) => {
    expect(incomingMessage(LOOKS_SO, CONTEXTS[broker]!(HEADERS))).toEqual({ ...TOLD, payload: LOOKS_SO });
  });

  test.each(Object.keys(CONTEXTS).filter((broker) => broker !== 'MQTT 5'))(
    'is a payload where a message of %s has no headers',
    (broker) => {
      expect(incomingMessage(LOOKS_SO, CONTEXTS[broker]!({}))).toEqual({ ...NOBODY, payload: LOOKS_SO });
    },
  );

  test('is an envelope where a broker has no headers', () => {
    const expected = {
      id: 'false',
      type: 'False',
      key: 'false',
      headers: { 'saga-id': 'false' },
      payload: 1,
    };
    expect(incomingMessage(LOOKS_SO, new TcpContext([] as never))).toEqual(expected);
    expect(incomingMessage(LOOKS_SO, new MqttContext(['orders', {}] as never))).toEqual(expected);
  });
});
